package patch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/kube"
)

// What a strategic merge patch says beside fields.
const (
	directive  = "$patch"                    // of a map or of an item: what to do with it
	retainKeys = "$retainKeys"               // of a map: the only keys that stay
	orderOf    = "$setElementOrder/"         // with the name of a list: how its items stand
	dropFrom   = "$deleteFromPrimitiveList/" // with the name of a list: the values that go

	replace = "replace"
	remove  = "delete"
	merge   = "merge"
)

// fieldOf returns the field that a key of a strategic merge patch is about; ok
// is false when it is about the whole map.
func fieldOf(key string) (field string, ok bool) {
	if key == directive || key == retainKeys {
		return "", false
	}
	if list, ok := strings.CutPrefix(key, orderOf); ok {
		return list, true
	}
	if list, ok := strings.CutPrefix(key, dropFrom); ok {
		return list, true
	}
	return key, true
}

// child returns the schema of a field; known is false when a kind of
// Kubernetes' own does not have it. The schema is nil where there is none.
func child(s *kube.Schema, field string) (sub *kube.Schema, known bool) {
	switch {
	case s == nil || s.Type != kube.Object:
		return nil, true
	case s.Fields != nil:
		sub, known = s.Fields[field]
		return sub, known || s.Open
	}
	return s.Elem, true
}

// merges reports whether the items of a list merge, and do not replace each
// other.
func merges(s *kube.Schema) bool { return s != nil && slices.Contains(s.Strategy, merge) }

// elem returns the schema of the items of a list, nil when there is none.
func elem(s *kube.Schema) *kube.Schema {
	if s == nil || s.Type != kube.List {
		return nil
	}
	return s.Elem
}

// A checker looks at a patch beside an object, before anything is changed: at
// the names of its fields, and at the form of its directives.
type checker struct {
	version    *kube.Version
	directives bool // whether the patch may have them
	path       []string
	found      []*problem
}

func (c *checker) add(hint, msg string, more ...string) {
	at := slices.Concat(c.path, more)
	slices.Reverse(at)
	c.found = append(c.found, &problem{at: at, msg: msg, hint: hint})
}

// check looks at a map of a patch. have is what stands in its place in the
// object, whatever that is.
func (c *checker) check(patch map[string]any, have any, s *kube.Schema) {
	there, _ := have.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(patch)) {
		field, ok := fieldOf(k)
		if !c.directives && k != field {
			c.add("write it under strategic", "is a directive of a strategic merge, and this is a JSON merge patch", k)
			continue
		}
		if !ok {
			c.directive(k, patch)
			continue
		}
		sub, known := child(s, field)
		if _, has := there[field]; !known && !has {
			c.unknown(s, field)
			continue
		}
		c.path = append(c.path, k)
		if k == field {
			c.value(patch[k], there[k], sub)
		} else if _, ok := patch[k].([]any); !ok {
			c.add("write the items of the list", "is "+diag.TypeOf(patch[k])+", not a list")
		}
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) value(v, have any, s *kube.Schema) {
	switch v := v.(type) {
	case map[string]any:
		c.check(v, have, s)
	case []any:
		there, _ := have.([]any)
		for i, item := range v {
			c.path = append(c.path, strconv.Itoa(i))
			c.item(item, there, s)
			c.path = c.path[:len(c.path)-1]
		}
	}
}

// item looks at an item of a list with the schema s, which have stands in the
// place of.
func (c *checker) item(item any, have []any, s *kube.Schema) {
	m, ok := item.(map[string]any)
	if !ok {
		c.value(item, nil, elem(s))
		return
	}
	var there any
	if merges(s) && s.MergeKey != "" {
		if i := indexOf(have, s.MergeKey, m[s.MergeKey]); i >= 0 {
			there = have[i]
		}
	}
	c.check(m, there, elem(s))
	d, ok := m[directive]
	switch {
	case !ok || !c.directives || d != replace && d != remove:
	case d == replace && len(m) > 1:
		c.add("give the list an item {"+directive+`: "`+replace+`"} of its own, and the items that it shall have`, "replaces the whole list, and has fields of its own beside that", directive)
	case d == remove && !merges(s):
		c.add("write the list as it shall be", "deletes an item of a list that does not merge: what the patch says replaces the list", directive)
	case d == remove && m[s.MergeKey] == nil:
		c.add("", "deletes an item, and does not say which: it has no "+s.MergeKey, directive)
	}
}

// directive looks at what a patch says of a whole map.
func (c *checker) directive(k string, patch map[string]any) {
	v := patch[k]
	if k == directive {
		if v != merge && v != replace && v != remove {
			c.add("use one of delete, merge, replace", "is "+show(v)+", which is nothing that a patch does", k)
		}
		return
	}
	list, ok := v.([]any)
	if !ok {
		c.add("write the keys that stay", "is "+diag.TypeOf(v)+", not a list of keys", k)
		return
	}
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		if f, ok := fieldOf(field); ok && f == field && patch[field] != nil && !slices.Contains(list, any(field)) {
			c.add("add it to the list", "does not have "+visible(field)+", which the patch sets", k)
		}
	}
}

// unknown reports a field that the kind does not have.
func (c *checker) unknown(s *kube.Schema, field string) {
	msg := fmt.Sprintf("no such field in Kubernetes %s", c.version)
	if len(c.path) > 0 {
		msg = s.Name[strings.LastIndexByte(s.Name, '.')+1:] + " has " + msg
	}
	if len(field) <= maxShown {
		if when := kube.WhenField(s.Name, field); when != "" {
			c.add("leave it out", msg+": it is there "+when, field)
			return
		}
	}
	hint := oneOf(field, slices.Collect(maps.Keys(s.Fields)), "leave it out")
	if len(c.path) == 0 && !strings.HasPrefix(hint, "did you mean ") {
		hint = "choose the kinds that have it, as target: kinds: [...]"
	}
	c.add(hint, msg, field)
}

// indexOf returns the index of the first map of a list whose key has the
// value, -1 when there is none.
func indexOf(list []any, key string, value any) int {
	return slices.IndexFunc(list, func(item any) bool {
		m, ok := item.(map[string]any)
		v, there := m[key]
		return ok && there && equal(v, value)
	})
}

package objects

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// Directives of strategic merge patches.
const (
	directive  = "$patch"                    // of a map or an item: merge, replace or delete it
	retainKeys = "$retainKeys"               // of a map: the only keys to keep
	orderOf    = "$setElementOrder/"         // with the name of a list: the order of its items
	dropFrom   = "$deleteFromPrimitiveList/" // with the name of a list: the values to delete

	replace = "replace"
	remove  = "delete"
	merge   = "merge"
)

// fieldOf returns the field of a key in a strategic merge patch; ok is false
// for a directive of the whole map.
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

// child returns the schema of a field, or nil if there is none; known is false
// for a field that a built-in kind does not have.
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

// merges reports whether the items of a list are merged and not replaced.
func merges(s *kube.Schema) bool { return s != nil && slices.Contains(s.Strategy, merge) }

// elem returns the schema of the items of a list, nil when there is none.
func elem(s *kube.Schema) *kube.Schema {
	if s == nil || s.Type != kube.List {
		return nil
	}
	return s.Elem
}

// A checker validates a patch against an object before any change: the names of
// fields and the form of directives.
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

// check checks a map of a patch; have is the value of any type at its path in
// the object.
func (c *checker) check(patch map[string]any, original any, s *kube.Schema) {
	there, _ := original.(map[string]any)
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
		if _, exists := there[field]; !known && !exists {
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

func (c *checker) value(v, original any, s *kube.Schema) {
	switch v := v.(type) {
	case map[string]any:
		c.check(v, original, s)
	case []any:
		there, _ := original.([]any)
		for i, item := range v {
			c.path = append(c.path, strconv.Itoa(i))
			c.item(item, there, s)
			c.path = c.path[:len(c.path)-1]
		}
	}
}

// item checks an item of a list with schema s; have is the list in the object.
func (c *checker) item(item any, original []any, s *kube.Schema) {
	m, ok := item.(map[string]any)
	if !ok {
		c.value(item, nil, elem(s))
		return
	}
	var there any
	if merges(s) && s.MergeKey != "" {
		if i := indexOf(original, s.MergeKey, m[s.MergeKey]); i >= 0 {
			there = original[i]
		}
	}
	c.check(m, there, elem(s))
	c.container(m, there, original, elem(s))
	d, ok := m[directive]
	switch {
	case !ok || !c.directives || d != replace && d != remove:
	case d == replace && len(m) > 1:
		c.add("add {"+directive+`: "`+replace+`"} as a separate item, and the new items of the list`, "replaces the whole list, and must not have other fields", directive)
	case d == remove && !merges(s):
		c.add("write the complete new list", "deletes an item of a list that does not merge: the patch replaces the whole list", directive)
	case d == remove && m[s.MergeKey] == nil:
		c.add("add the "+s.MergeKey+" of the item", "deletes an item, and does not say which: it has no "+s.MergeKey, directive)
	}
}

// container reports an item that would be a container without an image: usually the
// name of a container is misspelt, or a JSON merge patch replaces the list. there is
// the item that it merges into, nil for none, and original the list of the object.
func (c *checker) container(item map[string]any, there any, original []any, s *kube.Schema) {
	name, named := item["name"].(string)
	if s == nil || imageField(s) != "image" || !named || item["image"] != nil || item[directive] != nil {
		return
	}
	switch {
	case !c.directives:
		c.add("write it under strategic, which merges containers by name, or write the complete list",
			"is missing: a JSON merge patch replaces the whole list", "image")
	case there == nil:
		var names []string
		for _, o := range original {
			if o, ok := o.(map[string]any); ok {
				n, _ := o["name"].(string)
				names = append(names, n)
			}
		}
		c.add(suggest(diag.DidYouMean, name, names, "set its image"), "has no container "+visible(name)+", and the patch adds it without an image", "name")
	}
}

// directive checks a directive of a whole map.
func (c *checker) directive(k string, patch map[string]any) {
	v := patch[k]
	if k == directive {
		if v != merge && v != replace && v != remove {
			c.add("use one of delete, merge, replace", "is "+show(v)+", which is not a valid directive", k)
		}
		return
	}
	list, ok := v.([]any)
	if !ok {
		c.add("list the keys to keep", "is "+diag.TypeOf(v)+", not a list of keys", k)
		return
	}
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		if f, ok := fieldOf(field); ok && f == field && patch[field] != nil && !slices.Contains(list, any(field)) {
			c.add("add it to the list", "does not have "+visible(field)+", which the patch sets", k)
		}
	}
}

// unknown reports an unknown field.
func (c *checker) unknown(s *kube.Schema, field string) {
	msg := fmt.Sprintf("no such field in Kubernetes %s", c.version)
	if len(c.path) > 0 {
		msg = s.Name[strings.LastIndexByte(s.Name, '.')+1:] + " has " + msg
	}
	if len(field) <= maxShown {
		if when := kube.WhenField(s.Name, field); when != "" {
			c.add("remove it", msg+": it exists "+when, field)
			return
		}
	}
	hint := oneOf(field, slices.Collect(maps.Keys(s.Fields)), "remove it")
	if len(c.path) == 0 && !strings.HasPrefix(hint, "did you mean ") {
		hint = "choose the kinds that have it, as target: kinds: [...]"
	}
	c.add(hint, msg, field)
}

// indexOf returns the index of the first map of a list with the value of the
// key, or -1.
func indexOf(list []any, key string, value any) int {
	return slices.IndexFunc(list, func(item any) bool { return hasValue(item, key, value) })
}

// hasValue reports whether an item is a map with the value of the key.
func hasValue(item any, key string, value any) bool {
	m, _ := item.(map[string]any)
	v, ok := m[key]
	return ok && equal(v, value)
}

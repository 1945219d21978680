package objects

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxCopied limits the values that copy operations of a patch add to an object,
// since copies of copies grow exponentially.
const maxCopied = 1 << 20

// A document is an object during the operations of a JSON patch (RFC 6902).
type document struct {
	root   any
	secret bool // whether messages hide values
	copied int
}

// operate applies operations to an object, up to the first that fails.
func operate(it *item, ops []fleet.Operation) []*problem {
	gk := it.GroupVersionKind().GroupKind()
	d := &document{root: it.Unstructured.Object, secret: gk.Group == "" && gk.Kind == "Secret"}
	for i, op := range ops {
		if p := d.apply(op); p != nil {
			if op.Op == "add" && p.lacks && !strings.HasPrefix(p.hint, "did you mean ") {
				p.hint = "add that first, or use strategic or merge, which create missing fields"
			}
			p.hint = cmp.Or(p.hint, "correct the operation, or select the objects that it fits in target")
			p.msg = wording(op) + ": " + p.msg
			return under("json", []*problem{p.in(strconv.Itoa(i))})
		}
	}
	root, ok := d.root.(map[string]any)
	if !ok {
		return under("json", []*problem{{msg: "replaces the object with " + diag.TypeOf(d.root), hint: "replace a field of it"}})
	}
	it.Unstructured.Object = root
	return nil
}

// wording returns an operation for messages.
func wording(op fleet.Operation) string {
	path := cmp.Or(visible(op.Path), `""`)
	if op.Op == "move" || op.Op == "copy" {
		path = cmp.Or(visible(op.From), `""`) + " to " + path
	}
	return visible(op.Op) + " " + path
}

// apply applies one operation.
func (d *document) apply(op fleet.Operation) *problem {
	switch op.Op {
	case "add":
		return d.add(op.Path, fleet.Clone(op.Value))
	case "remove":
		_, p := d.remove(op.Path)
		return p
	case "replace":
		if op.Path != "" {
			if _, p := d.get(op.Path); p != nil {
				return p
			}
		}
		return d.edit(op.Path, func(into any, key string) (any, *problem) { return put(into, key, fleet.Clone(op.Value)) }, fleet.Clone(op.Value))
	case "move":
		if op.Path == op.From {
			_, p := d.get(op.From)
			return p
		}
		if strings.HasPrefix(op.Path, op.From+"/") {
			return &problem{msg: "is inside " + visible(op.From) + ", which cannot move into itself"}
		}
		v, p := d.remove(op.From)
		if p != nil {
			return p
		}
		return d.add(op.Path, v)
	case "copy":
		v, p := d.get(op.From)
		if p != nil {
			return p
		}
		if d.copied += size(v, maxCopied-d.copied); d.copied >= maxCopied {
			return &problem{msg: fmt.Sprintf("the copies have more than %d values", maxCopied)}
		}
		return d.add(op.Path, fleet.Clone(v))
	case "test":
		return d.test(op)
	}
	return &problem{msg: "is not an operation", hint: oneOf(op.Op, []string{"add", "copy", "move", "remove", "replace", "test"}, "")}
}

func (d *document) test(op fleet.Operation) *problem {
	v, p := d.get(op.Path)
	switch {
	case p != nil || equal(v, op.Value):
		return p
	case d.secret:
		return &problem{msg: "the value is different"}
	case diag.TypeOf(v) != diag.TypeOf(op.Value):
		return &problem{msg: "it is " + diag.TypeOf(v) + ", not " + diag.TypeOf(op.Value)}
	}
	if s, t := show(v), show(op.Value); s != t {
		return &problem{msg: "it is " + s + ", not " + t}
	}
	return &problem{msg: "it is a different " + strings.TrimPrefix(diag.TypeOf(v), "a ")}
}

// add sets a value: a new or existing key of a map, or a new item before an
// index of a list.
func (d *document) add(pointer string, v any) *problem {
	return d.edit(pointer, func(into any, key string) (any, *problem) {
		list, ok := into.([]any)
		if !ok {
			return put(into, key, v)
		}
		if key == "-" {
			return append(list, v), nil
		}
		i, p := index(key, len(list)+1)
		if p != nil {
			return nil, p
		}
		return slices.Insert(list, i, v), nil
	}, v)
}

// remove removes a value and returns it.
func (d *document) remove(pointer string) (v any, p *problem) {
	if pointer == "" {
		return nil, &problem{msg: "is the whole object", hint: `delete it with strategic: {"$patch": "delete"}`}
	}
	if v, p = d.get(pointer); p != nil {
		return nil, p
	}
	return v, d.edit(pointer, func(from any, key string) (any, *problem) {
		list, ok := from.([]any)
		if !ok {
			delete(from.(map[string]any), key)
			return from, nil
		}
		i, p := index(key, len(list))
		if p != nil {
			return nil, p
		}
		return slices.Delete(list, i, i+1), nil
	}, nil)
}

// get returns the value at a pointer.
func (d *document) get(pointer string) (any, *problem) {
	at := d.root
	keys := fleet.PointerKeys(pointer)
	for i, key := range keys {
		next, p := member(at, key)
		if p != nil {
			return nil, p.within(keys[:i])
		}
		at = next
	}
	return at, nil
}

// edit replaces the parent of the value at a pointer by the result of f. For an
// empty pointer, root replaces the document.
func (d *document) edit(pointer string, f func(holder any, key string) (any, *problem), root any) *problem {
	keys := fleet.PointerKeys(pointer)
	if len(keys) == 0 {
		d.root = root
		return nil
	}
	var descend func(at any, i int) (any, *problem)
	descend = func(at any, i int) (any, *problem) {
		if i == len(keys)-1 {
			out, p := f(at, keys[i])
			return out, p.within(keys[:i])
		}
		inner, p := member(at, keys[i])
		if p != nil {
			return nil, p.within(keys[:i])
		}
		if inner, p = descend(inner, i+1); p != nil {
			return nil, p
		}
		return put(at, keys[i], inner)
	}
	out, p := descend(d.root, 0)
	if p == nil {
		d.root = out
	}
	return p
}

// within adds the path to a problem that has none.
func (p *problem) within(keys []string) *problem {
	if p == nil {
		return nil
	}
	where := "the object"
	if len(keys) > 0 {
		where = visible(join(keys))
	}
	p.msg = where + " " + p.msg
	return p
}

// member returns the value of a map's key, or an item of a list.
func member(parent any, key string) (any, *problem) {
	switch parent := parent.(type) {
	case map[string]any:
		if v, ok := parent[key]; ok {
			return v, nil
		}
		return nil, &problem{msg: "has no " + visible(key), hint: oneOf(key, slices.Collect(maps.Keys(parent)), ""), lacks: true}
	case []any:
		i, p := index(key, len(parent))
		if p != nil {
			return nil, p
		}
		return parent[i], nil
	}
	return nil, &problem{msg: "is " + diag.TypeOf(parent) + " and has no " + visible(key)}
}

// put sets a key of a map, or an existing item of a list.
func put(into any, key string, v any) (any, *problem) {
	switch into := into.(type) {
	case map[string]any:
		into[key] = v
		return into, nil
	case []any:
		i, p := index(key, len(into))
		if p != nil {
			return nil, p
		}
		into[i] = v
		return into, nil
	}
	return nil, &problem{msg: "is " + diag.TypeOf(into) + " and cannot have " + visible(key)}
}

// arrayIndex matches the index of an item (RFC 6901).
var arrayIndex = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// indexHint says how to name an item of a list.
const indexHint = "count from 0: the first item has the index 0"

// index parses the index of an item in a list of length n.
func index(key string, n int) (int, *problem) {
	i, err := strconv.Atoi(key)
	switch {
	case !arrayIndex.MatchString(key):
		return 0, &problem{msg: "is a list, and " + visible(key) + " is not an index", hint: indexHint}
	case err != nil || i >= n:
		return 0, &problem{msg: "is a list without index " + visible(key), hint: indexHint}
	}
	return i, nil
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func join(keys []string) string { return "/" + strings.Join(diag.Each(keys, escape.Replace), "/") }

// size counts the nodes of a value, up to the limit.
func size(v any, limit int) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if n < limit {
				n += size(e, limit-n)
			}
		}
	case []any:
		for _, e := range v {
			if n < limit {
				n += size(e, limit-n)
			}
		}
	}
	return n
}

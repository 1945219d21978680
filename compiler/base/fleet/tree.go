package fleet

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Tree is a map, list or scalar with source positions. Each leaf records its
// position, its layer, and the value that it overrides.
type Tree struct {
	Fields  map[string]*Tree // of a map; nil otherwise
	List    []*Tree          // of a list; nil otherwise
	Scalar  any              // nil, bool, string or json.Number, when Fields and List are nil
	Pos     diag.Pos         // for a map, the first position that sets it
	Layer   string           // layer of Pos; empty outside of layers
	Shadows *Tree            // the overridden value of a layer above; may be nil
}

// Map returns the tree of a map with the given fields.
func Map(fields map[string]*Tree) *Tree {
	if fields == nil {
		fields = map[string]*Tree{}
	}
	return &Tree{Fields: fields}
}

// TreeOf converts a value as returned by [Tree.Value] or [Tree.Native] to a
// tree without positions. It returns an error for a number that JSON cannot
// represent.
func TreeOf(v any) (*Tree, error) {
	switch v := v.(type) {
	case map[string]any:
		t := Map(nil)
		for k, e := range v {
			below, err := TreeOf(e)
			if err != nil {
				return nil, err
			}
			t.Fields[k] = below
		}
		return t, nil
	case []any:
		t := &Tree{List: []*Tree{}}
		for _, e := range v {
			below, err := TreeOf(e)
			if err != nil {
				return nil, err
			}
			t.List = append(t.List, below)
		}
		return t, nil
	case float64, int64, int:
		text, err := json.Marshal(v)
		return &Tree{Scalar: json.Number(text)}, err
	}
	return &Tree{Scalar: v}, nil
}

// IsMap reports whether the tree is a map.
func (t *Tree) IsMap() bool { return t.Fields != nil }

// Keys returns the keys of a map, sorted.
func (t *Tree) Keys() []string { return slices.Sorted(maps.Keys(t.Fields)) }

// Value returns the tree as decoded JSON with float64 numbers, like Helm's
// values. A nil tree gives nil.
func (t *Tree) Value() any {
	return t.decoded(func(n json.Number) any {
		f, err := n.Float64()
		if err != nil {
			// The number exceeds the range of float64: return its text.
			return n.String()
		}
		return f
	})
}

// Native returns the tree in the types of Kubernetes' JSON decoder: integers
// are int64, other numbers float64. A number that would change stays a json.Number, see
// [KubernetesNumber]. A nil tree gives nil.
func (t *Tree) Native() any {
	return t.decoded(func(n json.Number) any {
		if i, err := n.Int64(); err == nil {
			return i
		}
		f, exact := Float(n)
		if !exact {
			return n
		}
		return f
	})
}

// decoded returns the tree as decoded JSON with the results of number.
func (t *Tree) decoded(number func(json.Number) any) any {
	switch {
	case t == nil:
		return nil
	case t.Fields != nil:
		m := make(map[string]any, len(t.Fields))
		for k, f := range t.Fields {
			m[k] = f.decoded(number)
		}
		return m
	case t.List != nil:
		return diag.Each(t.List, func(e *Tree) any { return e.decoded(number) })
	}
	if n, ok := t.Scalar.(json.Number); ok {
		return number(n)
	}
	return t.Scalar
}

// Lookup returns the deepest part of the tree on the path, and the number of
// keys that it follows.
func (t *Tree) Lookup(path ...string) (at *Tree, depth int) {
	for i, key := range path {
		next, ok := t.Fields[key]
		if !ok {
			return t, i
		}
		t = next
	}
	return t, len(path)
}

// At returns the part of the tree at a path of keys and list indexes, or nil.
func (t *Tree) At(path ...string) *Tree {
	for _, key := range path {
		if t == nil {
			return nil
		}
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(t.List) {
			t = t.List[i]
		} else {
			t = t.Fields[key]
		}
	}
	return t
}

// EachScalar calls a function with each scalar of the tree and its path, in the order of
// paths. A nil tree has none.
func (t *Tree) EachScalar(f func(path []string, scalar *Tree)) {
	t.EachLeaf(func(path []string, leaf *Tree) {
		if leaf.Fields == nil && leaf.List == nil {
			f(path, leaf)
		}
	})
}

// EachLeaf is [Tree.EachScalar] for scalars, empty maps and empty lists.
func (t *Tree) EachLeaf(f func(path []string, leaf *Tree)) { t.eachLeaf(nil, f) }

func (t *Tree) eachLeaf(path []string, f func(path []string, leaf *Tree)) {
	switch {
	case t == nil:
	case len(t.Fields) > 0:
		for _, key := range t.Keys() {
			t.Fields[key].eachLeaf(append(slices.Clone(path), key), f)
		}
	case len(t.List) > 0:
		for i, e := range t.List {
			e.eachLeaf(append(slices.Clone(path), strconv.Itoa(i)), f)
		}
	default:
		f(path, t)
	}
}

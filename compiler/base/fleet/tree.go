package fleet

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Tree is a value that remembers, leaf by leaf, where it was written, in
// which layer, and what it shadowed there. It is a map, a list or a scalar.
type Tree struct {
	Fields  map[string]*Tree // of a map; nil otherwise
	List    []*Tree          // of a list; nil otherwise
	Scalar  any              // nil, bool, string or json.Number, when Fields and List are nil
	Pos     diag.Pos         // of a map, the first place that wrote it
	Layer   string           // the layer of Pos; empty outside of the layers
	Shadows *Tree            // the value of a layer above that this one replaced; nil when there is none
}

// Map returns the tree of a map with the given fields.
func Map(fields map[string]*Tree) *Tree {
	if fields == nil {
		fields = map[string]*Tree{}
	}
	return &Tree{Fields: fields}
}

// TreeOf returns a decoded value, as [Tree.Value] or [Tree.Native] returns one, as
// a tree without places. The error is that of a number that JSON does not have.
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

// Value returns the tree as encoding/json decodes it, with float64 for every
// number: what Helm sees of a values file.
func (t *Tree) Value() any {
	switch {
	case t.Fields != nil:
		m := make(map[string]any, len(t.Fields))
		for k, f := range t.Fields {
			m[k] = f.Value()
		}
		return m
	case t.List != nil:
		l := make([]any, len(t.List))
		for i, e := range t.List {
			l[i] = e.Value()
		}
		return l
	}
	if n, ok := t.Scalar.(json.Number); ok {
		f, err := n.Float64()
		if err != nil {
			// Out of float64's range: the text is all that is left of it.
			return n.String()
		}
		return f
	}
	return t.Scalar
}

// Native returns the tree as Kubernetes' own libraries decode JSON: whole
// numbers are int64, others float64. It is nil for no tree.
func (t *Tree) Native() any {
	switch {
	case t == nil:
		return nil
	case t.Fields != nil:
		m := make(map[string]any, len(t.Fields))
		for k, f := range t.Fields {
			m[k] = f.Native()
		}
		return m
	case t.List != nil:
		l := make([]any, len(t.List))
		for i, e := range t.List {
			l[i] = e.Native()
		}
		return l
	}
	if n, ok := t.Scalar.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return t.Value()
}

// Lookup returns the deepest part of the tree on the path and how many of
// its keys it follows.
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

package unify

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A reader converts CUE values to trees. It records the CUE position of each
// leaf, so that trees can be converted back to CUE.
type reader struct {
	*evaluation
	positions map[*fleet.Tree]token.Pos
	pending   []cue.Value // leaves that are not concrete (yet)
}

// tree converts v; nil when v is not concrete. It leaves out map fields that
// are not concrete, and records them as pending.
func (r *reader) tree(v cue.Value) *fleet.Tree {
	given := v
	v, _ = v.Default()
	if v.IncompleteKind() == cue.StructKind && v.Err() == nil {
		return r.structTree(v)
	}
	if v.Err() != nil && !isIncomplete(v) {
		if t := r.literalTree(v); t != nil {
			return t
		}
	}
	if v.Err() != nil || !v.IsConcrete() {
		r.pending = append(r.pending, v)
		return nil
	}
	pos := r.sourcePos(v)
	if given.Source() != v.Source() || diag.IsTypeFile(diag.CUEFile(r.root, pos)) {
		// If a layer refers to a value of nearer layers, such as cluster.name, use the line of
		// the reference: it is the same for all clusters.
		if p := r.sourcePos(given); diag.IsTypeFile(diag.CUEFile(r.root, pos)) || r.isFarther(p, pos) {
			pos = p
		}
	}
	t := &fleet.Tree{Pos: diag.CUEPos(r.root, pos), Layer: r.layerOf(pos)}
	r.positions[t] = pos
	if v.Kind() == cue.ListKind {
		t.List = []*fleet.Tree{}
		for _, item := range items(v) {
			elem := r.tree(item)
			if elem == nil {
				return nil
			}
			t.List = append(t.List, elem)
		}
		return t
	}
	t.Scalar = scalar(v)
	return t
}

// isFarther reports whether a position is in a layer that is farther than that of another.
func (e *evaluation) isFarther(p, than token.Pos) bool {
	rank := func(p token.Pos) int { return layerIndex(e.layers, e.layerOf(p)) }
	at := rank(p)
	return at >= 0 && at < rank(than)
}

// literalTree converts the parts of a conflicting value that the layers write
// literally, or returns nil. CUE does not return the value as a whole.
func (r *reader) literalTree(v cue.Value) *fleet.Tree {
	parts := diag.Conjuncts(v)
	if len(parts) > 1 {
		var out *fleet.Tree
		for _, c := range parts {
			if r.layerOf(labelPos(c)) != "" {
				out = merge(out, r.tree(c))
			}
		}
		return out
	}
	fields := literalFields(v)
	if len(fields) == 0 {
		return nil
	}
	out := fleet.Map(nil)
	for _, f := range fields {
		if name, _, err := ast.LabelName(f.Label); err == nil {
			if t := r.tree(v.LookupPath(cue.MakePath(cue.Str(name)))); t != nil {
				out.Fields[name] = t
			}
		}
	}
	return out
}

func (r *reader) structTree(v cue.Value) *fleet.Tree {
	t := fleet.Map(nil)
	if pos := r.fieldPos(v); !diag.IsTypeFile(pos.File) {
		t.Pos = pos
	}
	r.positions[t] = labelPos(v)
	it, err := v.Fields()
	if err != nil {
		return t
	}
	for it.Next() {
		if f := r.tree(it.Value()); f != nil {
			t.Fields[it.Selector().Unquoted()] = f
		}
	}
	return t
}

// scalar converts a concrete scalar to the form of a tree.
func scalar(v cue.Value) any {
	switch v.Kind() {
	case cue.BoolKind:
		b, _ := v.Bool()
		return b
	case cue.StringKind:
		s, _ := v.String()
		return s
	case cue.NullKind:
		return nil
	}
	// Numbers have any size; bytes are base64.
	data, err := v.MarshalJSON()
	if err != nil {
		return nil
	}
	var s string
	if json.Unmarshal(data, &s) == nil {
		return s
	}
	return json.Number(data)
}

// defaults merges the defaults of a release from the root to the cluster.
func (r *reader) defaults(release cue.Value) *fleet.Tree {
	var out *fleet.Tree
	for _, l := range r.layers {
		d := release.LookupPath(cue.MakePath(cue.Str("defaults"), cue.Str(l.Name)))
		if d.Exists() {
			out = merge(out, r.tree(d))
		}
	}
	if out == nil {
		return fleet.Map(nil)
	}
	return out
}

// checkLayers reports defaults for unknown layers, and defaults that are set
// in a file of another layer.
func (e *evaluation) checkLayers(path string, release cue.Value) error {
	it, err := lookup(release, "defaults").Fields()
	if err != nil {
		return nil // absent, or CUE reports an error
	}
	var faults diag.List
	for it.Next() {
		name := it.Selector().Unquoted()
		known := layerIndex(e.layers, name) >= 0
		for _, c := range diag.Conjuncts(it.Value()) {
			if f, ok := c.Source().(*ast.Field); ok {
				if label, _, err := ast.LabelName(f.Label); err == nil && label != name || isPattern(f.Label) || err != nil && known {
					continue // a pattern applies to every layer, and an expression may choose one
				}
			}
			p := labelPos(c)
			in := e.layerOf(p)
			d := &diag.Diag{Code: diag.CodeWrongLayer, At: []diag.Pos{diag.CUEPos(e.root, p)}, Path: path + ".defaults." + name}
			switch {
			case !p.IsValid() || diag.IsTypeFile(d.At[0].File) || known && (in == name || in == ""):
				continue
			case e.embedded.embedders[d.At[0].File] != "":
				continue // the field with @embed is reported
			case !known && !e.isOtherLayer(name):
				d.Msg = "no layer is called " + name
				if diag.ExplainIndentation(e.root, d) {
					break
				}
				near := e.similarLayer(name)
				if near != "" {
					d.Hint, d.Fixes = "did you mean "+near+"?", []diag.Fix{{Kind: diag.FixName, Old: name, New: near}}
					break
				}
				d.Hint = unknownLayerHint(release, it.Value(), name, cmp.Or(in, "LAYER"))
			default:
				d.Msg, d.Hint = "defaults of the layer "+name+" are set in a file of the layer "+in, "write defaults: "+in+", or move this into a file of "+name
				d.Fixes = []diag.Fix{{Kind: diag.FixName, Old: name, New: in}}
			}
			faults.Add(d)
		}
	}
	return faults.Err()
}

// unknownLayerHint says how to write defaults below a name that no layer has: the
// name is a value, or the old name of a layer.
func unknownLayerHint(release, defaults cue.Value, name, layer string) string {
	first := "defaults: " + layer + ": " + cue.Str(name).String() + ": ..."
	if defaults.IncompleteKind() != cue.StructKind || slices.Contains(fieldNames(lookup(release, "values")), name) {
		return "put the name of this file's layer first: " + first
	}
	return "write the name of this file's layer: defaults: " + layer + ": ...; if " + name + " is a value, write " + first
}

// isPattern reports whether a label is a pattern, as in [string].
func isPattern(label ast.Label) bool {
	_, ok := label.(*ast.ListLit)
	return ok
}

// isOtherLayer reports whether a name is that of a layer of the fleet, such as one of
// another cluster.
func (e *evaluation) isOtherLayer(name string) bool {
	return slices.ContainsFunc(e.layers, func(l fleet.Layer) bool { return slices.Contains(l.Names, name) })
}

// similarLayer returns the layer that a name may mean, such as prod for
// production, or "".
func (e *evaluation) similarLayer(name string) string {
	const least = 3
	for _, layer := range e.layerNames() {
		if len(layer) >= least && strings.HasPrefix(name, layer) || len(name) >= least && strings.HasPrefix(layer, name) {
			return layer
		}
	}
	return diag.Nearest(name, e.layerNames())
}

func (e *evaluation) layerNames() []string {
	return diag.Each(e.layers, func(l fleet.Layer) string { return l.Name })
}

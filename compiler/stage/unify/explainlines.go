package unify

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A line is a contribution with its CUE value.
type line struct {
	*fleet.Contribution
	v    cue.Value
	path []string // of the line; for a default, it is releases.x.defaults.root.a
}

// contributions returns the lines that contribute to a field, with their
// sources.
func (x *Explainer) contributions(path []string) []*fleet.Contribution {
	out := []*fleet.Contribution{}
	for _, c := range x.lines(path) {
		x.budget = maxSources
		x.trace(c, nil)
		out = append(out, c.Contribution)
	}
	return out
}

// lines returns the lines that contribute to a field, in layer order.
func (x *Explainer) lines(path []string) []line {
	l := x.last()
	out := x.linesAt(path, path, "")
	if isValues(path) && len(path) > 3 {
		for _, layer := range x.layers {
			out = append(out, x.linesAt(defaultPath(path, layer.Name), path, layer.Name)...)
		}
	}
	rank := func(c line) int {
		if i := slices.IndexFunc(x.layers, func(l fleet.Layer) bool { return l.Name == c.Layer }); i >= 0 {
			return i
		}
		return len(x.layers)
	}
	slices.SortStableFunc(out, func(a, b line) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.At.Compare(b.At))
	})
	out = slices.CompactFunc(out, func(a, b line) bool { return a.At == b.At && a.Kind == b.Kind })
	state, value := l.value(path)
	x.setRoles(out, path, state, value)
	return out
}

// linesAt returns the lines that CUE unifies at a path, or those of a scalar
// or list above it, which exclude it. For defaults, layer is their layer.
func (x *Explainer) linesAt(path, of []string, layer string) []line {
	l := x.last()
	v, sels := l.at(path)
	n := len(sels)
	least := 0
	if layer != "" {
		least = 4 // paths above it contain no values
	}
	if n <= least && n < len(path) || n < len(path) && (isStruct(v) || !v.IsConcrete()) {
		return nil
	}
	var out []line
	for _, c := range diag.Conjuncts(v) {
		filled := l.filled[c.Source()]
		if filled && isValues(of) {
			continue // the default itself is listed
		}
		p := valuePos(c)
		embedded, isEmbedded := l.embedded.names[p.Filename()]
		if !p.IsValid() || !filepath.IsAbs(p.Filename()) && !isEmbedded {
			continue // the embedded schema, which layers import as well
		}
		pos := diag.CUEPos(x.root, p)
		if isEmbedded {
			pos.File = embedded
		}
		at := line{v: c, path: path[:n], Contribution: &fleet.Contribution{
			At: pos, Expr: exprText(expression(c)), Kind: l.kind(c),
		}}
		switch {
		case n < len(path) && at.Kind != fleet.ValuePin:
			continue // does not exclude the path
		case n < len(path):
			at.Path = l.text(path[:n])
		case diag.IsTypeFile(at.At.File) && c.IncompleteKind() == cue.StructKind:
			continue
		}
		switch {
		case diag.IsTypeFile(at.At.File) && at.Kind == fleet.Constraint:
			at.Kind = fleet.SchemaType
		case (layer != "" || isDefault(path)) && at.Kind == fleet.ValuePin || filled:
			at.Kind = fleet.LayerDefault
		}
		switch {
		case at.Kind == fleet.SchemaType:
		case layer != "":
			at.Layer = layer
		default:
			at.Layer = x.layer(c, path[:n])
		}
		out = append(out, at)
	}
	return out
}

// isDefault reports whether the path is a default of a release.
func isDefault(path []string) bool {
	return len(path) > 4 && path[0] == "releases" && path[2] == "defaults"
}

// layer returns the layer of a line: the layer of its file, or the first layer
// that imports its package.
func (x *Explainer) layer(c cue.Value, path []string) string {
	pos := valuePos(c)
	if name := x.last().layerOf(pos); name != "" {
		return name
	}
	for i, layer := range x.layers {
		l := x.level(i)
		if l == nil {
			continue
		}
		v, sels := l.at(path)
		if len(sels) == len(path) && slices.ContainsFunc(diag.Conjuncts(v), func(d cue.Value) bool { return valuePos(d) == pos }) {
			return layer.Name
		}
	}
	return ""
}

// kind classifies a line by itself.
func (l *level) kind(c cue.Value) fleet.ContributionKind {
	if f, ok := c.Source().(*ast.Field); ok && f.Constraint != 0 {
		return fleet.Constraint // constrains the value of another line
	}
	if c.Err() != nil {
		op, _ := c.Expr()
		root, path := c.ReferencePath()
		_, literal := expression(c).(*ast.BasicLit)
		switch {
		case literal, slices.Contains(computingOps, op):
			return fleet.ValuePin
		case !root.Exists():
			return fleet.Constraint
		}
		c = root.LookupPath(path)
	}
	if _, marked := c.Default(); marked && !c.IsConcrete() {
		return fleet.CUEDefault
	}
	if isConcrete(c) || len(literalFields(c)) > 0 {
		return fleet.ValuePin
	}
	return fleet.Constraint
}

// setRoles sets the role of each line.
func (x *Explainer) setRoles(lines []line, path []string, state fleet.State, value any) {
	var winner *fleet.Contribution
	pick := func(kind fleet.ContributionKind, backward bool) {
		for i := range lines {
			c := lines[i]
			if c.Kind != kind || winner != nil && !(backward && c.Layer != winner.Layer) {
				continue
			}
			if kind != fleet.CUEDefault || x.yields(c, value) {
				winner = c.Contribution
			}
		}
	}
	if pick(fleet.ValuePin, false); winner == nil {
		pick(fleet.LayerDefault, true)
	}
	if winner == nil {
		pick(fleet.CUEDefault, false)
	}
	blamed := map[diag.Pos]bool{}
	if state == fleet.Conflict {
		for _, d := range x.faultsOf(path) {
			for _, p := range d.At {
				blamed[p] = true
			}
		}
	}
	for _, c := range lines {
		c.Role = fleet.Holds
		switch {
		case winner == nil:
			if c.Kind != fleet.SchemaType {
				c.Role = fleet.Waits
			}
		case c.Kind == fleet.Constraint, c.Kind == fleet.SchemaType:
			if blamed[c.At] {
				c.Role = fleet.Conflicts
			}
		case state == fleet.Conflict && (c.Kind == winner.Kind || blamed[c.At]) && !(c.Kind == fleet.LayerDefault && c.Layer != winner.Layer):
			c.Role = fleet.Conflicts
		case c.Contribution == winner:
			c.Role = fleet.Effective
			if state == fleet.Incomplete {
				c.Role = fleet.Waits
			}
		case c.Kind == winner.Kind && (c.Kind == fleet.ValuePin || c.Layer == winner.Layer):
			c.Role = fleet.Agrees
		default:
			c.Role, c.By = fleet.Overridden, winner.At
		}
	}
}

// yields reports whether the line by itself yields the value.
func (x *Explainer) yields(c line, value any) bool {
	t := x.last().reader().tree(c.v)
	return t != nil && reflect.DeepEqual(t.Value(), value)
}

// maxExpr is the maximum length of a shown expression in bytes.
const maxExpr = 160

// exprText formats an expression on one line without comments.
func exprText(n ast.Node) string {
	if n == nil {
		return ""
	}
	data, err := format.Node(n)
	if err != nil {
		return ""
	}
	if x, err := parser.ParseExpr("", data); err == nil {
		if bare, err := format.Node(x); err == nil {
			data = bare
		}
	}
	return diag.Line(string(data), maxExpr)
}

package unify

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A line is a contribution, and what CUE knows of it.
type line struct {
	*fleet.Contribution
	v    cue.Value
	path []string // where it stands: that of a default is releases.x.defaults.root.a
}

// contributions returns the lines that have a say in a field, with what they
// refer to.
func (x *Explainer) contributions(path []string) []*fleet.Contribution {
	out := []*fleet.Contribution{}
	for _, c := range x.lines(path) {
		x.left = maxSources
		x.trace(c, nil)
		out = append(out, c.Contribution)
	}
	return out
}

// lines returns the lines that have a say in a field, in the order of their
// layers.
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
	x.judge(out, path, state, value)
	return out
}

// linesAt returns the lines that CUE unifies at a path, or those of a scalar or
// list on the way there, which leave no room for it. Defaults are those of the
// given layer.
func (x *Explainer) linesAt(path, of []string, layer string) []line {
	l := x.last()
	v, sels := l.at(path)
	n := len(sels)
	least := 0
	if layer != "" {
		least = 4 // what is above does not speak of values
	}
	if n <= least && n < len(path) || n < len(path) && (isStruct(v) || !v.IsConcrete()) {
		return nil
	}
	var out []line
	for _, c := range cuediag.Conjuncts(v) {
		filled := l.filled[c.Source()]
		if filled && isValues(of) {
			continue // the default itself is listed
		}
		p := valuePos(c)
		if !p.IsValid() || !filepath.IsAbs(p.Filename()) {
			continue // the embedded schema, which the layers name as well
		}
		at := line{v: c, path: path[:n], Contribution: &fleet.Contribution{
			At: cuediag.Pos(x.root, p), Expr: exprText(expression(c)), Kind: l.kind(c),
		}}
		switch {
		case n < len(path) && at.Kind != fleet.ValuePin:
			continue // leaves room for it
		case n < len(path):
			at.Path = l.text(path[:n])
		case cuediag.IsType(at.At.File) && c.IncompleteKind() == cue.StructKind:
			continue
		}
		switch {
		case cuediag.IsType(at.At.File) && at.Kind == fleet.Constraint:
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

// isDefault reports whether the path is that of a default of a release.
func isDefault(path []string) bool {
	return len(path) > 4 && path[0] == "releases" && path[2] == "defaults"
}

// layer returns the layer that says a line: the one whose file it is in, or the
// first that has it by importing a package.
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
		if len(sels) == len(path) && slices.ContainsFunc(cuediag.Conjuncts(v), func(d cue.Value) bool { return valuePos(d) == pos }) {
			return layer.Name
		}
	}
	return ""
}

// kind returns what a line by itself says.
func (l *level) kind(c cue.Value) fleet.ContributionKind {
	if f, ok := c.Source().(*ast.Field); ok && f.Constraint != 0 {
		return fleet.Constraint // of the value that another one gives
	}
	if c.Err() != nil {
		op, _ := c.Expr()
		root, path := c.ReferencePath()
		_, literal := expression(c).(*ast.BasicLit)
		switch {
		case literal, slices.Contains(computing, op):
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

// judge says of each line what became of it.
func (x *Explainer) judge(lines []line, path []string, state fleet.State, value any) {
	var winner *fleet.Contribution
	pick := func(kind fleet.ContributionKind, backward bool) {
		for i := range lines {
			c := lines[i]
			if c.Kind != kind || winner != nil && !(backward && c.Layer != winner.Layer) {
				continue
			}
			if kind != fleet.CUEDefault || x.says(c, value) {
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
		for _, d := range x.wrong(path) {
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
			c.Role = fleet.Wins
			if state == fleet.Incomplete {
				c.Role = fleet.Waits
			}
		case c.Kind == winner.Kind && (c.Kind == fleet.ValuePin || c.Layer == winner.Layer):
			c.Role = fleet.Agrees
		default:
			c.Role, c.By = fleet.Loses, winner.At
		}
	}
}

// says reports whether the line by itself gives the value.
func (x *Explainer) says(c line, value any) bool {
	t := x.last().reader().tree(c.v)
	return t != nil && reflect.DeepEqual(t.Value(), value)
}

// maxExpr is how many bytes of an expression are shown.
const maxExpr = 160

// exprText returns an expression as it is written, on one line and without
// comments.
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
	return diag.Visible(strings.Join(strings.Fields(string(data)), " "), maxExpr)
}

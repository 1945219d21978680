// Package query answers questions about a compiled fleet: where a value comes from, how
// clusters differ, and the changes between two states of the fleet. A [Rehearser] makes the
// findings of a change: objects that clusters would refuse, objects and data that would be
// lost, and work that a new version of a chart needs.
//
// [MakeReport] collects the facts of a fleet for people who do not use fleetc, and writes them
// as one HTML page, Markdown or text. The page loads no other files, and equal facts give equal
// bytes. The facts do not contain values of Secrets, see [secretTexts].
//
// It is large because explain, compare, diff, findings and the report share how they compile,
// select and read clusters.
package query

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/unify"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// Explainer explains the configuration of one cluster. It is not safe for concurrent use.
type Explainer struct {
	*unify.Explainer
	c     *compiler.Compiler
	root  string
	over  func(*par.Excess) error // returns the fault of an evaluation that exceeded a limit
	types par.ResultMemo[fleet.ChartRef, *values.Type]
}

// Explain evaluates the cluster that the pattern selects, see [fleet.MatchCluster], to
// explain its fields. A pattern that selects several clusters is a fault. A cluster with
// faults can be explained; Explain fails only if the layers cannot be read.
func Explain(ctx context.Context, c *compiler.Compiler, pattern string) (*Explainer, error) {
	chain, err := load.LoadChain(cmp.Or(c.Dir, "."), pattern, c.Edits)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := &Explainer{c: c, root: chain.Root}
	x.over = func(over *par.Excess) error { return unify.Excess(chain.Root, chain.ID, chain.Instance, over) }
	x.Explainer, err = limited(ctx, x, func() (*unify.Explainer, error) {
		return unify.Explain(chain.Root, chain.ID, chain.Layers, chain.Prefixes)
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// limited runs an evaluation of the explained cluster within the compiler's limits.
func limited[T any](ctx context.Context, x *Explainer, f func() (T, error)) (T, error) {
	return runLimited(ctx, x.c.Limits, x.over, f)
}

// runLimited runs an evaluation within limits. over returns the fault of one that exceeds
// them; a panic is an error.
func runLimited[T any](ctx context.Context, limits par.Limits, over func(*par.Excess) error, f func() (T, error)) (T, error) {
	v, err := par.Recover(func() (T, error) { return par.RunLimited(ctx, limits, f) })
	if e, ok := errors.AsType[*par.Excess](err); ok {
		err = over(e)
	}
	return v, err
}

// Field explains the field at a path such as releases.app.values.image.tag. For paths below
// the values of a release, it also reads the chart. A path that does not exist and that
// no type allows is a fault.
func (x *Explainer) Field(ctx context.Context, text string) (*fleet.Explanation, error) {
	field, ok := fleet.ParseField(text)
	if !ok {
		return nil, &diag.Diag{
			Code: diag.CodeFieldPath,
			Msg:  fmt.Sprintf("invalid field path %q", text), Hint: `write it as releases.app.values.image.tag, and put keys with dots in quotes`,
		}
	}
	t, ref, err := x.chartOf(ctx, field)
	e, fault := limited(ctx, x, func() (*fleet.Explanation, error) { return x.Explainer.Field(field, keysOf(t)) })
	if fault != nil {
		return nil, fault
	}
	if err != nil {
		for _, d := range diag.All(err) {
			e.Faults = append(e.Faults, "the chart cannot be read: "+d.Msg)
		}
	}
	if t != nil && len(field) > valuesDepth {
		explainChart(e, t, ref, field[valuesDepth:])
	}
	if t != nil {
		if err := x.explainGlobals(ctx, e, t, field); err != nil {
			return nil, err
		}
	}
	if e.Leaves == nil {
		e.Leaves = []fleet.Leaf{}
	}
	return e, nil
}

// valuesDepth is the number of keys in the path of a release's values.
const valuesDepth = 3

// chartOf returns the types of the chart if the path is below the values of a release with
// a chart, and nil if not.
func (x *Explainer) chartOf(ctx context.Context, field []string) (*values.Type, fleet.ChartRef, error) {
	if x.Cluster == nil || len(field) < valuesDepth || field[0] != "releases" || field[2] != "values" {
		return nil, fleet.ChartRef{}, nil
	}
	release := x.Cluster.Release(field[1])
	if release == nil || release.Chart == (fleet.ChartRef{}) {
		return nil, fleet.ChartRef{}, nil
	}
	ref := release.Chart
	types, err := x.types.Get(ref, func() (*values.Type, error) {
		if earlier := x.c.ReuseFrom; earlier != nil && earlier.Charts[ref].Types != nil {
			return earlier.Charts[ref].Types, nil
		}
		ch, err := x.c.Source(x.root).Chart(ctx, ref)
		if err != nil {
			return nil, err
		}
		return x.c.Results().Types(ch)
	})
	return types, ref, err
}

// keysOf returns a function that returns the keys that the types have at a path, and
// whether other keys are allowed.
func keysOf(t *values.Type) unify.Keys {
	if t == nil {
		return nil
	}
	return func(path []string) ([]string, bool) {
		at, ok := t.At(path...)
		if !ok {
			return nil, at.Open || at.Elem != nil // an open type allows any key
		}
		return at.Keys, at.Open
	}
}

// explainChart adds the type, documentation and default of a value in the chart.
func explainChart(e *fleet.Explanation, t *values.Type, ref fleet.ChartRef, field []string) {
	at, ok := t.At(field...)
	if !ok {
		if e.State == fleet.Unset && at.Open && at.Kinds&values.List == 0 {
			e.Type = "any key: " + at.Why
		}
		return
	}
	e.Type, e.Doc = strings.Join(at.Kinds.Names(), " or "), at.Doc
	if at.Kinds == values.Any {
		e.Type = "anything"
	}
	if e.State == fleet.Unset && len(at.Fields) > 0 {
		e.Leaves = chartLeaves(nil, at, ref, e.Path)
	}
	c, value := chartDefault(at, ref)
	if c == nil || e.Leaves != nil {
		return
	}
	e.Contributions = append(e.Contributions, c)
	switch {
	case e.State == fleet.Unset:
		e.State, e.Value = fleet.FromChart, value
	default:
		c.Role = fleet.Overridden
		for _, other := range e.Contributions {
			if other.Role == fleet.Effective || other.Role == fleet.Conflicts {
				c.By = other.At
			}
		}
	}
	for i := range e.Layers {
		if e.Layers[i].State == fleet.Unset {
			e.Layers[i].State, e.Layers[i].Value = fleet.FromChart, value
		}
	}
}

// explainGlobals explains a global value of a dependency that a parent chart overrides by the
// line of the parent's value.
func (x *Explainer) explainGlobals(ctx context.Context, e *fleet.Explanation, t *values.Type, field []string) error {
	user := x.Cluster.Release(field[1]).Values
	t.RemoveKeys(user)
	outerOf := t.OuterGlobals(user)
	for i, leaf := range e.Leaves {
		path, ok := fleet.ParseField(leaf.Path)
		if !ok || outerOf(path[valuesDepth:]) == nil {
			continue
		}
		of, err := x.Field(ctx, leaf.Path)
		if err != nil {
			return err
		}
		e.Leaves[i].State, e.Leaves[i].Value, e.Leaves[i].Effective = of.State, of.Value, effectiveOf(of)
	}
	outer := outerOf(field[valuesDepth:])
	if outer == nil || len(e.Leaves) > 0 {
		return nil
	}
	by, err := x.Field(ctx, fleet.FieldText(slices.Concat(field[:valuesDepth], outer)))
	if err != nil {
		return err
	}
	e.State, e.Value, e.Leaves = by.State, by.Value, by.Leaves
	for i := range min(len(e.Layers), len(by.Layers)) {
		if l := by.Layers[i]; l.State == fleet.Set || by.State == fleet.FromChart {
			e.Layers[i] = l
		}
	}
	e.Contributions = slices.DeleteFunc(e.Contributions, func(c *fleet.Contribution) bool { return c.Kind == fleet.ChartDefault })
	for _, c := range e.Contributions {
		if c.Role = fleet.Overridden; effectiveOf(by) != nil {
			c.By = effectiveOf(by).At
		}
	}
	for _, c := range by.Contributions {
		if c.Kind != fleet.ChartDefault {
			c.Path = cmp.Or(c.Path, by.Path)
		}
	}
	e.Contributions = append(e.Contributions, by.Contributions...)
	return nil
}

// effectiveOf returns the line with the effective value; nil when it is unknown.
func effectiveOf(e *fleet.Explanation) *fleet.Contribution {
	i := slices.IndexFunc(e.Contributions, func(c *fleet.Contribution) bool { return c.Role == fleet.Effective })
	if i < 0 {
		return nil
	}
	return e.Contributions[i]
}

// chartDefault returns the line of the chart with the default of a value, and the default; nil
// if it has none.
func chartDefault(t *values.Type, ref fleet.ChartRef) (*fleet.Contribution, any) {
	value, ok := t.Own()
	text, err := json.Marshal(value)
	if !ok || err != nil {
		return nil, nil
	}
	c := &fleet.Contribution{Kind: fleet.ChartDefault, Expr: diag.Visible(string(text), diag.MaxText), Role: fleet.Effective}
	if ref.Path == "" {
		c.Chart = ref.String() + " " + t.Place
		return c, value
	}
	file, line, _ := strings.Cut(t.Place, ":")
	c.At.File = path.Join(ref.Path, file)
	c.At.Line, _ = strconv.Atoi(line)
	return c, value
}

// chartLeaves appends the chart's defaults below a map.
func chartLeaves(to []fleet.Leaf, t *values.Type, ref fleet.ChartRef, path string) []fleet.Leaf {
	for _, key := range t.Keys {
		at, f := path+"."+fleet.FieldText([]string{key}), t.Fields[key]
		before := len(to)
		to = chartLeaves(to, f, ref, at)
		if c, value := chartDefault(f, ref); c != nil && len(to) == before {
			to = append(to, fleet.Leaf{Path: at, State: fleet.FromChart, Value: value, Effective: c})
		}
	}
	return to
}

// Next returns completions of a path: its complete keys with one more key, which need not
// begin with the incomplete last key.
func (x *Explainer) Next(ctx context.Context, text string) []string {
	begin := text[:strings.LastIndexByte(text, '.')+1]
	var field []string
	if begin != "" {
		var ok bool
		if field, ok = fleet.ParseField(strings.TrimSuffix(begin, ".")); !ok {
			return nil
		}
	}
	names, err := limited(ctx, x, func() ([]string, error) { return x.Explainer.Next(field), nil })
	if err != nil {
		return nil
	}
	if t, _, _ := x.chartOf(ctx, field); t != nil {
		keys, _ := keysOf(t)(field[valuesDepth:])
		names = append(names, keys...)
	}
	return diag.Each(diag.Distinct(names), func(name string) string { return begin + fleet.FieldText([]string{name}) })
}

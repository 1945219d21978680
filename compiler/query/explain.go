// Package query answers questions about a compiled fleet: where a value comes from, how
// clusters differ, and what changes between two states of the fleet.
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
	"github.com/fleetc/fleetc/compiler/base/bounded"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/unify"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// An Explainer explains the configuration of one cluster. It is not for several
// goroutines at once.
type Explainer struct {
	*unify.Explainer
	c     *compiler.Compiler
	root  string
	over  func(*bounded.Excess) error   // returns the fault of an evaluation that exceeded a limit
	types map[fleet.ChartRef]chartTypes // that were asked for
}

// chartTypes are the types of a chart's values, or why they are not known.
type chartTypes struct {
	types *values.Type
	err   error
}

// Explain evaluates the one cluster that the pattern selects, see
// [fleet.MatchCluster], to explain its fields. Faults of the cluster do not
// keep them from being explained, and those of others are not looked at; the
// error holds what leaves nothing to explain. A pattern that selects several
// clusters is a fault.
func Explain(ctx context.Context, c *compiler.Compiler, pattern string) (*Explainer, error) {
	chain, err := load.LoadChain(cmp.Or(c.Dir, "."), pattern, c.Edits)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := &Explainer{c: c, root: chain.Root, types: map[fleet.ChartRef]chartTypes{}}
	x.over = func(over *bounded.Excess) error { return unify.Excess(chain.Root, chain.ID, chain.Instance, over) }
	x.Explainer, err = limited(ctx, x, func() (*unify.Explainer, error) {
		return unify.Explain(chain.Root, chain.ID, chain.Layers, chain.Prefixes)
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// limited evaluates something of the explained cluster within the limits.
func limited[T any](ctx context.Context, x *Explainer, f func() (T, error)) (T, error) {
	v, err := ordered.Recover(func() (T, error) { return bounded.Run(ctx, x.c.Limits, f) })
	if over, ok := errors.AsType[*bounded.Excess](err); ok {
		err = x.over(over)
	}
	return v, err
}

// Field explains the field at the path: releases.app.values.image.tag. The
// chart of a release is found to explain what is below its values, and nothing
// else. A path on which there is nothing, nor may be, is a fault.
func (x *Explainer) Field(ctx context.Context, text string) (*fleet.Explanation, error) {
	field, ok := fleet.ParseField(text)
	if !ok {
		return nil, &diag.Diag{
			Msg: fmt.Sprintf("%q is not the path of a field", text), Hint: `write releases.app.values.image.tag, with keys that have dots in quotes`,
		}
	}
	t, ref, err := x.chartOf(ctx, field)
	e, fault := limited(ctx, x, func() (*fleet.Explanation, error) { return x.Explainer.Field(field, keysOf(t)) })
	if fault != nil {
		return nil, fault
	}
	if err != nil {
		for _, d := range diag.All(err) {
			e.Faults = append(e.Faults, "the chart is not known: "+d.Msg)
		}
	}
	if t != nil && len(field) > valuesDepth {
		explainChart(e, t, ref, field[valuesDepth:])
	}
	return e, nil
}

// valuesDepth is how many keys the path of a release's values has.
const valuesDepth = 3

// chartOf returns the types of the chart of the release whose values the path
// is in; nil when it is another path, or the release has no chart.
func (x *Explainer) chartOf(ctx context.Context, field []string) (*values.Type, fleet.ChartRef, error) {
	if x.Cluster == nil || len(field) < valuesDepth || field[0] != "releases" || field[2] != "values" {
		return nil, fleet.ChartRef{}, nil
	}
	i := slices.IndexFunc(x.Cluster.Releases, func(r *fleet.Release) bool { return r.Name == field[1] })
	if i < 0 || x.Cluster.Releases[i].Chart == (fleet.ChartRef{}) {
		return nil, fleet.ChartRef{}, nil
	}
	ref := x.Cluster.Releases[i].Chart
	known, ok := x.types[ref]
	if !ok {
		ch, err := x.c.Source(x.root).Chart(ctx, ref)
		if err == nil {
			known.types, err = x.c.Results().Types(ch)
		}
		known.err = err
		x.types[ref] = known
	}
	return known.types, ref, known.err
}

// keysOf returns which keys the types know below a path.
func keysOf(t *values.Type) unify.Keys {
	if t == nil {
		return nil
	}
	return func(path []string) ([]string, bool) {
		at, ok := t.At(path...)
		if !ok {
			return nil, at.Open || at.Elem != nil // below what is open, anything goes
		}
		return at.Keys, at.Open
	}
}

// explainChart adds what the chart says of a value.
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
		return
	}
	c := chartDefault(at, ref)
	if c == nil || e.Leaves != nil {
		return
	}
	e.Contributions = append(e.Contributions, c)
	switch {
	case e.State == fleet.Unset:
		e.State, e.Value = fleet.FromChart, at.Default
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
			e.Layers[i].State, e.Layers[i].Value = fleet.FromChart, at.Default
		}
	}
}

// chartDefault returns the line of a default of a chart; nil when there is none.
func chartDefault(t *values.Type, ref fleet.ChartRef) *fleet.Contribution {
	text, err := json.Marshal(t.Default)
	if t.Known&values.Defaults == 0 || t.Default == nil && t.Kinds&values.Map != 0 || err != nil {
		return nil
	}
	c := &fleet.Contribution{Kind: fleet.ChartDefault, Expr: diag.Visible(string(text), diag.MaxText), Role: fleet.Effective}
	if ref.Path == "" {
		c.Chart = ref.String() + " " + t.Place
		return c
	}
	file, line, _ := strings.Cut(t.Place, ":")
	c.At.File = path.Join(ref.Path, file)
	c.At.Line, _ = strconv.Atoi(line)
	return c
}

// chartLeaves appends the defaults that a chart has in a map.
func chartLeaves(to []fleet.Leaf, t *values.Type, ref fleet.ChartRef, path string) []fleet.Leaf {
	for _, key := range t.Keys {
		at, f := path+"."+fleet.FieldText([]string{key}), t.Fields[key]
		if len(f.Fields) > 0 {
			to = chartLeaves(to, f, ref, at)
		} else if c := chartDefault(f, ref); c != nil {
			to = append(to, fleet.Leaf{Path: at, State: fleet.FromChart, Value: f.Default, Effective: c})
		}
	}
	return to
}

// Next returns the paths that begin like the given one and have a key more than
// it has whole.
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
		known, _ := keysOf(t)(field[valuesDepth:])
		names = append(names, known...)
	}
	slices.Sort(names)
	var out []string
	for _, name := range slices.Compact(names) {
		out = append(out, begin+fleet.FieldText([]string{name}))
	}
	return out
}

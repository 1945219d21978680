package lsp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// definition returns where the value at a position comes from: the lines that set it, those
// of most clusters first, the line of the chart's values.yaml, and the lines of templates
// that print it.
func (s *server) definition(ctx context.Context, p positionParams) (any, error) {
	q, err := s.ask(ctx, p)
	if err != nil || q == nil {
		return nil, err
	}
	texts := s.newTexts()
	var out []location
	add := func(l location) {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	winners, err := q.winners(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range winners {
		file := q.checker.path(at.File)
		add(location{texts.uri(file), texts.rangeOf(file, at)})
	}
	groups, _ := q.groups(q.scope(), q.field)
	if !isValue(q.field) || len(groups) == 0 {
		return out, nil
	}
	uses, _, err := q.findUses(ctx, groups[:1])
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(q.clusters, func(c *fleet.Cluster) bool { return c.ID == groups[0].clusters[0] })
	r := q.clusters[i].Release(q.field[1])
	ch := q.fleet.ChartOf(r)
	if ch == nil {
		return out, nil
	}
	if t := q.typeOf(r, q.field[valuesDepth:]); t != nil && strings.Contains(t.Place, ":") {
		if l, ok := q.checker.chartLocation(ch, t.Place); ok {
			add(l)
		}
	}
	for _, u := range uses {
		for _, line := range u.Lines {
			_, name, _ := strings.Cut(line.Template, "/")
			if l, ok := q.checker.chartLocation(ch, fmt.Sprintf("%s:%d", name, line.Line)); ok {
				add(l)
			}
		}
	}
	return out, nil
}

// winners returns the positions of the effective lines of the field in the clusters of the
// layer. The line that is effective in most clusters comes first.
func (q *question) winners(ctx context.Context) ([]diag.Pos, error) {
	count := map[diag.Pos]int{}
	clusters := q.below(q.scope())
	for _, c := range clusters {
		if at := q.setIn(c); at.IsValid() {
			count[at]++
		}
	}
	if len(count) == 0 && len(clusters) > 0 { // a field that only CUE knows
		e, err := q.checker.explain(ctx, q.snapshot, clusters[0].ID, q.field)
		if err != nil {
			return nil, ctx.Err()
		}
		for _, c := range e.Contributions {
			if (c.Role == fleet.Effective || c.Role == fleet.Agrees) && c.At.IsValid() && c.Kind != fleet.ChartDefault {
				count[c.At]++
			}
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b diag.Pos) int { return cmp.Or(cmp.Compare(count[b], count[a]), a.Compare(b)) }), nil
}

// setIn returns the position of the line that sets the field in a cluster, or that of a
// release; not valid for other fields.
func (q *question) setIn(c *fleet.Cluster) (at diag.Pos) {
	if len(q.field) < 2 || q.field[0] != "releases" {
		return at
	}
	switch r := c.Release(q.field[1]); {
	case r == nil:
	case len(q.field) == 2:
		return r.Pos
	case isValue(q.field):
		if t := r.Values.At(q.field[valuesDepth:]...); t != nil {
			return t.Pos
		}
	}
	return at
}

// references returns all lines of layers that set the field at a position, overridden ones
// included.
func (s *server) references(ctx context.Context, p positionParams) (any, error) {
	q, err := s.ask(ctx, p)
	if err != nil || q == nil {
		return nil, err
	}
	out := s.fieldLocations(q.root, q.field)
	texts := s.newTexts()
	for _, c := range q.clusters { // fields that CUE computes
		for t := q.treeIn(c); t != nil && t.Pos.IsValid(); t = t.Shadows {
			file := q.checker.path(t.Pos.File)
			l := location{texts.uri(file), texts.rangeOf(file, t.Pos)}
			if !slices.ContainsFunc(out, func(o location) bool { return o.URI == l.URI && o.Range.Start.Line == l.Range.Start.Line }) {
				out = append(out, l)
			}
		}
	}
	slices.SortFunc(out, func(a, b location) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	return out, nil
}

// treeIn returns the value of a release in a cluster; nil for other fields, and for maps,
// whose fields have separate lines.
func (q *question) treeIn(c *fleet.Cluster) *fleet.Tree {
	if !isValue(q.field) {
		return nil
	}
	r := c.Release(q.field[1])
	if r == nil {
		return nil
	}
	if t := r.Values.At(q.field[valuesDepth:]...); t != nil && !t.IsMap() {
		return t
	}
	return nil
}

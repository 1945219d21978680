package lsp

import (
	"cmp"
	"context"
	"fmt"
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
	cluster, r := q.releaseIn(groups[0].clusters[0])
	if cluster == nil || q.fleet.ChartOf(r) == nil {
		return out, nil
	}
	ch := q.fleet.ChartOf(r)
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

// releaseIn returns a cluster of the snapshot and the release of the field in it.
func (q *question) releaseIn(id string) (*fleet.Cluster, *fleet.Release) {
	for _, c := range q.clusters {
		if c.ID == id {
			return c, c.Release(q.field[1])
		}
	}
	return nil, nil
}

// winners returns the positions of the effective lines of the field in the clusters of the
// layer. The line that is effective in most clusters comes first.
func (q *question) winners(ctx context.Context) ([]diag.Pos, error) {
	count := map[diag.Pos]int{}
	clusters := q.below(q.scope())
	for _, c := range clusters {
		for _, at := range q.setIn(c) {
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
	var out []diag.Pos
	for at := range count {
		out = append(out, at)
	}
	slices.SortFunc(out, func(a, b diag.Pos) int { return cmp.Or(cmp.Compare(count[b], count[a]), a.Compare(b)) })
	return out, nil
}

// setIn returns the position of the line that sets the field in a cluster. For a release, it
// returns the position of the release.
func (q *question) setIn(c *fleet.Cluster) []diag.Pos {
	if len(q.field) < 2 || q.field[0] != "releases" {
		return nil
	}
	r := c.Release(q.field[1])
	switch {
	case r == nil:
		return nil
	case len(q.field) == 2:
		return []diag.Pos{r.Pos}
	case isValue(q.field):
		if t := r.Values.At(q.field[valuesDepth:]...); t != nil && t.Pos.IsValid() {
			return []diag.Pos{t.Pos}
		}
	}
	return nil
}

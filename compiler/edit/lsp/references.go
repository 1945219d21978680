package lsp

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

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

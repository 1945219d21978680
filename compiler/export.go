package compiler

import (
	"context"
	"iter"

	"github.com/fleetc/fleetc/compiler/bundle"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/export"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/gitops"
	"github.com/fleetc/fleetc/compiler/ordered"
)

// Exports compiles the clusters as Bundles does, and yields what is to be written
// of each for a layout. A Secret whose values could be read there is a fault,
// unless its release allows it.
func (f *Fleet) Exports(ctx context.Context, layout fleet.Layout) iter.Seq2[*fleet.Bundle, error] {
	return f.ExportsOf(ctx, layout, f.Clusters, nil)
}

// ExportsOf is [Fleet.Exports] for some of the fleet's clusters, in their order.
// Before a bundle is yielded, take gets it, unless that is nil: for several bundles
// at once, and in any order. Its error is yielded beside the bundle.
func (f *Fleet) ExportsOf(ctx context.Context, layout fleet.Layout, clusters []*fleet.Cluster, take func(*fleet.Bundle) error) iter.Seq2[*fleet.Bundle, error] {
	return ordered.Map(ctx, f.jobs, len(clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := f.export(ctx, clusters[i], layout)
		if err == nil && take != nil {
			err = diag.In(b.Cluster.ID, take(b))
		}
		return b, err
	})
}

// export compiles one cluster and lays it out.
func (f *Fleet) export(ctx context.Context, c *fleet.Cluster, layout fleet.Layout) (*fleet.Bundle, error) {
	b, err := f.compile(ctx, c)
	if err == nil {
		b, err = f.lay(b, layout)
	}
	return b, diag.In(c.ID, err)
}

// lay lays a bundle out, when nothing in it is secret.
func (f *Fleet) lay(b *fleet.Bundle, layout fleet.Layout) (*fleet.Bundle, error) {
	l := gitops.Layouter{Fleet: f.Module, Names: export.FileNames, Encode: bundle.Encode}
	laid, err := l.Lay(b, layout)
	var faults diag.List
	faults.Add(gitops.Secrets(b, layout))
	faults.Add(err)
	return laid, faults.Err()
}

package compiler

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/links"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/deliver/export/gitops"
	"github.com/fleetc/fleetc/compiler/stage/bundle"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/patch"
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

// A VettedCluster is what was found out about a cluster that renders.
type VettedCluster struct {
	Objects int               // how many it has
	Rules   []fleet.RuleCheck // of rules that must hold somewhere, for [Compiler.CheckRules]
}

// Vetted compiles the clusters as Bundles does, and yields a fault when
// [Fleet.Exports] would refuse one of the layouts in which the cluster is exported:
// those that the cluster says, see [fleet.GitOps], or the given one instead. What was
// found out stands beside the faults of checks.
func (f *Fleet) Vetted(ctx context.Context, layout fleet.Layout) iter.Seq2[*VettedCluster, error] {
	return ordered.Map(ctx, f.jobs, len(f.Clusters), func(ctx context.Context, i int) (*VettedCluster, error) {
		c := f.Clusters[i]
		b, err := f.assemble(ctx, c)
		var faults diag.List
		faults.Add(err)
		var out *VettedCluster
		if b != nil {
			faults.Add(f.checkLayouts(b, layout))
			out = &VettedCluster{Objects: len(b.Objects), Rules: patch.RuleChecks(c, b.Objects, f.known[c.ID])}
		}
		if err := faults.Err(); err != nil {
			return out, inCluster(c, err)
		}
		f.noteRendered(c)
		return out, nil
	})
}

// checkLayouts returns what exports of a bundle refuse: in the given layout, or in
// those of the cluster.
func (f *Fleet) checkLayouts(b *fleet.Bundle, layout fleet.Layout) error {
	layouts := b.Cluster.GitOps.Layouts
	if layout != "" {
		layouts = []fleet.Layout{layout}
	}
	var faults diag.List
	for _, l := range layouts {
		_, err := f.lay(b, l)
		for _, d := range diag.All(err) {
			said := *d
			if layout == "" {
				said.Hint += fmt.Sprintf("; for a cluster that is not exported in the layout %s, see gitops.layouts", l)
			}
			faults.Add(&said)
		}
	}
	return faults.Err()
}

// export compiles one cluster and lays it out.
func (f *Fleet) export(ctx context.Context, c *fleet.Cluster, layout fleet.Layout) (*fleet.Bundle, error) {
	b, err := f.compile(ctx, c)
	if err == nil {
		b, err = f.lay(b, layout)
	}
	return b, inCluster(c, err)
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

// CheckOutput returns a fault when exports must not be written to a directory: one in
// .git, or among the files of the fleet.
func (c *Compiler) CheckOutput(dir string) error {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	real := resolvedAbove(abs)
	refuse := func(why string) error {
		return &diag.Diag{Msg: diag.Visible(dir, diag.MaxText) + " " + why, Hint: "export to another directory"}
	}
	if links.IsGit(filepath.ToSlash(real)) {
		return refuse("is in .git")
	}
	for _, own := range []string{"cue.mod", "environments"} {
		if below, err := filepath.Rel(filepath.Join(root, own), real); err == nil && filepath.IsLocal(below) {
			return refuse("is among the files of the fleet")
		}
	}
	return nil
}

// resolvedAbove returns an absolute path with its links resolved, as far as it exists.
func resolvedAbove(abs string) string {
	real, err := filepath.EvalSymlinks(abs)
	if err == nil || abs == filepath.Dir(abs) {
		return cmp.Or(real, abs)
	}
	return filepath.Join(resolvedAbove(filepath.Dir(abs)), filepath.Base(abs))
}

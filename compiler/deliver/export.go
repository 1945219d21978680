package deliver

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler"
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
func Exports(ctx context.Context, f *compiler.Fleet, layout fleet.Layout) iter.Seq2[*fleet.Bundle, error] {
	return ExportsOf(ctx, f, layout, f.Clusters, nil)
}

// ExportsOf is [Fleet.Exports] for some of the fleet's clusters, in their order.
// Before a bundle is yielded, take gets it, unless that is nil: for several bundles
// at once, and in any order. Its error is yielded beside the bundle.
func ExportsOf(ctx context.Context, f *compiler.Fleet, layout fleet.Layout, clusters []*fleet.Cluster, take func(*fleet.Bundle) error) iter.Seq2[*fleet.Bundle, error] {
	return ordered.Map(ctx, f.Parallel, len(clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := exportCluster(ctx, f, clusters[i], layout)
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

// Vet compiles the clusters and yields the faults of checks, and those for which
// [Exports] would refuse a layout in which the cluster is exported: the given layout, or
// those of [fleet.GitOps] when it is empty. It yields a result beside faults of checks.
func Vet(ctx context.Context, f *compiler.Fleet, layout fleet.Layout) iter.Seq2[*VettedCluster, error] {
	return ordered.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (*VettedCluster, error) {
		c := f.Clusters[i]
		b, err := f.Assemble(ctx, c)
		var faults diag.List
		faults.Add(err)
		var out *VettedCluster
		if b != nil {
			faults.Add(checkLayouts(f, b, layout))
			out = &VettedCluster{Objects: len(b.Objects), Rules: append(b.Checks, patch.RuleChecks(c, b.Objects, f.KnownCRDs[c.ID])...)}
		}
		if err := faults.Err(); err != nil {
			return out, fleet.InCluster(c, err)
		}
		f.NoteRendered(c)
		return out, nil
	})
}

// checkLayouts returns what exports of a bundle refuse: in the given layout, or in
// those of the cluster.
func checkLayouts(f *compiler.Fleet, b *fleet.Bundle, layout fleet.Layout) error {
	layouts := b.Cluster.GitOps.Layouts
	if layout != "" {
		layouts = []fleet.Layout{layout}
	}
	var faults diag.List
	for _, l := range layouts {
		_, err := lay(f, b, l)
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
func exportCluster(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, layout fleet.Layout) (*fleet.Bundle, error) {
	b, err := f.Compile(ctx, c)
	if err == nil {
		b, err = lay(f, b, layout)
	}
	return b, fleet.InCluster(c, err)
}

// lay lays a bundle out, when nothing in it is secret.
func lay(f *compiler.Fleet, b *fleet.Bundle, layout fleet.Layout) (*fleet.Bundle, error) {
	l := gitops.Layouter{Fleet: f.Module, Names: export.FileNames, Encode: bundle.Encode}
	laid, err := l.Lay(b, layout)
	var faults diag.List
	faults.Add(gitops.Secrets(b, layout))
	faults.Add(err)
	return laid, faults.Err()
}

// CheckOutput returns a fault when exports must not be written to a directory: one in
// .git, or among the files of the fleet.
func CheckOutput(c *compiler.Compiler, dir string) error {
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
	// Some file systems ignore case, so that Environments is environments.
	for at := real; at != filepath.Dir(at); at = filepath.Dir(at) {
		own := strings.EqualFold(filepath.Base(at), "cue.mod") || strings.EqualFold(filepath.Base(at), "environments")
		if own && sameFile(filepath.Dir(at), root) {
			return refuse("is among the files of the fleet")
		}
	}
	return nil
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// resolvedAbove returns an absolute path with its links resolved, as far as it exists.
func resolvedAbove(abs string) string {
	real, err := filepath.EvalSymlinks(abs)
	if err == nil || abs == filepath.Dir(abs) {
		return cmp.Or(real, abs)
	}
	return filepath.Join(resolvedAbove(filepath.Dir(abs)), filepath.Base(abs))
}

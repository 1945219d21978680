package query

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// exportedState is the state of a fleet in an exportedState tree.
type exportedState struct {
	tree     *export.Tree
	clusters []string
}

func openTree(t *export.Tree) (*exportedState, error) {
	ids, err := t.ExportedClusters("name a directory that fleetc export wrote, or a commit as in git:main")
	return &exportedState{t, ids}, err
}

func (e *exportedState) ids() []string { return e.clusters }

func (e *exportedState) affected(_ context.Context, _ *compiler.Compiler, selected []string) ([]string, error) {
	return selected, nil
}

func (e *exportedState) load(_ context.Context, _ []string, now *compiler.Fleet) error {
	now.KeepLast(fleet.PlainLayout, func(cluster string) ([]fleet.Object, error) {
		objs, _ := e.tree.Objects(cluster) // the comparison reports errors
		return objs, nil
	})
	now.Exported = e.tree.Intact
	return nil
}

func (e *exportedState) current(ctx context.Context, now *compiler.Fleet, c *fleet.Cluster) (objs, hooks []fleet.Object, err error) {
	return deliver.Preview(ctx, now, c, e.tree.Layout(c.ID))
}

// state has neither the charts nor the hooks that an apply does not run, which a tree does
// not have.
func (e *exportedState) state(_ context.Context, cluster string, _ []fleet.Object) (RehearsalSide, error) {
	objs, err := e.tree.Objects(cluster)
	return RehearsalSide{Cluster: &fleet.Cluster{ID: cluster}, Objects: objs}, err
}

func (e *exportedState) close() {}

// committedState is the state of a fleet in a commit.
type committedState struct {
	compiler compiler.Compiler // of the files of the commit
	ref      string
	same     bool // whether the commit has the current files
	clusters []string
	fleet    *compiler.Fleet
	Faults   error  // of its evaluation
	remove   func() // removes the checked out files
}

// openCommit checks out a commit, unless it has the current files of the fleet.
func openCommit(ctx context.Context, c *compiler.Compiler, root, ref string) (*committedState, error) {
	f := &committedState{compiler: *c, ref: ref, remove: func() {}}
	f.compiler.Earlier = true
	changed, err := git.Changed(ctx, root, ref)
	if err != nil {
		return nil, err
	}
	if f.same = len(changed) == 0; f.same {
		f.clusters, err = load.ClusterIDs(root)
		return f, err
	}
	if f.compiler.Dir, f.remove, err = git.Checkout(ctx, root, ref); err != nil {
		return nil, err
	}
	if err = f.dropVendored(); err == nil {
		f.clusters, err = load.ClusterIDs(f.compiler.Dir)
	}
	if err != nil {
		f.remove()
		return nil, f.withRef(err)
	}
	return f, nil
}

// dropVendored removes the vendored copies of fleetc's packages, which an earlier fleetc
// may have written. Both states are compiled with the packages of this fleetc.
func (f *committedState) dropVendored() error {
	_, module, err := load.Root(f.compiler.Dir)
	if err != nil {
		return err
	}
	packages, err := load.VendoredPackages(module)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.compiler.Dir) // does not follow links out of the directory
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range packages {
		if err := root.RemoveAll(filepath.FromSlash(p.Dir)); err != nil {
			return fmt.Errorf("remove the copy of %s: %w", p.Dir, err)
		}
	}
	return nil
}

func (f *committedState) ids() []string { return f.clusters }

// affected includes the clusters that have faults in the commit.
func (f *committedState) affected(ctx context.Context, now *compiler.Compiler, selected []string) ([]string, error) {
	if f.same {
		return nil, now.Evaluate(ctx, load.PatternsOf(selected, f.clusters)).Faults
	}
	report, err := incremental.Affected(ctx, now, &f.compiler, selected...)
	return diag.Each(report.Affected, func(a incremental.AffectedCluster) string { return a.ID }), err
}

func (f *committedState) load(ctx context.Context, ids []string, now *compiler.Fleet) error {
	if len(ids) == 0 {
		return nil
	}
	f.compiler.ReuseFrom = now
	e := f.compiler.Evaluate(ctx, load.PatternsOf(ids, f.clusters))
	if e.Fleet == nil {
		return f.withRef(e.Faults)
	}
	f.fleet, f.Faults = f.compiler.LoadEvaluated(ctx, e)
	return ctx.Err()
}

func (f *committedState) current(ctx context.Context, now *compiler.Fleet, c *fleet.Cluster) (objs, hooks []fleet.Object, err error) {
	return now.CheckedObjects(ctx, c)
}

// state does not check the objects, since the change may be a fix of them.
func (f *committedState) state(ctx context.Context, cluster string, now []fleet.Object) (RehearsalSide, error) {
	i := slices.IndexFunc(f.fleet.Clusters, func(c *fleet.Cluster) bool { return c.ID == cluster })
	if i < 0 || !f.fleet.CanRender(f.fleet.Clusters[i]) {
		return RehearsalSide{}, f.withRef(fleet.FaultsOf(cluster, f.Faults))
	}
	rendered, err := f.fleet.Render(ctx, f.fleet.Clusters[i])
	if err != nil {
		return RehearsalSide{}, f.withRef(err)
	}
	objs, err := rendered.Objects(&f.fleet.Kinds, render.KeepFrom(func() ([]fleet.Object, error) { return now, nil }))
	return RehearsalSide{
		Cluster: f.fleet.Clusters[i], Objects: objs, Hooks: rendered.Hooks(), CRDs: f.fleet.KnownCRDs[cluster], Charts: f.fleet.Charts,
	}, f.withRef(err)
}

func (f *committedState) close() { f.remove() }

// withRef prefixes the file names of faults with the name of the commit.
func (f *committedState) withRef(err error) error {
	return git.RevisionFaults(f.compiler.Dir, f.ref, err)
}

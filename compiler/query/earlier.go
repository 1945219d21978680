package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/revision"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An exported is a fleet as it was exported.
type exported struct {
	tree     *export.Tree
	clusters []string
}

func openTree(t *export.Tree) (*exported, error) {
	info, err := os.Stat(t.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, &diag.Diag{
			At: []diag.Pos{{File: t.Dir}}, Msg: "no directory to compare with",
			Hint: "name one that fleetc export has written, or a commit as in git:main",
		}
	}
	ids, err := t.Clusters()
	return &exported{t, ids}, err
}

func (e *exported) ids() []string { return e.clusters }

func (e *exported) affected(_ context.Context, _ *compiler.Compiler, selected []string) ([]string, error) {
	return selected, nil
}

func (e *exported) load(_ context.Context, _ []string, now *compiler.Fleet) error {
	now.KeepLast(func(cluster string) ([]fleet.Object, error) {
		objs, _ := e.tree.Objects(cluster) // the comparison reports errors
		return objs, nil
	})
	return nil
}

func (e *exported) objects(_ context.Context, cluster string, _ []fleet.Object) ([]fleet.Object, error) {
	return e.tree.Objects(cluster)
}

func (e *exported) close() {}

// A committed is a fleet as it is in a commit.
type committed struct {
	compiler compiler.Compiler // of the files of the commit
	ref      string
	same     bool // whether all files are the same now
	clusters []string
	fleet    *compiler.Fleet
	Faults   error // of its evaluation
	remove   func()
}

// openCommit checks a commit out, unless it has the very files that the fleet
// has now.
func openCommit(ctx context.Context, c *compiler.Compiler, root, ref string) (*committed, error) {
	f := &committed{compiler: *c, ref: ref, remove: func() {}}
	f.compiler.Earlier = true
	changed, err := revision.Changed(ctx, root, ref)
	if err != nil {
		return nil, err
	}
	if f.same = len(changed) == 0; f.same {
		f.clusters, err = load.ClusterIDs(root)
		return f, err
	}
	if f.compiler.Dir, f.remove, err = revision.Checkout(ctx, root, ref); err != nil {
		return nil, err
	}
	if err = f.dropVendored(); err == nil {
		f.clusters, err = load.ClusterIDs(f.compiler.Dir)
	}
	if err != nil {
		f.remove()
		return nil, f.told(err)
	}
	return f, nil
}

// dropVendored removes the copies of the packages that fleetc carries: those of
// an earlier fleetc are not the ones that both sides are compiled with.
func (f *committed) dropVendored() error {
	_, module, err := load.Root(f.compiler.Dir)
	if err != nil {
		return err
	}
	packages, err := load.VendoredPackages(module)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.compiler.Dir) // links must not lead out of it
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

func (f *committed) ids() []string { return f.clusters }

// affected has those, too, of which the commit's faults leave it open.
func (f *committed) affected(ctx context.Context, now *compiler.Compiler, selected []string) ([]string, error) {
	if f.same {
		return nil, nil
	}
	report, err := incremental.Affected(ctx, now, &f.compiler, selected...)
	var ids []string
	for _, a := range report.Affected {
		ids = append(ids, a.ID)
	}
	return ids, err
}

func (f *committed) load(ctx context.Context, ids []string, now *compiler.Fleet) error {
	if len(ids) == 0 {
		return nil
	}
	f.compiler.ReuseFrom = now
	e := f.compiler.Evaluate(ctx, load.PatternsOf(ids, f.clusters))
	if e.Fleet == nil {
		return f.told(e.Faults)
	}
	f.fleet, f.Faults = f.compiler.LoadEvaluated(ctx, e)
	return ctx.Err()
}

// objects does not check the objects: what was wrong with them may be what has
// changed.
func (f *committed) objects(ctx context.Context, cluster string, now []fleet.Object) ([]fleet.Object, error) {
	i := slices.IndexFunc(f.fleet.Clusters, func(c *fleet.Cluster) bool { return c.ID == cluster })
	if i < 0 || !f.fleet.CanRender(f.fleet.Clusters[i]) {
		return nil, f.told(fleet.FaultsOf(cluster, f.Faults))
	}
	rendered, err := f.fleet.Render(ctx, f.fleet.Clusters[i])
	if err != nil {
		return nil, f.told(err)
	}
	objs, err := rendered.Objects(&f.fleet.Kinds, compiler.KeepFrom(func() ([]fleet.Object, error) { return now, nil }))
	return objs, f.told(err)
}

func (f *committed) close() { f.remove() }

// told returns the faults with their files as those of the commit.
func (f *committed) told(err error) error { return revision.Faults(f.compiler.Dir, f.ref, err) }

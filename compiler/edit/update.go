package edit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// An UpdateRequest says which chart moves to which version.
type UpdateRequest struct {
	Name    string // of the generated package, or of its chart
	Version string // range of versions, or a git ref; the newest stable version when empty
	In      string // layer whose clusters move; all clusters for which no layer says otherwise when empty
	DryRun  bool   // write nothing
}

// A ChartUpdate is what moving a chart to another version changes.
type ChartUpdate struct {
	Chart    chart.Resolution // the version that was asked for
	Package  load.Package     // as it was
	Files    []string         // that are written, sorted, relative to the fleet's root; empty when nothing changes
	Moves    []Move           // sorted by version before
	Faults   error            // that the fleet has now and had not before
	Rendered diff.Result      // what changes in the objects of the clusters
}

// A Move is clusters that go from one version of a chart to another.
type Move struct {
	From, To fleet.ChartRef
	Was, Is  string          // versions, of a chart in git those in its Chart.yaml
	Clusters []string        // IDs, sorted
	Values   []values.Change // of the chart
	Unknown  error           // why Values is not known: the version before cannot be had; nil when it is
}

// UpdateChart pins another version of a chart, moves the clusters of a layer or
// of the whole fleet to it, and says what that changes. The error is of what
// keeps it from being done; faults of the fleet with the new version do not.
func UpdateChart(ctx context.Context, c *compiler.Compiler, req UpdateRequest) (*ChartUpdate, error) {
	p, err := pinningOf(ctx, c, req)
	if err != nil {
		return nil, err
	}
	u := &ChartUpdate{Chart: p.versions[0], Package: p.pkg}
	before := c.Evaluate(ctx, nil)
	if before.Fleet == nil {
		return nil, before.Faults
	}
	if req.In == "" {
		p.keep()
	} else if err := p.in(req.In, before.All()); err != nil {
		return nil, err
	}
	after, err := p.write(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	if u.Files, err = p.changed(tree); err != nil || len(u.Files) == 0 {
		return u, err
	}
	if err := u.compare(ctx, p, before, after); err != nil || req.DryRun {
		return u, err
	}
	return u, p.commit(tree)
}

// packageOf finds the root of the fleet, and the package of the given name or of the
// chart of that name.
func findPinned(c *compiler.Compiler, name string) (root string, pkg load.Package, err error) {
	if root, _, err = load.Root(cmp.Or(c.Dir, ".")); err != nil {
		return "", pkg, err
	}
	packages, err := load.Packages(root)
	if err != nil {
		return "", pkg, err
	}
	pkg, err = findPackage(packages, name)
	return root, pkg, err
}

// pinningOf finds the package that a request names, and the version.
func pinningOf(ctx context.Context, c *compiler.Compiler, req UpdateRequest) (*pinning, error) {
	root, pkg, err := findPinned(c, req.Name)
	if err != nil {
		return nil, err
	}
	ref := pkg.Pins[0].Ref
	if ref.Path != "" {
		return nil, &diag.Diag{
			At: []diag.Pos{{File: pkg.File}}, Msg: "the chart is in this repository: its version is the one that is there",
			Hint: "run fleetc chart add ./" + ref.Path + " after changing it, which derives the types of its values again",
		}
	}
	p := &pinning{c: c, source: c.Source(root), root: root, pkg: pkg, edits: load.Edits{}}
	wanted := chart.Request{Ref: ref.Name, Repo: ref.Repo, Version: req.Version}
	if ref.Git.URL != "" {
		wanted = chart.Request{Ref: "git+" + ref.Git.URL + "//" + ref.Git.Path, Version: req.Version}
	}
	if wanted.Version == "" {
		found, err := p.source.Versions(ctx, ref)
		if err != nil {
			return nil, err
		}
		wanted.Version = found.Newest
	}
	resolved, err := p.source.Resolve(ctx, wanted)
	p.versions = []chart.Resolution{resolved}
	return p, err
}

// findPackage returns the package of the given name, or the one whose chart has
// it.
func findPackage(packages []load.Package, name string) (load.Package, error) {
	var of []load.Package
	var names []string
	for _, p := range packages {
		ref := p.Pins[0].Ref
		switch {
		case p.Name == name:
			return p, nil
		case slices.Contains([]string{ref.Name, path.Base(ref.Path), path.Base(ref.Git.Path)}, name):
			of = append(of, p)
		}
		names = append(names, p.Name)
	}
	if len(of) == 1 {
		return of[0], nil
	}
	msg := "no package below environments/charts pins a chart " + name
	if len(of) > 1 {
		msg, names = fmt.Sprintf("%d packages pin a chart %s", len(of), name), nil
		for _, p := range of {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return load.Package{}, &diag.Diag{Msg: msg, Hint: "run fleetc chart add, which writes one"}
	}
	return load.Package{}, &diag.Diag{Msg: msg, Hint: diag.OneOf(name, names)}
}

// in makes the version one of those of the package, and the layer choose it.
func (p *pinning) in(name string, f *fleet.Fleet) error {
	layer, err := load.FindLayer(p.root, name)
	if err != nil {
		return err
	}
	releases := map[string]bool{}
	for _, c := range f.Clusters {
		if dir := "environments/" + c.ID; dir == layer.Dir || strings.HasPrefix(dir, layer.Dir+"/") {
			for _, r := range p.uses(c) {
				releases[r.Name] = true
			}
		}
	}
	if len(releases) == 0 {
		return &diag.Diag{
			At: []diag.Pos{{File: layer.Dir}}, Msg: "no cluster of this layer has a release of the package " + p.pkg.Name,
			Hint: "name another layer with --in",
		}
	}
	wanted := p.versions[0]
	for _, release := range slices.Sorted(maps.Keys(releases)) {
		if _, err := load.SetVersion(p.root, layer, release, wanted.Version, p.edits); err != nil {
			return err
		}
	}
	p.keep()
	// The default stays what it is.
	i := slices.IndexFunc(p.versions, func(r chart.Resolution) bool { return r.Version == p.pkg.Pins[0].Version })
	if i > 0 {
		first := p.versions[i]
		p.versions = slices.Insert(slices.Delete(p.versions, i, i+1), 0, first)
		slices.SortStableFunc(p.versions[1:], func(a, b chart.Resolution) int { return compareVersions(b.Version, a.Version) })
	}
	return nil
}

// compare finds what changes between the fleet as it is and as it will be.
func (u *ChartUpdate) compare(ctx context.Context, p *pinning, before, after compiler.Evaluation) error {
	if after.Fleet == nil {
		u.Faults = after.Faults
		return nil
	}
	old, faultsBefore := p.c.LoadEvaluated(ctx, before)
	next, faultsAfter := p.c.LoadEvaluated(ctx, after)
	for _, f := range []*compiler.Fleet{old, next} {
		if f != nil {
			f.KeepSame()
		}
	}
	faults := newFaults(faultsBefore, faultsAfter)
	moved := p.moved(before.All(), after.All())
	u.moves(ctx, p, moved, old, next)
	var err error
	u.Rendered, err = rendered(ctx, moved, old, next)
	faults.Add(err)
	u.Faults = faults.Err()
	return ctx.Err()
}

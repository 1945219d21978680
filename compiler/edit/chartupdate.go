package edit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// ChartUpdateRequest selects a chart and its new version.
type ChartUpdateRequest struct {
	Name    string // of the generated package, or of its chart
	Version string // range of versions, or a git ref; the newest stable version when empty
	In      string // layer whose clusters are updated; if empty, all clusters whose layers do not select a version
	DryRun  bool   // write nothing

	Live *query.DryRunAccess // adds findings of running clusters, see [query.DryRuns]; nil for none
}

// ChartUpdate is the changes of an update of a chart.
type ChartUpdate struct {
	Chart   chart.Resolution // the new version
	Package load.Package     // before the update
	Files   []string         // changed files, sorted, relative to the fleet's root
	Written bool             // whether the files were written
	Moves   []Move           // sorted by old version
	Faulty  bool             // whether the fleet had faults before; Moves lacks clusters with faults
	Comparison
}

// Move is the clusters that change from one version of a chart to another.
type Move struct {
	From       fleet.ChartRef  `json:"-"`
	To         fleet.ChartRef  `json:"-"`
	OldVersion string          `json:"from"` // for a chart in git, the version in Chart.yaml
	NewVersion string          `json:"to"`
	Clusters   []string        `json:"clusters"`          // IDs, sorted
	Values     []values.Change `json:"values"`            // of the chart; never nil
	Concern    []values.Change `json:"-"`                 // those of Values that matter for the releases of the clusters
	Unknown    string          `json:"unknown,omitempty"` // why Values could not be compared: a version cannot be read
}

// UpdateChart pins another version of a chart, updates the clusters of a layer or of the
// whole fleet to it, and returns the changes. Faults of the fleet with the new version are
// in the result and do not prevent the update.
func UpdateChart(ctx context.Context, c *compiler.Compiler, req ChartUpdateRequest) (*ChartUpdate, error) {
	p, err := pinningOf(ctx, c, req)
	if err != nil {
		return nil, err
	}
	before := c.Evaluate(ctx, nil)
	u := &ChartUpdate{Chart: p.versions[0], Package: p.pkg, Faulty: before.Faults != nil}
	if before.Fleet == nil {
		return nil, before.Faults
	}
	if req.In == "" {
		p.addExisting()
	} else {
		if err := p.selectIn(req.In, before.All()); err != nil {
			return nil, err
		}
		p.addBesideDefault()
	}
	after, err := writePins(ctx, p)
	if err != nil {
		return nil, err
	}
	if u.Files, err = changedFiles(p.root, p.edits); err != nil || len(u.Files) == 0 {
		return u, err
	}
	if err := u.compare(ctx, p, req, before, after); err != nil || req.DryRun {
		return u, err
	}
	u.Written = true
	return u, p.commit()
}

// findPinned finds the root of the fleet, and the package with the given name or with a
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

// pinningOf finds the package and the version of a request.
func pinningOf(ctx context.Context, c *compiler.Compiler, req ChartUpdateRequest) (*pinning, error) {
	root, pkg, err := findPinned(c, req.Name)
	if err != nil {
		return nil, err
	}
	ref := pkg.Pins[0].Ref
	if ref.Path != "" {
		return nil, &diag.Diag{
			Code: diag.CodeNoVersion,
			At:   []diag.Pos{{File: pkg.File}}, Msg: "the chart is in this repository and has no other versions",
			Hint: "run fleetc chart add ./" + ref.Path + " after changing it, which updates the types of its values",
		}
	}
	p := &pinning{c: c, source: c.Source(root), root: root, pkg: pkg, edits: load.Edits{}}
	wanted := requestOf(ref, req.Version)
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

// requestOf returns the request for a version of the chart of a remote reference.
func requestOf(ref fleet.ChartRef, version string) chart.Request {
	if ref.Git.URL != "" {
		return chart.Request{Ref: "git+" + ref.Git.URL + "//" + ref.Git.Path, Version: version}
	}
	return chart.Request{Ref: ref.Name, Repo: ref.Repo, Version: version}
}

// findPackage returns the package with the given name, or with a chart of that name.
func findPackage(packages []load.Package, name string) (load.Package, error) {
	var pinning []load.Package // packages that pin a chart of the name
	var names []string
	for _, p := range packages {
		ref := p.Pins[0].Ref
		switch {
		case p.Name == name:
			return p, nil
		case slices.Contains([]string{ref.Name, path.Base(ref.Path), path.Base(ref.Git.Path)}, name):
			pinning = append(pinning, p)
		}
		names = append(names, p.Name)
	}
	if len(pinning) == 1 {
		return pinning[0], nil
	}
	if len(pinning) > 1 {
		names = nil
		for _, p := range pinning {
			names = append(names, p.Name)
		}
		return load.Package{}, &diag.Diag{Code: diag.CodeSeveralMatches, Msg: fmt.Sprintf("%d packages pin a chart %s", len(pinning), name), Hint: diag.OneOf(name, names)}
	}
	none := &diag.Diag{Code: diag.CodeNoPackage, Msg: "no package below environments/charts pins a chart " + name, Hint: "run fleetc chart add, which writes one"}
	if len(names) > 0 {
		none.Hint = diag.OneOf(name, names)
	}
	return load.Package{}, none
}

// selectIn selects the new version in a layer.
func (p *pinning) selectIn(name string, f *fleet.Fleet) error {
	layer, err := load.FindLayer(p.root, name)
	if err != nil {
		return err
	}
	wanted := p.versions[0]
	isReplaced := func(r *fleet.Release) bool {
		return slices.ContainsFunc(p.pkg.Pins, func(pin load.Pin) bool {
			return pin.Ref == r.Chart && pin.Version == wanted.Version && pin.Ref.Digest != wanted.Ref.Digest
		})
	}
	users := map[string]map[string]bool{} // clusters of the layer by the name of a release of the package
	for _, c := range f.Clusters {
		isIn := fleet.IsWithin("environments/"+c.ID, layer.Dir)
		for _, r := range p.uses(c) {
			if isIn {
				if users[r.Name] == nil {
					users[r.Name] = map[string]bool{}
				}
				users[r.Name][c.ID] = true
			} else if isReplaced(r) {
				return &diag.Diag{
					Code: diag.CodeNoVersion, At: []diag.Pos{{File: p.pkg.File}},
					Msg:  "both charts have the version " + wanted.Version + ", and " + c.ID + ", which is not in the layer, uses the pinned one",
					Hint: "write another version into Chart.yaml of the new one, or leave out --in to update all clusters",
				}
			}
		}
	}
	if len(users) == 0 {
		return &diag.Diag{
			Code: diag.CodeNothingToUpdate,
			At:   []diag.Pos{{File: layer.Dir}}, Msg: "no cluster of this layer has a release of the package " + p.pkg.Name,
			Hint: "name another layer with --in",
		}
	}
	all, err := load.Layers(p.root)
	if err != nil {
		return err
	}
	for _, release := range slices.Sorted(maps.Keys(users)) {
		for _, l := range topmostLayers(all, f, layer, func(c *fleet.Cluster) bool { return users[release][c.ID] }) {
			if _, err := load.SetVersion(p.root, l, release, wanted.Version, p.edits); err != nil {
				return err
			}
		}
	}
	p.selections = append(p.selections, selection{f, wanted.Version, users})
	return nil
}

// addBesideDefault adds the existing versions of the package, and keeps its default.
func (p *pinning) addBesideDefault() {
	p.addExisting()
	i := slices.IndexFunc(p.versions, func(r chart.Resolution) bool { return r.Version == p.pkg.Pins[0].Version })
	if i > 0 {
		first := p.versions[i]
		p.versions = slices.Insert(slices.Delete(p.versions, i, i+1), 0, first)
		slices.SortStableFunc(p.versions[1:], func(a, b chart.Resolution) int { return compareVersions(b.Version, a.Version) })
	}
}

// compare compares the fleet before and after the update.
func (u *ChartUpdate) compare(ctx context.Context, p *pinning, req ChartUpdateRequest, before, after compiler.Evaluation) error {
	if after.Fleet == nil {
		u.Faults = after.Faults
		return nil
	}
	old, next := loadState(ctx, p.c, before), loadState(ctx, p.c, after)
	moved := p.moved(old.All, next.All)
	u.Moves = p.moves(ctx, moved, old.Fleet, next.Fleet)
	u.Comparison = compareStates(ctx, old, next, moved, nil)
	if req.Live == nil {
		return ctx.Err()
	}
	changed := query.ChangedReleases{}
	for _, g := range u.Rendered.Groups {
		for _, id := range g.Clusters {
			changed.Add(id, g.Changes)
		}
	}
	var err error
	u.Findings, err = query.DryRuns(ctx, next.Fleet, changed, *req.Live, u.Findings)
	return err
}

// loadState loads a fleet that could be evaluated, to compare it.
func loadState(ctx context.Context, c *compiler.Compiler, e compiler.Evaluation) State {
	f, faults := c.LoadEvaluated(ctx, e)
	f.KeepSame()
	return State{f, e.All(), faults}
}

// MarshalJSON encodes the changes for the output of a command.
func (u *ChartUpdate) MarshalJSON() ([]byte, error) {
	return diag.MarshalJSON(struct {
		Chart    string         `json:"chart"`
		Version  string         `json:"version"`
		Digest   string         `json:"digest"`
		Written  bool           `json:"written"`
		Files    []string       `json:"files"`
		Moves    []Move         `json:"moves"`
		Faults   []diag.Fault   `json:"faults"`
		Findings []diff.Finding `json:"beforeYouMerge"`
		Rendered diff.Result    `json:"rendered"`
	}{
		u.Chart.Ref.Location(), u.Chart.Version, u.Chart.Ref.Digest, u.Written, append([]string{}, u.Files...), append([]Move{}, u.Moves...),
		diag.FaultsOf(u.Faults), append([]diff.Finding{}, u.Findings...), u.Rendered,
	})
}

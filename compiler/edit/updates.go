package edit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An UpdateGroupsRequest selects groups of updates.
type UpdateGroupsRequest struct {
	Groups []string // names; all groups if empty
	Date   string   // today, as in 2026-12-31, for updates that are left out until a day; they stay left out if empty
}

// Updates are the newer versions of a fleet, in groups. Its JSON field names are stable.
type Updates struct {
	Written  []string       `json:"written"`  // files that Write has changed, sorted
	Groups   []*UpdateGroup `json:"groups"`   // the selected ones, sorted by name
	Branches []PushedGroup  `json:"branches"` // that Push has found or made
	Others   []string       `json:"others"`   // names of the other groups, sorted
	LeftOut  []LeftOut      `json:"leftOut"`  // sorted

	Dir        string `json:"-"`
	Limit      int    `json:"-"` // of branches; 0 for none
	Incomplete bool   `json:"-"` // whether versions of a chart or image could not be read, so that groups may be missing

	updateFinder
}

// An UpdateGroup is updates that belong together.
type UpdateGroup struct {
	Name    string
	Updates []Update            // sorted
	Files   []string            // changed files, sorted, relative to the fleet's root
	Values  []ChartValueChanges // changed values of charts
	Comparison
	Notes    []ReleaseNotes // release notes, sorted by name
	Failed   error          // why some or all updates cannot be made
	BodyFile string         // text of the pull request; empty if the caller has not written it

	Before map[string][]byte // contents of Files before the update
	After  load.Edits        // contents of Files after the update
}

// Ready reports whether the group changes files, and all of its updates can be made.
func (g *UpdateGroup) Ready() bool { return g.Failed == nil && len(g.Files) > 0 }

// Clusters returns the IDs of the clusters with an update, sorted.
func (g *UpdateGroup) Clusters() []string {
	return diag.Distinct(slices.Concat(diag.Each(g.Updates, func(u Update) []string { return u.Clusters })...))
}

// FindUpdates finds newer versions, makes the groups and compiles the fleet with each selected group.
// It writes nothing. The fleet must have no faults. The error holds the faults of charts and
// images whose versions cannot be read; the other updates are beside it. each is called with
// the progress.
func FindUpdates(ctx context.Context, c *compiler.Compiler, client *chart.RegistryImages, req UpdateGroupsRequest, each func()) (*Updates, error) {
	f, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	f.KeepSame()
	out := &Updates{Written: []string{}, Groups: []*UpdateGroup{}, Branches: []PushedGroup{}, Others: []string{}, Dir: f.Dir, updateFinder: updateFinder{
		c: c, client: client, before: State{Fleet: f, All: f.Fleet}, each: each,
		charts: &ChartEditor{Compiler: c, Source: c.Source(f.Dir), Before: f}, date: req.Date,
	}}
	out.config = configOf(f.Fleet)
	out.Limit = out.config.MaxBranches
	var faults diag.List
	found, err := out.find(ctx)
	if faults.Add(err); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	groups, err := out.group(found)
	if err != nil {
		return nil, err
	}
	out.LeftOut, out.Incomplete = append([]LeftOut{}, out.leftOut...), len(faults) > 0
	if err := out.choose(groups, req.Groups); err != nil {
		return nil, cmp.Or(faults.Err(), err)
	}
	for _, g := range out.Groups {
		if err := out.make(ctx, g); err != nil {
			return nil, err
		}
	}
	return out, faults.Err()
}

// configOf returns the configuration of updates, which is the same in all clusters.
func configOf(f *fleet.Fleet) *fleet.Updates {
	for _, c := range f.Clusters {
		if c.Updates != nil {
			return c.Updates
		}
	}
	return &fleet.Updates{}
}

// choose sets the selected groups.
func (u *Updates) choose(groups []*UpdateGroup, names []string) error {
	var all []string
	for _, g := range groups {
		all = append(all, g.Name)
		if len(names) == 0 || slices.Contains(names, g.Name) {
			u.Groups = append(u.Groups, g)
		} else {
			u.Others = append(u.Others, g.Name)
		}
	}
	for _, name := range names {
		if slices.Contains(all, name) {
			continue
		}
		d := &diag.Diag{Code: diag.CodeNoMatch, Msg: "there is no group " + diag.Visible(name, diag.MaxText) + " with updates", Hint: diag.OneOf(name, all)}
		if len(all) == 0 {
			d.Hint = "leave out --group: there are no updates"
		}
		return d
	}
	return nil
}

// make finds the edits of a group, compiles the fleet with them and compares it. An error
// of the updates is in the group.
func (f *updateFinder) make(ctx context.Context, g *UpdateGroup) error {
	edits, pinned, err := f.edits(ctx, g.Updates)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if g.Failed = err; err != nil || len(edits) == 0 {
		return nil
	}
	if g.Before, err = ReadFiles(f.before.Dir, edits); err != nil {
		return err
	}
	g.After = load.Edits{}
	for name, text := range edits {
		if string(g.Before[name]) != string(text) {
			g.After[name] = text
		}
	}
	g.Files = slices.Sorted(maps.Keys(g.After))
	return f.compare(ctx, g, pinned)
}

// compare compiles the fleet with the edits of a group, and compares its clusters.
func (f *updateFinder) compare(ctx context.Context, g *UpdateGroup, pinned *PinnedCharts) (err error) {
	after, remove := compileChange(ctx, f.c, f.before.Fleet, g.After)
	defer func() { err = errors.Join(err, remove()) }()
	if after.Fleet == nil {
		g.Failed = after.Faults
		return ctx.Err()
	}
	var stay diag.List
	for _, u := range g.Updates {
		if u.chart != nil {
			stay.Add(pinned.Stays(after, *u.chart, u.Clusters))
		}
	}
	g.Failed = stay.Err()
	moves := pinned.Moves(ctx, f.before, after)
	for _, m := range moves {
		g.Values = append(g.Values, changesOf(m))
	}
	clusters := g.Clusters()
	changed := slices.DeleteFunc(inBoth(f.before.All, after.All), func(m movedCluster) bool { return !slices.Contains(clusters, m.before.ID) })
	g.Comparison = compareStates(ctx, f.before, after, changed, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.Rendered.Rehearsed, g.Rendered.Findings = true, g.Findings
	if g.Name != "" { // not for all groups together
		g.Notes = f.notes(ctx, g, moves, after)
	}
	return ctx.Err()
}

// edits returns the edits of updates together.
func (f *updateFinder) edits(ctx context.Context, updates []Update) (load.Edits, *PinnedCharts, error) {
	var pins []ChartPin
	var targets []imageTarget
	for _, u := range updates {
		if u.chart != nil {
			pins = append(pins, *u.chart)
		} else {
			targets = append(targets, *u.image)
		}
	}
	edits := load.Edits{}
	if len(targets) > 0 {
		updated, err := f.images.edit(ctx, targets)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(edits, updated.edits)
	}
	pinned, err := f.charts.Pin(ctx, pins, edits)
	return edits, pinned, err
}

// Write writes the files of all groups together. It compiles the fleet with them first, and
// writes nothing if a group is not ready or the fleet would have new faults. Each file is
// replaced at once.
func (u *Updates) Write(ctx context.Context) error {
	all := &UpdateGroup{}
	var faults diag.List
	for _, g := range u.Groups {
		all.Updates = append(all.Updates, g.Updates...)
		faults.Add(g.Failed)
		faults.Add(g.Faults)
	}
	if len(faults) > 0 {
		return nil // the caller reports them by group
	}
	if len(u.Groups) == 1 {
		all = u.Groups[0]
	} else if err := u.make(ctx, all); err != nil {
		return err
	}
	faults.Add(all.Failed)
	faults.Add(all.Faults)
	if len(faults) > 0 {
		return append(diag.List{{Code: diag.CodeUpdateEffect, Msg: "the groups do not compile together, and nothing was written", Hint: "update one of them with --group"}}, faults...).Err()
	}
	if err := writeFiles(u.Dir, all.Before, all.After); err != nil {
		return err
	}
	u.Written = append(u.Written, all.Files...)
	return nil
}

// An updateFinder finds updates.
type updateFinder struct {
	c       *compiler.Compiler
	client  *chart.RegistryImages
	config  *fleet.Updates
	before  State
	charts  *ChartEditor
	images  *imageUpdater
	date    string
	each    func()
	leftOut []LeftOut
}

// MarshalJSON encodes the group for the output of a command.
func (g *UpdateGroup) MarshalJSON() ([]byte, error) {
	var faults diag.List
	faults.Add(g.Failed)
	faults.Add(g.Faults)
	return diag.MarshalJSON(struct {
		Name     string              `json:"name"`
		Title    string              `json:"title"`
		Updates  []Update            `json:"updates"`
		Files    []string            `json:"files"`
		Faults   []diag.Fault        `json:"faults"` // new faults of the fleet, and why updates cannot be made
		Values   []ChartValueChanges `json:"values"`
		Notes    []ReleaseNotes      `json:"notes"`
		Findings []diff.Finding      `json:"beforeYouMerge"`
		Rendered diff.Result         `json:"rendered"`
		BodyFile string              `json:"bodyFile,omitempty"`
	}{
		g.Name, g.Title(), g.Updates, append([]string{}, g.Files...), diag.FaultsOf(faults.Err()), append([]ChartValueChanges{}, g.Values...),
		append([]ReleaseNotes{}, g.Notes...), append([]diff.Finding{}, g.Findings...), g.Rendered, g.BodyFile,
	})
}

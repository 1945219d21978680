package incremental

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/results"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// This file tells what of a cluster is kept on disk, and why the rest is not. For
// that, there are notes of what clusters were made of last.

// A CacheState says what becomes of a cluster, or of a release, when it is
// compiled next.
type CacheState string

// The states.
const (
	Kept     CacheState = "kept"     // it is not compiled or rendered again
	Stale    CacheState = "changed"  // it is, since what it is made of has changed
	NeverWas CacheState = "new"      // it is, since it is not known
	Always   CacheState = "always"   // it is each time
	Gone     CacheState = "gone"     // it is, since what was kept is not there any more
	NoChart  CacheState = "no chart" // it is no chart's, and made each time
)

// A CacheReport says what of a cluster is kept.
type CacheReport struct {
	Cluster  string
	State    CacheState    // of the cluster as a whole, in an export to a directory
	Build    bool          // another build of fleetc exported it last
	Files    []FileChange  // that differ from those that it was exported from last, sorted by name
	Releases []CacheReason // sorted by name
}

// A FileChange is a file that is not what it was.
type FileChange struct {
	Name   string // relative to the fleet's root
	Change ClusterChange
}

// A CacheReason says whether what a release renders to is kept.
type CacheReason struct {
	Release string
	State   CacheState
	Parts   []string // what has changed: chart, namespace, values.image.tag
	Why     string   // why it is rendered each time
}

// A clusterNote is what a cluster was exported from last.
type clusterNote struct {
	Build  string `json:"build"`
	Inputs Inputs `json:"inputs"` // and what is outside of the fleet
}

// note notes what a cluster was exported from.
func (s *UpToDate) note(c *fleet.Cluster, from Inputs) {
	if data, err := json.Marshal(clusterNote{s.results.Build, from}); err == nil {
		s.results.Cache.Put(compiler.NoteKey("export", s.layered.fleet.Root, c.ID), data)
	}
}

// WhyCached says what of the one cluster that the pattern selects is kept, and what
// has changed of the rest. It renders what is not kept, and keeps nothing.
func WhyCached(ctx context.Context, c *compiler.Compiler, pattern string) (*CacheReport, error) {
	reader := *c
	reader.KeepNothing = true
	c = &reader
	l, err := readLayers(c, []string{pattern})
	defer l.close()
	if err != nil {
		return nil, err
	}
	if n := len(l.fleet.Clusters); n != 1 {
		return nil, &diag.Diag{Msg: pattern + " selects several clusters", Hint: "name one"}
	}
	f, err := c.LoadEvaluated(ctx, c.Unify(ctx, l.fleet, nil))
	if err != nil {
		return nil, err
	}
	if f.Results.Cache.Dir == "" {
		return nil, &diag.Diag{Msg: "nothing is kept: there is no cache", Hint: "leave --no-cache out"}
	}
	cluster := f.Clusters[0]
	report := &CacheReport{Cluster: cluster.ID}
	if err := l.addSources(ctx, f.Clusters); err != nil {
		return nil, err
	}
	whole(f, report, l.all(cluster.ID))
	report.Releases, err = reasons(ctx, f, cluster)
	return report, err
}

// whole says what becomes of the cluster as a whole.
func whole(f *compiler.Fleet, report *CacheReport, now Inputs) {
	report.State = NeverWas
	data, ok := f.Results.Cache.Get(compiler.NoteKey("export", f.Dir, report.Cluster))
	var last clusterNote
	if !ok || json.Unmarshal(data, &last) != nil {
		return
	}
	report.Build = last.Build != f.Results.Build
	for _, name := range load.UnionIDs(now.names(), last.Inputs.names()) {
		before, was := last.Inputs[name]
		after, is := now[name]
		switch {
		case !was:
			report.Files = append(report.Files, FileChange{name, Added})
		case !is:
			report.Files = append(report.Files, FileChange{name, Removed})
		case before != after:
			report.Files = append(report.Files, FileChange{name, Changed})
		}
	}
	if report.State = Kept; report.Build || len(report.Files) > 0 {
		report.State = Stale
	}
}

// reasons says of each release of a cluster what becomes of it.
func reasons(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster) ([]CacheReason, error) {
	var mu sync.Mutex
	kept := map[string]bool{}
	f.OnCacheLookup = func(r *fleet.Release, hit bool) {
		mu.Lock()
		kept[r.Name] = hit
		mu.Unlock()
	}
	all, err := f.Render(ctx, c)
	if err != nil {
		return nil, diag.In(c.ID, err)
	}
	var note compiler.ReleaseNote
	if data, ok := f.Results.Cache.Get(compiler.NoteKey("releases", f.Dir, c.ID)); ok && json.Unmarshal(data, &note) != nil {
		note = nil
	}
	var out []CacheReason
	var faults diag.List
	for i, r := range all.Releases {
		faults.Add(diag.In(c.ID, all.Renderings[i].Err))
		out = append(out, reason(f, c, r, all.Renderings[i], kept[r.Name], note[r.Name]))
	}
	slices.SortFunc(out, func(a, b CacheReason) int { return strings.Compare(a.Release, b.Release) })
	return out, faults.Err()
}

// reason says what becomes of a release, of which last is what it was rendered
// from.
func reason(f *compiler.Fleet, c *fleet.Cluster, r *fleet.Release, made compiler.Rendering, kept bool, last map[string]string) CacheReason {
	out := CacheReason{Release: r.Name}
	switch {
	case f.Charts[r.Chart].Chart == nil:
		out.State = NoChart
		return out
	case kept:
		out.State = Kept
		return out
	case len(made.Result.Nondeterministic) > 0:
		out.State, out.Why = Always, "the chart renders "+made.Result.Nondeterministic[0].ID+" differently every time"
		return out
	case made.Result.UsesClock:
		out.State, out.Why = Always, "the chart asks for the time"
		return out
	case !results.Cacheable(r, made.Result):
		out.State, out.Why = Always, "it has a Secret that can be read"
		return out
	case last == nil:
		out.State = NeverWas
		return out
	}
	now := f.KeyParts(c, r)
	for _, part := range load.UnionIDs(slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(last))) {
		if now[part] != last[part] {
			out.Parts = append(out.Parts, part)
		}
	}
	if out.State = Stale; len(out.Parts) == 0 {
		out.State = Gone
	}
	return out
}

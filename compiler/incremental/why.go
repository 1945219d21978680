package incremental

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
)

// This file explains cache misses: it compares the inputs of a cluster with a note of its
// inputs in the last run.

// CacheState says whether the next run uses the stored result of a cluster or a release,
// and if not, why.
type CacheState string

// The states.
const (
	CacheHit     CacheState = "cached"   // the stored result is used
	CacheChanged CacheState = "changed"  // inputs changed
	CacheNew     CacheState = "new"      // no earlier run stored a result
	Uncacheable  CacheState = "always"   // it is rendered in every run: the result must not be stored
	CacheEvicted CacheState = "evicted"  // inputs are unchanged, but the cache no longer has the result
	CacheNoChart CacheState = "no chart" // the release has no chart; it is rendered in every run
)

// CacheReport is the cache state of a cluster and its releases.
type CacheReport struct {
	Cluster  string        `json:"cluster"`
	State    CacheState    `json:"state"`      // of the cluster as a whole, in an export to a directory
	Build    bool          `json:"otherBuild"` // another build of fleetc exported it last
	Files    []FileChange  `json:"files"`      // inputs that changed since the last export, sorted by name; never nil
	Releases []CacheReason `json:"releases"`   // sorted by name; never nil
}

// FileChange is a file that was changed, added or removed.
type FileChange struct {
	Name   string        `json:"name"` // relative to the fleet's root
	Change ClusterChange `json:"change"`
}

// CacheReason is the cache state of a release, with its reason.
type CacheReason struct {
	Release string     `json:"release"`
	State   CacheState `json:"state"`
	Parts   []string   `json:"changed"`       // the inputs that changed: chart, namespace, values.image.tag; never nil
	Why     string     `json:"why,omitempty"` // why its result must not be stored
}

// clusterNote is a note of the inputs of a cluster in its last export.
type clusterNote struct {
	Build  string `json:"build"`
	Inputs Inputs `json:"inputs"` // with those outside of the fleet
}

// note stores a note of the inputs of a cluster.
func (s *UpToDate) note(c *fleet.Cluster, inputs Inputs) {
	s.results.Cache.PutJSON(compiler.NoteKey("export", s.layers.fleet.Root, c.ID), clusterNote{s.results.Build, inputs})
}

// WhyCached reports the cache state of the cluster that the pattern selects, with the
// changed inputs. It renders the releases that are not cached, and stores nothing.
func WhyCached(ctx context.Context, c *compiler.Compiler, pattern string) (*CacheReport, error) {
	reader := *c
	reader.ReadOnlyCache = true
	c = &reader
	l, err := readLayers(c, []string{pattern})
	defer l.close()
	if err != nil {
		return nil, err
	}
	if n := len(l.fleet.Clusters); n != 1 {
		return nil, &diag.Diag{Code: diag.CodeSeveralMatches, Msg: pattern + " selects several clusters", Hint: "name one"}
	}
	f, err := c.LoadEvaluated(ctx, c.Unify(ctx, l.fleet, nil))
	if err != nil {
		return nil, err
	}
	if f.Results.Cache.Dir == "" {
		return nil, &diag.Diag{Code: diag.CodeFlagCombination, Msg: "the cache is disabled", Hint: "leave out --no-cache"}
	}
	cluster := f.Clusters[0]
	report := &CacheReport{Cluster: cluster.ID, Files: []FileChange{}}
	if err := l.addSources(ctx, f.Clusters); err != nil {
		return nil, err
	}
	report.setClusterState(f, l.all(cluster.ID))
	report.Releases, err = reasons(ctx, f, cluster)
	return report, err
}

// setClusterState compares the inputs of the cluster with those of its last export.
func (r *CacheReport) setClusterState(f *compiler.Fleet, now Inputs) {
	r.State = CacheNew
	var last clusterNote
	if !f.Results.Cache.GetJSON(compiler.NoteKey("export", f.Dir, r.Cluster), &last) {
		return
	}
	r.Build = last.Build != f.Results.Build
	for _, name := range now.changedFiles(last.Inputs) {
		change := Changed
		if last.Inputs[name] == "" {
			change = Added
		} else if now[name] == "" {
			change = Removed
		}
		r.Files = append(r.Files, FileChange{name, change})
	}
	if r.State = CacheHit; r.Build || len(r.Files) > 0 {
		r.State = CacheChanged
	}
}

// reasons returns the cache state of each release of a cluster.
func reasons(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster) ([]CacheReason, error) {
	var mu sync.Mutex
	hits := map[string]bool{}
	f.OnCacheLookup = func(r *fleet.Release, hit bool) {
		mu.Lock()
		hits[r.Name] = hit
		mu.Unlock()
	}
	all, err := f.Render(ctx, c)
	if err != nil {
		return nil, diag.In(c.ID, err)
	}
	var note compiler.ReleaseNote
	if !f.Results.Cache.GetJSON(compiler.NoteKey("releases", f.Dir, c.ID), &note) {
		note = nil
	}
	out := []CacheReason{}
	var faults diag.List
	for i, r := range all.Releases {
		faults.Add(diag.In(c.ID, all.Renderings[i].Err))
		out = append(out, reason(f, c, r, all.Renderings[i], hits[r.Name], note[r.Name]))
	}
	slices.SortFunc(out, func(a, b CacheReason) int { return strings.Compare(a.Release, b.Release) })
	return out, faults.Err()
}

// reason returns the cache state of a release. last has the digests of its inputs in the
// last run, nil if there was none.
func reason(f *compiler.Fleet, c *fleet.Cluster, r *fleet.Release, rendered compiler.Rendering, hit bool, last map[string]string) CacheReason {
	out := CacheReason{Release: r.Name, State: CacheChanged, Parts: []string{}}
	result := rendered.Result
	switch {
	case f.Charts[r.Chart].Chart == nil:
		out.State = CacheNoChart
	case hit:
		out.State = CacheHit
	case len(result.Nondeterministic) > 0:
		out.State, out.Why = Uncacheable, "the chart renders a different "+result.Nondeterministic[0].ID+" every time"
	case result.UsesClock:
		out.State, out.Why = Uncacheable, "the chart reads the clock"
	case !cache.Cacheable(r, result):
		out.State, out.Why = Uncacheable, "it has a Secret in plain text"
	case last == nil:
		out.State = CacheNew
	default:
		out.Parts = append(out.Parts, Inputs(f.KeyParts(c, r)).changedFiles(last)...)
		if len(out.Parts) == 0 {
			out.State = CacheEvicted
		}
	}
	return out
}

package deliver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// A DriftReason says how an object in a cluster differs from the fleet.
type DriftReason string

// The reasons. An object can have two findings: Unhealthy and another one.
const (
	DriftMissing   DriftReason = "missing"
	DriftChanged   DriftReason = "changed"   // an apply would change it
	DriftConflict  DriftReason = "conflict"  // an apply would stop: another tool made it, or other managers have fields with other values
	DriftOrphaned  DriftReason = "orphaned"  // it was applied earlier, and the bundle does not have it
	DriftUnhealthy DriftReason = "unhealthy" // it is not ready
)

// A DriftReport says which clusters drifted.
type DriftReport struct {
	Summary  DriftSummary    `json:"summary"`
	Clusters []*DriftCluster `json:"clusters"` // sorted by ID

	files error // the faults of the files of the fleet
}

// A DriftSummary counts the clusters and findings of a report.
type DriftSummary struct {
	Clusters  int                 `json:"clusters"`
	Drifted   int                 `json:"drifted"`   // clusters with findings
	Unchecked int                 `json:"unchecked"` // clusters that could not be checked, or only in part
	Objects   int                 `json:"objects"`   // objects with findings, in each cluster
	Reasons   map[DriftReason]int `json:"reasons"`   // findings by reason; reasons without findings are left out
	Ignored   int                 `json:"ignored"`   // findings that drift.ignore or diff.ignore leaves out
	Unlisted  []string            `json:"unlisted"`  // kinds that could not be listed in some cluster, sorted
}

// A DriftCluster is the result of checking one cluster.
type DriftCluster struct {
	ID       string         `json:"id"`
	Checked  bool           `json:"checked"`          // whether everything could be checked
	Behind   bool           `json:"behind"`           // whether it does not run the fleet's bundle, so that an apply is due
	Running  *RunningBundle `json:"running"`          // null when no whole bundle is applied, or the cluster cannot be read
	Bundle   string         `json:"bundle,omitempty"` // digest of the bundle of the fleet; absent when it does not compile
	Wave     string         `json:"wave,omitempty"`   // of the rollout; absent in a fleet without a rollout
	Findings []DriftFinding `json:"findings"`         // sorted by release, ID and reason
	Ignored  []DriftFinding `json:"ignored"`          // findings that rules leave out
	Unlisted []string       `json:"unlisted"`         // kinds that could not be listed to find orphaned objects outside of the inventory
	Faults   []string       `json:"faults"`           // why it could not be checked

	Err      error               `json:"-"` // contains the faults
	Releases []string            `json:"-"` // names, sorted; nil when they are unknown
	Position int                 `json:"-"` // of the wave in the rollout, from 1; 0 for no wave
	applied  bool                // whether an apply ever began
	places   map[string]diag.Pos // of releases
	pos      diag.Pos            // of the cluster
}

// RunningBundle is the bundle that was applied last.
type RunningBundle struct {
	Revision int    `json:"revision"`
	Bundle   string `json:"bundle"` // digest
	Commit   string `json:"commit,omitempty"`
}

// A DriftFinding is one difference between a cluster and the fleet.
type DriftFinding struct {
	ID      string       `json:"id"` // kind.group namespace/name
	Release string       `json:"release,omitempty"`
	Reason  DriftReason  `json:"reason"`
	Why     string       `json:"why,omitempty"`    // details, such as the tool that made the object
	Fields  []DriftField `json:"fields,omitempty"` // of a changed object or one in conflict

	// Rule is the path of the rule that leaves out an ignored finding; for fields, the
	// rule of the first one.
	Rule string `json:"rule,omitempty"`

	byHelm bool // whether only the next upgrade of the Helm release changes it back
}

// A DriftField is one differing field.
type DriftField struct {
	Path   string         `json:"path"`
	Live   any            `json:"live,omitempty"`   // value in the cluster; nil if the field does not exist
	Fleet  any            `json:"fleet,omitempty"`  // value after an apply; nil if an apply removes the field
	Secret bool           `json:"secret,omitempty"` // the values are hashes of values of a Secret
	By     []apply.Author `json:"by,omitempty"`     // managers that have the field, the last writer first
}

// newDriftReport returns a report without clusters.
func newDriftReport() *DriftReport {
	return &DriftReport{Summary: DriftSummary{Reasons: map[DriftReason]int{}, Unlisted: []string{}}, Clusters: []*DriftCluster{}}
}

// Add adds a cluster to the report.
func (r *DriftReport) Add(c *DriftCluster) {
	r.Clusters = append(r.Clusters, c)
	s := &r.Summary
	s.Clusters++
	if !c.Checked {
		s.Unchecked++
	}
	if len(c.Findings) > 0 {
		s.Drifted++
	}
	for _, f := range c.Findings {
		s.Reasons[f.Reason]++
	}
	s.Objects += c.objects()
	s.Ignored += len(c.Ignored)
	s.Unlisted = diag.Distinct(append(s.Unlisted, c.Unlisted...))
}

// Drifted reports whether a cluster has a finding.
func (r *DriftReport) Drifted() bool { return r.Summary.Drifted > 0 }

// Fixable returns the objects that an apply can restore, by cluster ID and ID: those that
// are missing, changed or in conflict in clusters that were checked.
func (r *DriftReport) Fixable() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, c := range r.Clusters {
		for _, f := range c.Findings {
			if !c.Checked || f.isUnfixable() {
				continue
			}
			if out[c.ID] == nil {
				out[c.ID] = map[string]bool{}
			}
			out[c.ID][f.ID] = true
		}
	}
	return out
}

// LeaveToWaves removes the clusters that run another bundle than the fleet's from the
// fixable objects, and returns their IDs: in a fleet with a rollout, an apply changes them
// when it is their turn.
func (r *DriftReport) LeaveToWaves(fixable map[string]map[string]bool) (left []string) {
	for _, c := range r.Clusters {
		if c.Behind && fixable[c.ID] != nil {
			delete(fixable, c.ID)
			left = append(left, c.ID)
		}
	}
	return left
}

// Unfixable returns the number of findings that an apply cannot restore. An unhealthy object
// that has other drift is not one: the apply waits until the restored object is healthy.
func (r *DriftReport) Unfixable() int {
	fixable, n := r.Fixable(), 0
	for _, c := range r.Clusters {
		upgraded := map[string]bool{} // releases with fixable objects
		for _, f := range c.Findings {
			upgraded[f.Release] = upgraded[f.Release] || fixable[c.ID][f.ID]
		}
		for _, f := range c.Findings {
			if f.isUnfixable() && !fixable[c.ID][f.ID] && !(f.byHelm && upgraded[f.Release]) {
				n++
			}
		}
	}
	return n
}

// isUnfixable reports whether an apply cannot restore what the finding says.
func (f *DriftFinding) isUnfixable() bool {
	return f.Reason == DriftOrphaned || f.Reason == DriftUnhealthy || f.byHelm
}

// Err returns the faults of all clusters.
func (r *DriftReport) Err() error {
	var faults diag.List
	for _, c := range r.Clusters {
		faults.Add(c.Err)
	}
	return faults.Err()
}

// fail adds a reason why the cluster could not be checked completely.
func (c *DriftCluster) fail(err error) {
	if err == nil {
		return
	}
	var all diag.List
	all.Add(c.Err)
	all.Add(diag.In(c.ID, err))
	c.Err, c.Checked = all.Err(), false
	c.Faults = diag.Texts(c.Err)
}

// sort sorts the findings.
func (c *DriftCluster) sort() {
	order := func(a, b DriftFinding) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Reason, b.Reason))
	}
	slices.SortStableFunc(c.Findings, order)
	slices.SortStableFunc(c.Ignored, order)
}

// objects returns the number of objects with findings.
func (c *DriftCluster) objects() int {
	ids := map[string]bool{}
	for _, f := range c.Findings {
		ids[f.ID] = true
	}
	return len(ids)
}

// place returns the source position of a release, or of the cluster.
func (c *DriftCluster) place(release string) diag.Pos {
	if p, ok := c.places[release]; ok {
		return p
	}
	return c.pos
}

// String returns the summary as one line.
func (s DriftSummary) String() string {
	var parts []string
	switch {
	case s.Objects == 0 && s.Clusters == s.Unchecked && s.Clusters > 0:
	case s.Objects == 0:
		parts = append(parts, fmt.Sprintf("no drift in %s", diag.Count(s.Clusters-s.Unchecked, "cluster", "clusters")))
	default:
		parts = append(parts, fmt.Sprintf("%s drifted in %d of %s", diag.Count(s.Objects, "object", "objects"), s.Drifted, diag.Count(s.Clusters, "cluster", "clusters")))
	}
	if s.Unchecked > 0 {
		parts = append(parts, diag.Count(s.Unchecked, "cluster", "clusters")+" could not be checked")
	}
	if n := len(s.Unlisted); n > 0 {
		const most = 3
		parts = append(parts, diag.Count(n, "kind", "kinds")+" could not be listed to find orphaned objects: "+diag.JoinFirst(s.Unlisted, most))
	}
	if s.Ignored > 0 {
		parts = append(parts, diag.Count(s.Ignored, "difference", "differences")+" ignored by rules")
	}
	return strings.Join(parts, "; ")
}

// newCluster returns an unchecked cluster.
func newCluster(c *fleet.Cluster) *DriftCluster {
	out := &DriftCluster{ID: c.ID, Findings: []DriftFinding{}, Ignored: []DriftFinding{}, Unlisted: []string{}, Faults: []string{}, places: map[string]diag.Pos{}, pos: c.Pos}
	for _, r := range c.Releases {
		out.Releases = append(out.Releases, r.Name)
		out.places[r.Name] = r.Pos
	}
	if c.Rollout != nil {
		if waves := c.Rollout.WavesOf(c); len(waves) > 0 {
			out.Wave, out.Position = c.Rollout.Waves[waves[0]].Name, waves[0]+1
		}
	}
	return out
}

// State compares the cluster with the bundle of the fleet.
func (c *DriftCluster) State() TargetState {
	switch {
	case !c.Checked:
		return TargetFailed
	case !c.applied:
		return TargetNeverApplied
	case c.Running == nil:
		return TargetUnfinished
	case c.Behind:
		return TargetBehind
	case slices.ContainsFunc(c.Findings, func(f DriftFinding) bool { return f.Reason == DriftUnhealthy }):
		return TargetUnhealthy
	}
	return TargetDone
}

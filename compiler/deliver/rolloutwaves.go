package deliver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TargetState compares a cluster with its target.
type TargetState string

// The states of clusters.
const (
	TargetDone         TargetState = "done"          // it runs the target, and its objects are ready
	TargetUnhealthy    TargetState = "unhealthy"     // it runs the target, and an object is not ready
	TargetBehind       TargetState = "behind"        // it runs another bundle
	TargetNeverApplied TargetState = "never applied" // it runs none
	TargetUnfinished   TargetState = "unfinished"    // the last apply failed or was partial
	TargetSyncing      TargetState = "syncing"       // the branch that it follows has the target, and it does not run that yet
	TargetUnreachable  TargetState = "unreachable"
	TargetForbidden    TargetState = "forbidden" // the user has no right to read it
	TargetFailed       TargetState = "failed"    // it cannot be read or planned, or its apply failed in this run
)

// WaveCluster is a cluster of a wave.
type WaveCluster struct {
	*fleet.Cluster
	State  TargetState
	Target string    // digest of the bundle of the fleet; empty if it is not known
	Hooks  string    // digest of the deletion hooks that Target does not cover; empty without any
	Since  time.Time // since when it is healthy with the target; zero unless it is TargetDone
	Frozen *fleet.Freeze

	Applying bool // whether an apply is running
}

// IsFailed reports whether the cluster counts as failed. An apply that is running is
// unfinished, and has not failed.
func (c *WaveCluster) IsFailed() bool {
	return c.State == TargetUnhealthy || c.State == TargetUnfinished && !c.Applying || c.IsLost()
}

// IsLost reports whether the cluster cannot be reached or read, or has failed in this run.
func (c *WaveCluster) IsLost() bool {
	return c.State == TargetUnreachable || c.State == TargetForbidden || c.State == TargetFailed
}

// HasWork reports whether the cluster has yet to get the target.
func (c *WaveCluster) HasWork() bool {
	return c.State != TargetDone && c.State != TargetUnhealthy && c.State != TargetSyncing
}

// isRetry reports whether an apply may repair the cluster: its last apply is unfinished, or it runs
// its target without an object, for example.
func (c *WaveCluster) isRetry() bool {
	return c.State == TargetUnfinished || c.State == TargetUnhealthy
}

// Wave is a wave with the state of its clusters.
type Wave struct {
	*fleet.Wave
	Clusters  []*WaveCluster // sorted by ID
	Record    WaveRecord
	RecordErr error  // why the record cannot be read
	Place     string // flags of commands that change the record; empty if it is in the clusters
}

func (w *Wave) ids() []string {
	return diag.Each(w.Clusters, func(c *WaveCluster) string { return c.ID })
}

// Digest identifies the target bundles of all clusters of the wave, and their deletion hooks.
func (w *Wave) Digest() string {
	return w.digest(func(c *WaveCluster) string { return strings.TrimSuffix(c.Target+" "+c.Hooks, " ") })
}

// isForDigest reports whether a mark is for the present digest of the wave, or for that without
// deletion hooks, which older versions of fleetc recorded.
func (w *Wave) isForDigest(m *WaveMark) bool {
	return m.Bundle == w.Digest() || m.Bundle == w.digest(func(c *WaveCluster) string { return c.Target })
}

func (w *Wave) digest(of func(*WaveCluster) string) string {
	h := sha256.New()
	for _, c := range w.Clusters {
		fmt.Fprintf(h, "%s %s\n", c.ID, of(c))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// HasWork reports whether a cluster of the wave has yet to get its target.
func (w *Wave) HasWork() bool { return slices.ContainsFunc(w.Clusters, (*WaveCluster).HasWork) }

// Stopped returns a wait if too many clusters of the wave have failed, and nil otherwise.
// With retry, clusters whose last apply is unfinished do not count: they are tried again
// before the others.
func (w *Wave) Stopped(retry bool) *Wait {
	failed := w.Failures(retry)
	if len(failed) <= w.MaxFailures {
		return nil
	}
	return &Wait{Reason: ForCluster, Text: fmt.Sprintf("wave %s has failed: %s", w.Name, states(failed)), IsFailure: true}
}

// Failures returns the clusters that have failed; with retry, without those whose last
// apply is unfinished.
func (w *Wave) Failures(retry bool) []*WaveCluster {
	return slices.DeleteFunc(slices.Clone(w.Clusters), func(c *WaveCluster) bool {
		return !c.IsFailed() || retry && c.State == TargetUnfinished
	})
}

// WaitReason says what a wave waits for.
type WaitReason string

// The reasons to wait.
const (
	ForWave     WaitReason = "wave"     // an earlier wave is not complete
	ForCluster  WaitReason = "cluster"  // too many clusters of the wave have failed
	ForSoak     WaitReason = "soak"     // an earlier wave has not soaked
	ForCheck    WaitReason = "verify"   // a check of an earlier wave does not pass
	ForApproval WaitReason = "approval" // of the wave
	ForResume   WaitReason = "paused"
	ForChange   WaitReason = "aborted" // a new change, or a resume
	ForRecord   WaitReason = "record"  // the record of the wave cannot be read
	ForThaw     WaitReason = "frozen"
)

// Wait is a reason why clusters get no change now.
type Wait struct {
	Reason WaitReason `json:"reason"`
	Text   string     `json:"text"`
	Until  time.Time  `json:"until,omitzero"` // zero when it is not known

	IsFailure bool       `json:"-"` // whether failed clusters are the reason
	Fault     *diag.Diag `json:"-"` // of a check that does not pass
}

// RolloutState is the state of all waves.
type RolloutState struct {
	Fleet string // the CUE module
	Waves []*Wave
	order *fleet.Rollout
}

// wave returns the wave with the name.
func (r *RolloutState) wave(name string) (*Wave, error) {
	for _, w := range r.Waves {
		if w.Name == name {
			return w, nil
		}
	}
	return nil, noWave(r.order, name)
}

// WaitsOf returns what the cluster waits for, given the waits of its wave. A cluster that
// has failed is tried again.
func (c *WaveCluster) WaitsOf(waits []Wait) []Wait {
	out := slices.DeleteFunc(slices.Clone(waits), func(w Wait) bool {
		return w.Reason == ForCluster && c.IsFailed() || w.Reason == ForRecord && c.IsLost()
	})
	if c.Frozen != nil {
		out = append(out, frozenWait(c.Frozen))
	}
	return out
}

// Waits returns what the wave with an index waits for, nil if its clusters may get their
// targets now. assume reports whether a cluster of an earlier wave counts as applied now; it
// may be nil.
func (r *RolloutState) Waits(i int, now time.Time, assume func(*WaveCluster) bool) []Wait {
	var out []Wait
	for _, w := range r.Waves[:i] {
		if wait := w.incomplete(now, assume); wait != nil {
			out = append(out, *wait)
			break // the waves after it wait for it, too
		}
	}
	return append(out, r.Waves[i].OwnWaits()...)
}

// incomplete returns why the next wave cannot begin, nil if it can.
func (w *Wave) incomplete(now time.Time, assume func(*WaveCluster) bool) *Wait {
	var behind, failed []*WaveCluster
	var since time.Time
	assumed := false
	for _, c := range w.Clusters {
		switch {
		case c.State != TargetDone && assume != nil && assume(c):
			assumed = true
		case c.IsFailed():
			failed = append(failed, c)
		case c.State != TargetDone:
			behind = append(behind, c)
		case c.Since.After(since):
			since = c.Since
		}
	}
	until := since.Add(w.Soak)
	switch {
	case len(failed) > w.MaxFailures:
		return &Wait{Reason: ForWave, Text: fmt.Sprintf("wave %s has failed: %s", w.Name, states(failed)), IsFailure: true}
	case len(behind) > 0:
		return &Wait{Reason: ForWave, Text: fmt.Sprintf("wave %s is not complete: %s", w.Name, states(behind))}
	case w.Soak > 0 && assumed:
		return &Wait{Reason: ForSoak, Text: fmt.Sprintf("wave %s soaks for %s after it is applied", w.Name, w.Soak)}
	case w.Soak > 0 && !since.IsZero() && now.Before(until):
		return &Wait{Reason: ForSoak, Text: fmt.Sprintf("wave %s soaks until %s", w.Name, until.UTC().Format(time.RFC3339)), Until: until}
	}
	return nil
}

// OwnWaits returns what the wave waits for beside earlier waves.
func (w *Wave) OwnWaits() []Wait {
	if !w.HasWork() {
		return nil
	}
	var out []Wait
	if stopped := w.Stopped(true); stopped != nil {
		out = append(out, *stopped)
	}
	if w.RecordErr != nil {
		text := "its approvals and pauses cannot be read in " + w.Clusters[0].ID
		if w.Clusters[0].State == TargetUnreachable {
			text += ", which is unreachable"
		} else {
			text += ": " + diag.All(w.RecordErr)[0].Msg
		}
		return append(out, Wait{Reason: ForRecord, Text: text})
	}
	digest := w.Digest()
	out = append(out, w.stops()...)
	if m := w.Record.Approval; w.Approve != "" && (m == nil || m.Bundle != digest) {
		out = append(out, Wait{Reason: ForApproval, Text: fmt.Sprintf("it needs an approval: %s; run fleetc rollout approve %s --bundle %s%s", diag.Visible(w.Approve, diag.MaxText), w.Name, digest, w.Place)})
	}
	return out
}

// stops returns the pause and the abort that hold for the wave.
func (w *Wave) stops() []Wait {
	var out []Wait
	if m := w.Record.Pause; m != nil {
		out = append(out, Wait{Reason: ForResume, Text: "it is " + m.Text("paused")})
	}
	if m := w.Record.Abort; m != nil && w.isForDigest(m) {
		out = append(out, Wait{Reason: ForChange, Text: "this change is " + m.Text("aborted")})
	}
	return out
}

// Held returns the text of the pause and the abort that hold for the wave, empty if there is
// none.
func (w *Wave) Held() string {
	return (&WaitError{w.stops()}).Error()
}

// frozenWait returns what a frozen cluster waits for.
func frozenWait(f *fleet.Freeze) Wait {
	text := "it is frozen until the end of " + f.To
	if f.From == f.To {
		text = "it is frozen on " + f.To
	}
	wait := Wait{Reason: ForThaw, Text: text + ": " + diag.Line(f.Reason, diag.MaxText)}
	if day, err := time.Parse(time.DateOnly, f.To); err == nil {
		wait.Until = day.AddDate(0, 0, 1)
	}
	return wait
}

// states names clusters with their states, the first ones if there are many.
func states(clusters []*WaveCluster) string {
	const shown = 3
	var out []string
	for _, c := range clusters[:min(shown, len(clusters))] {
		text := c.ID + " is " + string(c.State)
		if c.State == TargetFailed || c.State == TargetNeverApplied {
			text = c.ID + " has failed"
			if c.State == TargetNeverApplied {
				text = c.ID + " was never applied"
			}
		}
		if c.Frozen != nil && c.HasWork() {
			text += " and frozen"
		}
		out = append(out, text)
	}
	if more := len(clusters) - shown; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// WaitError is the error of a cluster that gets no change now.
type WaitError struct{ Waits []Wait }

// Error implements error.
func (e *WaitError) Error() string {
	return strings.Join(diag.Each(e.Waits, func(w Wait) string { return w.Text }), "; ")
}

// Until returns the latest known end of the waits; zero if there is none.
func (e *WaitError) Until() time.Time {
	return slices.MaxFunc(append([]Wait{{}}, e.Waits...), func(a, b Wait) int { return cmp.Compare(a.Until.Unix(), b.Until.Unix()) }).Until
}

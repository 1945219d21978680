package deliver

import (
	"slices"
	"time"
)

// RolloutReport is the state of a rollout for users.
type RolloutReport struct {
	Fleet    string       `json:"fleet"`
	Complete bool         `json:"complete"` // whether all clusters run their targets, healthy and soaked, without removals
	Waves    []WaveReport `json:"waves"`

	// Removals are clusters outside of the fleet whose directories are still on a branch.
	Removals []Removal `json:"removals,omitempty"`
}

// Removal is a cluster whose directory is removed later.
type Removal struct {
	Cluster string `json:"cluster"`
	Reason  string `json:"reason"`
}

// WaveState says what happens with a wave next.
type WaveState string

// The states of waves.
const (
	WaveComplete WaveState = "complete"
	WaveSoaking  WaveState = "soaking"
	WaveNext     WaveState = "next" // the next apply applies to its clusters
	WaveWaiting  WaveState = "waiting"
	WaveStopped  WaveState = "stopped" // too many clusters have failed, and the next apply tries them again
	WaveRunning  WaveState = "running" // its clusters follow a branch, and some do not run their targets yet
)

// WaveReport is the state of a wave for users.
type WaveReport struct {
	Name    string    `json:"name"`
	State   WaveState `json:"state"`
	Bundle  string    `json:"bundle"` // digest of the targets of all clusters, for approvals
	Waits   []Wait    `json:"waits"`
	Approve string    `json:"approve,omitempty"`
	WaveRecord
	Clusters []WaveClusterReport `json:"clusters"`
}

// WaveClusterReport is the state of a cluster for users.
type WaveClusterReport struct {
	ID           string      `json:"id"`
	State        TargetState `json:"state"`
	Target       string      `json:"target"`
	Running      string      `json:"running,omitempty"` // digest of the bundle that it runs
	Revision     int         `json:"revision,omitempty"`
	Commit       string      `json:"commit,omitempty"`
	Dirty        bool        `json:"dirty,omitempty"`
	Since        time.Time   `json:"since,omitzero"`        // since when it runs the bundle
	HealthySince time.Time   `json:"healthySince,omitzero"` // zero unless it runs the target and is ready
	Frozen       string      `json:"frozen,omitempty"`      // why it is frozen
	Applying     string      `json:"applying,omitempty"`    // the holder of the lease while an apply runs
	Unhealthy    []string    `json:"unhealthy"`             // objects that are not ready, and why
	Faults       []string    `json:"faults"`
}

// Report returns the state of all waves. describe adds what the clusters run.
func (r *RolloutState) Report(now time.Time, describe func(*WaveCluster) WaveClusterReport) RolloutReport {
	out := RolloutReport{Fleet: r.Fleet, Complete: true, Waves: []WaveReport{}}
	for i, w := range r.Waves {
		v := WaveReport{Name: w.Name, Bundle: w.Digest(), Waits: []Wait{}, Approve: w.Approve, WaveRecord: w.Record, Clusters: []WaveClusterReport{}}
		v.State, v.Waits = r.waveState(i, now)
		for _, c := range w.Clusters {
			line := describe(c)
			line.ID, line.State, line.Target, line.HealthySince = c.ID, c.State, c.Target, c.Since
			if c.Frozen != nil {
				line.Frozen = c.Frozen.Reason
			}
			v.Clusters = append(v.Clusters, line)
		}
		out.Complete = out.Complete && v.State == WaveComplete
		out.Waves = append(out.Waves, v)
	}
	return out
}

// waveState returns the state of a wave with its waits.
func (r *RolloutState) waveState(i int, now time.Time) (WaveState, []Wait) {
	w := r.Waves[i]
	if !w.HasWork() {
		switch wait := w.incomplete(now, nil); {
		case wait == nil:
			return WaveComplete, []Wait{}
		case wait.Reason == ForSoak:
			return WaveSoaking, []Wait{*wait}
		case wait.IsFailure:
			return WaveStopped, []Wait{*wait}
		default:
			return WaveRunning, []Wait{*wait}
		}
	}
	waits := append([]Wait{}, r.Waits(i, now, nil)...)
	frozen := 0
	for _, c := range w.Clusters {
		if c.Frozen == nil || !c.HasWork() {
			continue
		}
		if frozen++; frozen == 1 {
			waits = append(waits, frozenWait(c.Frozen))
		}
	}
	if stopped := w.Stopped(false); stopped != nil {
		if !slices.ContainsFunc(waits, func(w Wait) bool { return w.Reason == ForCluster }) {
			waits = append(waits, *stopped) // the next apply continues unfinished ones
		}
		return WaveStopped, waits
	}
	switch {
	case len(waits) > 0:
		return WaveWaiting, waits
	case slices.ContainsFunc(w.Clusters, func(c *WaveCluster) bool { return c.State == TargetSyncing }):
		return WaveRunning, waits
	}
	return WaveNext, waits
}

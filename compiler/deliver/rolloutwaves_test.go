package deliver

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// running describes the bundle of a cluster, and its age.
type running struct {
	bundle string // empty if it was never applied to; "failed" after a failed apply; "down" if it is unreachable
	ago    time.Duration
	sick   bool
}

// cluster returns a cluster with a target.
func (v running) cluster(id, target string) *WaveCluster {
	c := &WaveCluster{Cluster: &fleet.Cluster{ID: id}, Target: target, State: TargetBehind}
	switch {
	case v.bundle == "":
		c.State = TargetNeverApplied
	case v.bundle == "failed":
		c.State = TargetUnfinished
	case v.bundle == "down":
		c.State = TargetUnreachable
	case v.bundle == target && v.sick:
		c.State = TargetUnhealthy
	case v.bundle == target:
		c.State, c.Since = TargetDone, noon.Add(-v.ago)
	}
	return c
}

// TestFix tests the rule for a fix that comes while an older change is halfway: the first
// wave soaks for an hour, and the second may need an approval.
func TestFix(t *testing.T) {
	approved := func(w *Wave) WaveRecord { return WaveRecord{Approval: &WaveMark{Bundle: w.Digest()}} }
	aborted := func(w *Wave) WaveRecord { return WaveRecord{Abort: &WaveMark{Bundle: w.Digest(), By: "ann"}} }
	paused := func(*Wave) WaveRecord { return WaveRecord{Pause: &WaveMark{By: "ann"}} }
	for name, c := range map[string]struct {
		canary, prod     running
		canaryTo, prodTo string // targets of the fix
		approve          string
		record           func(*Wave) WaveRecord // for the targets v2 of the older change
		want             string                 // clusters with work that may be applied to now
		waits            string                 // of prod
	}{
		"the fix changes both":             {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v3", prodTo: "v3", want: "canary", waits: "wave canary is not complete: canary is behind"},
		"canary has the fix and soaks":     {canary: running{bundle: "v3", ago: time.Minute}, prod: running{bundle: "v1"}, canaryTo: "v3", prodTo: "v3", waits: "wave canary soaks until 2026-11-26T12:59:00Z"},
		"canary has soaked":                {canary: running{bundle: "v3", ago: time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v3", prodTo: "v3", want: "prod"},
		"canary has failed":                {canary: running{bundle: "failed"}, prod: running{bundle: "v1"}, canaryTo: "v3", prodTo: "v3", want: "canary", waits: "wave canary has failed: canary is unfinished"},
		"the fix changes prod only":        {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v3", want: "prod"},
		"the same, and canary still soaks": {canary: running{bundle: "v2", ago: 59 * time.Minute}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v3", waits: "wave canary soaks until 2026-11-26T12:01:00Z"},
		"canary is sick":                   {canary: running{bundle: "v2", ago: 2 * time.Hour, sick: true}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", waits: "wave canary has failed: canary is unhealthy"},
		"the change is reverted":           {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v1", prodTo: "v1", want: "canary"},
		"prod is halfway":                  {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "failed"}, canaryTo: "v3", prodTo: "v3", want: "canary", waits: "wave canary is not complete: canary is behind"},
		"prod needs an approval":           {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", approve: "ask ann", waits: "it needs an approval: ask ann"},
		"prod is approved":                 {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", approve: "ask ann", record: approved, want: "prod"},
		"another bundle is approved":       {canary: running{bundle: "v3", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v3", prodTo: "v3", approve: "ask ann", record: approved, waits: "it needs an approval: ask ann"},
		"the change is aborted":            {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", record: aborted, waits: "this change is aborted by ann"},
		"an older change is aborted":       {canary: running{bundle: "v3", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v3", prodTo: "v3", record: aborted, want: "prod"},
		"prod is paused":                   {canary: running{bundle: "v2", ago: 2 * time.Hour}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", record: paused, waits: "it is paused by ann"},
		"prod is new":                      {canary: running{bundle: "v2", ago: 2 * time.Hour}, canaryTo: "v2", prodTo: "v2", want: "prod"},
		"canary is new":                    {prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", want: "canary", waits: "wave canary is not complete: canary was never applied"},
		"canary is unreachable":            {canary: running{bundle: "down"}, prod: running{bundle: "v1"}, canaryTo: "v2", prodTo: "v2", want: "canary", waits: "wave canary has failed: canary is unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			canary := &Wave{Wave: &fleet.Wave{Name: "canary", Soak: time.Hour}, Clusters: []*WaveCluster{c.canary.cluster("canary", c.canaryTo)}}
			prod := &Wave{Wave: &fleet.Wave{Name: "prod", Approve: c.approve}, Clusters: []*WaveCluster{c.prod.cluster("prod", c.prodTo)}}
			if c.record != nil {
				prod.Record = c.record(&Wave{Wave: prod.Wave, Clusters: []*WaveCluster{c.prod.cluster("prod", "v2")}})
			}
			r := &RolloutState{Waves: []*Wave{canary, prod}}
			var now []string
			for i, w := range r.Waves {
				if len(w.Clusters[0].WaitsOf(r.Waits(i, noon, nil))) == 0 && w.HasWork() {
					now = append(now, w.Name)
				}
			}
			if got := strings.Join(now, " "); got != c.want {
				t.Errorf("a run applies to %q, want %q", got, c.want)
			}
			waits := (&WaitError{Waits: r.Waits(1, noon, nil)}).Error()
			if !prod.HasWork() {
				waits = ""
			}
			if !strings.HasPrefix(waits, c.waits) || (waits == "") != (c.waits == "") {
				t.Errorf("prod waits for %q, want %q", waits, c.waits)
			}
		})
	}
}

// TestMaxFailures tests that a wave is complete with as many failed clusters as it allows,
// and that clusters that were not tried are no failures.
func TestMaxFailures(t *testing.T) {
	done, failed, down, behind := running{bundle: "v2", ago: time.Hour}, running{bundle: "failed"}, running{bundle: "down"}, running{bundle: "v1"}
	for _, c := range []struct {
		clusters []running
		allowed  int
		want     string
	}{
		{[]running{done, done}, 0, ""},
		{[]running{done, failed}, 0, "wave a has failed: 1 is unfinished"},
		{[]running{done, failed}, 1, ""},
		{[]running{down, failed}, 1, "wave a has failed: 0 is unreachable, 1 is unfinished"},
		{[]running{down, failed}, 2, ""},
		{[]running{done, behind}, 1, "wave a is not complete: 1 is behind"},
	} {
		w := &Wave{Wave: &fleet.Wave{Name: "a", MaxFailures: c.allowed}}
		for i, v := range c.clusters {
			w.Clusters = append(w.Clusters, v.cluster(string(rune('0'+i)), "v2"))
		}
		r := &RolloutState{Waves: []*Wave{w, {Wave: &fleet.Wave{Name: "b"}}}}
		if got := (&WaitError{Waits: r.Waits(1, noon, nil)}).Error(); got != c.want {
			t.Errorf("%v with %d failures allowed: wave b waits for %q, want %q", c.clusters, c.allowed, got, c.want)
		}
	}
}

// TestStopped tests that a wave stops when more clusters have failed than it allows, also in
// an earlier run, and that an unfinished cluster is tried again first.
func TestStopped(t *testing.T) {
	done, failed, down, sick, behind := running{bundle: "v2"}, running{bundle: "failed"}, running{bundle: "down"}, running{bundle: "v2", sick: true}, running{bundle: "v1"}
	for _, c := range []struct {
		clusters       []running
		allowed        int
		retry, stopped string // why retries and the others stop
	}{
		{[]running{done, behind}, 0, "", ""},
		{[]running{failed, behind}, 0, "", "wave a has failed: 0 is unfinished"},
		{[]running{failed, behind}, 1, "", ""},
		{[]running{sick, behind}, 0, "wave a has failed: 0 is unhealthy", "wave a has failed: 0 is unhealthy"},
		{[]running{down, failed, behind}, 1, "", "wave a has failed: 0 is unreachable, 1 is unfinished"},
	} {
		w := &Wave{Wave: &fleet.Wave{Name: "a", MaxFailures: c.allowed}}
		for i, v := range c.clusters {
			w.Clusters = append(w.Clusters, v.cluster(string(rune('0'+i)), "v2"))
		}
		if w.Clusters[0].State == TargetUnfinished {
			w.Clusters[0].Applying = true
			if wait := w.Stopped(false); wait != nil {
				t.Errorf("an apply that is running stops the wave: %s", wait.Text)
			}
			w.Clusters[0].Applying = false
		}
		state, waits := (&RolloutState{Waves: []*Wave{w}}).waveState(0, time.Time{})
		if isStopped := c.stopped != ""; (state == WaveStopped) != isStopped || isStopped && (len(waits) != 1 || waits[0].Text != c.stopped) {
			t.Errorf("%v with %d failures allowed: the wave is %s: %v", c.clusters, c.allowed, state, waits)
		}
		for retry, want := range map[bool]string{true: c.retry, false: c.stopped} {
			got := ""
			if wait := w.Stopped(retry); wait != nil {
				got = wait.Text
			}
			if got != want {
				t.Errorf("%v with %d failures allowed, retry %v: %q, want %q", c.clusters, c.allowed, retry, got, want)
			}
		}
	}
}

// TestDigest tests that the digest of a wave depends on its clusters and their targets only.
func TestDigest(t *testing.T) {
	digest := func(name, target string, v running) string {
		return (&Wave{Wave: &fleet.Wave{Name: "a"}, Clusters: []*WaveCluster{v.cluster(name, target)}}).Digest()
	}
	same := digest("x", "v2", running{bundle: "v1"})
	if digest("x", "v2", running{bundle: "v2"}) != same {
		t.Error("the digest depends on what the cluster runs")
	}
	if digest("x", "v3", running{bundle: "v1"}) == same || digest("y", "v2", running{bundle: "v1"}) == same {
		t.Error("the digest does not depend on the cluster and its target")
	}
}

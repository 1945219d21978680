package deliver

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// The file keeps the records of other fleets, and forgets waves without records.
func TestRecords(t *testing.T) {
	pos := diag.Pos{File: "rollout.json"}
	r, err := parseWaveRecords(nil, pos)
	if err != nil {
		t.Fatal(err)
	}
	r.Change("one", "gold", func(r *WaveRecord) { r.Approval = &WaveMark{Bundle: "sha256:1", By: "ann", Time: noon} })
	r.Change("one", "old", func(r *WaveRecord) { r.Pause, r.Cluster = &WaveMark{By: "ann", Time: noon}, "gone" })
	r.Change("two", "rest", func(r *WaveRecord) { r.Abort = &WaveMark{Bundle: "sha256:2", By: "bob", Time: noon} })
	r.Follow("one", &fleet.Rollout{Waves: []fleet.Wave{{Name: "gold", Others: true}}}, []*fleet.Cluster{{ID: "dev"}})
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := parseWaveRecords(text, pos)
	if err != nil || len(back.Fleets) != 2 || len(back.Fleets["one"]) != 1 || back.Fleets["one"]["gold"].Approval.Bundle != "sha256:1" {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
	back.Change("two", "rest", func(r *WaveRecord) { r.Abort = nil })
	if len(back.Fleets) != 1 {
		t.Errorf("a fleet without records is still there: %+v", back)
	}
	for text, want := range map[string]string{"hello": "cannot be read", `{"format": "fleetc.rollout/v2"}`: "but this fleetc supports fleetc.rollout/v1", `[]`: "cannot be read"} {
		if _, err := parseWaveRecords([]byte(text), pos); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A cluster that is syncing has its target, holds the next wave, and has not failed.
func TestSyncing(t *testing.T) {
	one := func(s TargetState) *WaveCluster {
		return &WaveCluster{Cluster: &fleet.Cluster{ID: string(s)}, State: s, Since: noon.Add(-time.Hour)}
	}
	for name, c := range map[string]struct {
		states []TargetState
		want   WaveState
		next   string // the wait of the next wave
	}{
		"all are syncing":       {[]TargetState{TargetSyncing}, WaveRunning, "wave w is not complete: syncing is syncing"},
		"one is behind":         {[]TargetState{TargetSyncing, TargetBehind}, WaveRunning, "wave w is not complete: syncing is syncing, behind is behind"},
		"one has failed":        {[]TargetState{TargetSyncing, TargetUnhealthy}, WaveStopped, "wave w has failed: unhealthy is unhealthy"},
		"one is done":           {[]TargetState{TargetSyncing, TargetDone}, WaveRunning, "wave w is not complete: syncing is syncing"},
		"all are done":          {[]TargetState{TargetDone}, WaveComplete, ""},
		"none is syncing":       {[]TargetState{TargetBehind}, WaveNext, "wave w is not complete: behind is behind"},
		"one cannot be reached": {[]TargetState{TargetSyncing, TargetUnreachable}, WaveStopped, "wave w has failed: unreachable is unreachable"},
	} {
		w := &Wave{Wave: &fleet.Wave{Name: "w"}}
		for _, s := range c.states {
			w.Clusters = append(w.Clusters, one(s))
		}
		r := &RolloutState{Waves: []*Wave{w, {Wave: &fleet.Wave{Name: "next"}, Clusters: []*WaveCluster{one(TargetBehind)}}}}
		if got, _ := r.waveState(0, noon); got != c.want {
			t.Errorf("%s: the wave is %s, want %s", name, got, c.want)
		}
		if got := (&WaitError{Waits: r.Waits(1, noon, nil)}).Error(); got != c.next {
			t.Errorf("%s: the next wave waits: %s", name, got)
		}
	}
}

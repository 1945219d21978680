package deliver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// WaveRecord is what people decided for a wave. It is stored in a ConfigMap in the first cluster
// of the wave, beside the inventory. Pauses and aborts are also read from other clusters, which may
// have been the first one.
type WaveRecord struct {
	Approval *WaveMark `json:"approval,omitempty"`
	Pause    *WaveMark `json:"pause,omitempty"`
	Abort    *WaveMark `json:"abort,omitempty"`
	Cluster  string    `json:"cluster,omitempty"`  // in a branch: the first cluster of the wave at the last decision
	Clusters []string  `json:"clusters,omitempty"` // IDs of the paused clusters: each wave with one of them is paused
}

// WaveMark is one decision.
type WaveMark struct {
	Bundle string    `json:"bundle,omitempty"` // digest of the wave; empty for a pause
	By     string    `json:"by"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason,omitempty"`
}

// Text describes the mark: paused by ann at 2026-11-26T07:00:00Z: why.
func (m *WaveMark) Text(what string) string {
	s := fmt.Sprintf("%s by %s at %s", what, diag.Visible(m.By, diag.MaxText), m.Time.UTC().Format(time.RFC3339))
	if m.Reason != "" {
		s += ": " + diag.Line(m.Reason, diag.MaxText)
	}
	return s
}

// readRecordsIn reads all records in a cluster, and returns a function that stores them. Only
// those in the first cluster of a wave must be readable.
func (r *Rollout) readRecordsIn(ctx context.Context, id string) (store func()) {
	var o *unstructured.Unstructured
	s := r.servers.Of(id)
	err := s.Err
	if err == nil {
		o, err = waveRecords(ctx, s.Live, r.RolloutState.Fleet)
	}
	return func() {
		if err == nil {
			r.records[id] = map[string]WaveRecord{}
		}
		for _, w := range r.Waves {
			if len(w.Clusters) == 0 || w.Clusters[0].ID != id {
				continue
			}
			if w.RecordErr = err; err == nil {
				_, w.RecordErr = decodeWaveRecord(o, w.Name)
			}
		}
		if o == nil {
			return
		}
		data, _, _ := unstructured.NestedMap(o.Object, "data")
		for wave := range data {
			if one, err := decodeWaveRecord(o, wave); err == nil {
				r.records[id][wave] = one
			}
		}
	}
}

// A recordPlace is where a record of a wave is stored: in its first cluster or, from before the
// wave changed, in another cluster or with another name.
type recordPlace struct{ cluster, wave string }

// recordPlaces returns the places with records of a wave. New decisions are stored in the first one.
// The record of another wave counts if it pauses a cluster of this wave.
func (r *Rollout) recordPlaces(w *Wave) []recordPlace {
	out := []recordPlace{{w.Clusters[0].ID, w.Name}}
	for _, other := range r.Waves {
		for _, c := range other.Clusters {
			for _, name := range slices.Sorted(maps.Keys(r.records[c.ID])) {
				paused := r.records[c.ID][name].Clusters
				// A record with a name that no wave has is from before the wave was renamed, as are IDs
				// that no cluster has.
				isOwn := name == w.Name || len(common(w.ids(), paused)) > 0 ||
					other == w && len(common(r.ids, paused)) == 0 && !slices.Contains(r.order.WaveNames(), name)
				if p := (recordPlace{c.ID, name}); isOwn && p != out[0] {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// recordOf returns the decisions for a wave. Of several pauses or aborts, it takes the one that
// holds for the present bundles, or else the last one.
func (r *Rollout) recordOf(w *Wave) (out WaveRecord) {
	if len(w.Clusters) == 0 {
		return out
	}
	add := func(to **WaveMark, m *WaveMark) {
		switch {
		case m == nil || *to != nil && w.isForDigest(*to) && !w.isForDigest(m):
		case *to == nil || w.isForDigest(m) && !w.isForDigest(*to) || m.Time.After((*to).Time):
			*to = m
		}
	}
	for i, p := range r.recordPlaces(w) {
		one := r.records[p.cluster][p.wave]
		if i == 0 { // users of other clusters must not approve
			out.Approval = one.Approval
		}
		add(&out.Pause, one.Pause)
		add(&out.Abort, one.Abort)
	}
	return out
}

// decide records a decision for a wave in its first cluster, and reports whether it changes the
// record. A resume changes all records of the wave, and clusters of other waves stay paused.
func (r *Rollout) decide(ctx context.Context, d Decision, w *Wave) (isChanged bool, err error) {
	for i, p := range r.recordPlaces(w) {
		if old := r.records[p.cluster][p.wave]; i > 0 && (d.Command != "resume" || old.Pause == nil && old.Abort == nil) {
			continue
		}
		s := r.servers.Of(p.cluster)
		if s.Err != nil {
			return false, s.Err
		}
		if d.Command == "resume" && p.wave == w.Name {
			if err := r.keepPaused(ctx, s.Live, w); err != nil {
				return false, err
			}
		}
		differs, err := changeWaveRecord(ctx, s.Live, r.RolloutState.Fleet, p.wave, func(record *WaveRecord) {
			others := without(common(record.Clusters, r.ids), w.ids())
			if p.wave != w.Name && (len(others) > 0 || slices.Contains(r.order.WaveNames(), p.wave)) {
				record.Clusters = others
				return
			}
			d.change(record, r.options.RolloutOptions, r.options.By, w.Digest(), w.ids())
		})
		if err != nil {
			return false, err
		}
		isChanged = isChanged || differs
	}
	return isChanged, nil
}

// keepPaused copies the pause of a wave that is resumed, as a cluster has it, to the other waves
// whose clusters it names.
func (r *Rollout) keepPaused(ctx context.Context, c *cluster.Cluster, resumed *Wave) error {
	o, err := waveRecords(ctx, c, r.RolloutState.Fleet)
	if err != nil {
		return err
	}
	old, err := decodeWaveRecord(o, resumed.Name)
	if err != nil {
		return err
	}
	for _, w := range r.Waves {
		paused := common(w.ids(), old.Clusters)
		if w == resumed || old.Pause == nil || len(paused) == 0 {
			continue
		}
		s := r.servers.Of(w.Clusters[0].ID)
		if s.Err != nil {
			return s.Err
		}
		if _, err := changeWaveRecord(ctx, s.Live, r.RolloutState.Fleet, w.Name, func(record *WaveRecord) {
			record.Pause, record.Clusters = cmp.Or(record.Pause, old.Pause), diag.Distinct(slices.Concat(record.Clusters, paused))
		}); err != nil {
			return err
		}
	}
	return nil
}

// waveRecords returns the object with the records of a fleet's waves; nil without one.
func waveRecords(ctx context.Context, c *cluster.Cluster, module string) (*unstructured.Unstructured, error) {
	o, err := c.Object(ctx, apply.RolloutRef(module))
	if o == nil || err != nil {
		return nil, err
	}
	if err := apply.CheckFleet(o, module); err != nil {
		return nil, err
	}
	return o, nil
}

// decodeWaveRecord returns the record of a wave in the object, which may be nil. Without one, the
// record is empty.
func decodeWaveRecord(o *unstructured.Unstructured, wave string) (r WaveRecord, err error) {
	if o == nil {
		return r, nil
	}
	text, ok, err := unstructured.NestedString(o.Object, "data", wave)
	if err == nil && ok {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil {
		name := "ConfigMap " + o.GetNamespace() + "/" + o.GetName()
		return r, &diag.Diag{
			Code: diag.CodeDamagedRecord,
			Msg:  fmt.Sprintf("the record of wave %s in %s is not in the format that fleetc writes", wave, name),
			Hint: "delete the key from " + name + ", then approve or pause again",
		}
	}
	return r, nil
}

// changeWaveRecord changes the record of a wave in a cluster, and reports whether it
// differs. Without a difference, nothing is written.
func changeWaveRecord(ctx context.Context, c *cluster.Cluster, module, wave string, change func(*WaveRecord)) (bool, error) {
	const tries = 5 // other processes may change other waves
	for try := 1; ; try++ {
		o, err := waveRecords(ctx, c, module)
		if err != nil {
			return false, err
		}
		r, err := decodeWaveRecord(o, wave)
		if err != nil {
			return false, err
		}
		before := r
		if change(&r); reflect.DeepEqual(r, before) {
			return try > 1, nil // an earlier try succeeded, and its response was lost
		}
		if o == nil {
			if err := apply.EnsureNamespace(ctx, c); err != nil {
				return false, err
			}
			ref := apply.RolloutRef(module)
			o = &unstructured.Unstructured{Object: map[string]any{}}
			o.SetGroupVersionKind(ref.GroupVersionKind)
			o.SetNamespace(ref.Namespace)
			o.SetName(ref.Name)
			o.SetAnnotations(map[string]string{fleet.FleetAnnotation: module})
		}
		text, err := json.Marshal(r)
		if err != nil {
			return false, err
		}
		if err := unstructured.SetNestedField(o.Object, string(text), "data", wave); err != nil {
			return false, err
		}
		if _, err = c.Put(ctx, o); err == nil || cluster.ReasonOf(err) != cluster.Moved || try == tries {
			return err == nil, err
		}
	}
}

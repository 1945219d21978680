package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// WaveRecord is what people decided for a wave. It is stored in a ConfigMap in the first cluster
// of the wave, beside the inventory.
type WaveRecord struct {
	Approval *WaveMark `json:"approval,omitempty"`
	Pause    *WaveMark `json:"pause,omitempty"`
	Abort    *WaveMark `json:"abort,omitempty"`
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
		s += ": " + diag.Visible(m.Reason, diag.MaxText)
	}
	return s
}

// readWaveRecord reads the record of a wave from its first cluster, and the object that has it.
// Without one, the record is empty.
func readWaveRecord(ctx context.Context, c *cluster.Cluster, module, wave string) (o *unstructured.Unstructured, r WaveRecord, err error) {
	o, err = c.Object(ctx, apply.RolloutRef(module))
	if o == nil || err != nil {
		return nil, r, err
	}
	if err := apply.CheckFleet(o, module); err != nil {
		return nil, r, err
	}
	text, ok, err := unstructured.NestedString(o.Object, "data", wave)
	if err == nil && ok {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil {
		name := "ConfigMap " + o.GetNamespace() + "/" + o.GetName()
		return nil, r, &diag.Diag{
			Code: diag.CodeDamagedRecord,
			Msg:  fmt.Sprintf("the record of wave %s in %s is not in the format that fleetc writes", wave, name),
			Hint: "delete the key from " + name + ", then approve or pause again",
		}
	}
	return o, r, nil
}

// changeWaveRecord changes the record of a wave in its first cluster, and reports whether it
// differs. Without a difference, nothing is written.
func changeWaveRecord(ctx context.Context, c *cluster.Cluster, module, wave string, change func(*WaveRecord)) (bool, error) {
	const tries = 5 // other processes may change other waves
	for try := 1; ; try++ {
		o, r, err := readWaveRecord(ctx, c, module, wave)
		if err != nil {
			return false, err
		}
		before := r
		if change(&r); r == before {
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

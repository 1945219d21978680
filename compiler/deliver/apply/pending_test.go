package apply

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// Objects with finalizers are pending. A pending custom resource postpones all
// later deletions, unless the run must wait for them.
func TestPlanPending(t *testing.T) {
	item := func(apiVersion, kind, name string, going bool, finalizers ...string) Item {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
		o.SetName(name)
		o.SetFinalizers(finalizers)
		if going {
			now := metav1.Now()
			o.SetDeletionTimestamp(&now)
		}
		return Item{ID: name, Action: Prune, ref: cluster.RefOf(o), Before: o}
	}
	hook := Item{Action: Hook, hook: &hook{object: &unstructured.Unstructured{}}}
	free, slow := item("v1", "ConfigMap", "free", false), item("v1", "Pod", "slow", true)
	held, space := item("v1", "ConfigMap", "held", true, "a/b"), item("v1", "Namespace", "space", true)
	custom, waits := item("example.com/v1", "Widget", "custom", true, "a/b"), item("example.com/v1", "Widget", "waits", false, "a/b")
	kept := item("v1", "ConfigMap", "kept", false)
	kept.Action = Keep
	for name, test := range map[string]struct {
		gone, hooks []Item
		destroy     bool
		want        []string // IDs of pending objects
	}{
		"nobody holds":              {gone: []Item{free, slow}},
		"a finalizer":               {gone: []Item{free, held}, want: []string{"held"}},
		"a namespace":               {gone: []Item{free, space}, want: []string{"space"}},
		"a custom resource":         {gone: []Item{waits, custom, free, kept}, want: []string{"custom", "free"}},
		"a custom resource to be":   {gone: []Item{waits, free}},
		"all is to be destroyed":    {gone: []Item{custom, held, free}, destroy: true},
		"hooks run when it is gone": {gone: []Item{custom, held, free}, hooks: []Item{hook}},
	} {
		p := &planner{Target: Target{Live: &cluster.Cluster{}, Options: Options{Destroy: test.destroy}}}
		removed := slices.Clone(test.gone)
		p.planPending(removed, test.hooks)
		var got []string
		for _, it := range removed {
			if it.Action == Pending {
				got = append(got, it.ID)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

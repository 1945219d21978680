package apply

import (
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestInventoryDestroyed(t *testing.T) {
	kept, held := Entry{Kind: "Namespace", Name: "a", Kept: true}, Entry{Kind: "ConfigMap", Name: "b"}
	for name, c := range map[string]struct {
		v    Inventory
		want bool
	}{
		"kept":      {Inventory{Objects: []Entry{kept}}, true},
		"empty":     {Inventory{}, true},
		"partly":    {Inventory{Objects: []Entry{kept, held}}, false},
		"unmade":    {Inventory{Objects: []Entry{kept}, History: []Revision{{}}}, false},
		"applied":   {Inventory{Objects: []Entry{kept}, Bundle: "sha256:x"}, false},
		"recovered": {Inventory{Objects: []Entry{held}, Bundle: "sha256:x"}, false},
	} {
		if got := c.v.Destroyed(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// When only some releases are destroyed, the inventory supplies the order of
// stages.
func TestEmptyBundle(t *testing.T) {
	v := &Inventory{
		Stages:  map[string]string{"apps": "x", "base": "x", "empty": "x"},
		Objects: []Entry{{Stage: "old", Kept: true}, {Stage: "base"}, {Stage: "apps"}, {Stage: "apps"}},
	}
	for whole, want := range map[bool][]string{true: nil, false: {"base", "apps", "empty"}} {
		b := v.EmptyBundle(&fleet.Cluster{Stages: []string{"other"}}, whole)
		if got := b.Cluster.Stages; !slices.Equal(got, want) {
			t.Errorf("whole: %v: the stages are %q", whole, got)
		}
	}
}

// A destroy may delete everything in the inventory and a few other objects.
func TestDestroyPlan(t *testing.T) {
	stored := &Inventory{version: "1"}
	item := func(cascaded int) Item {
		return Item{ID: "Namespace a", Action: Prune, Cascade: &Cascade{uids: make([]string, cascaded)}}
	}
	for name, c := range map[string]struct {
		options Options
		cascade int
		left    []Entry
		limited bool
		removes bool
	}{
		"all":      {Options{Destroy: true}, destroyLimit, nil, false, true},
		"too much": {Options{Destroy: true}, destroyLimit + 1, nil, true, true},
		"allowed":  {Options{Destroy: true, PruneLimit: new(100)}, destroyLimit + 1, nil, false, true},
		"none":     {Options{Destroy: true, PruneLimit: new(0)}, 0, nil, true, true},
		"kept":     {Options{Destroy: true}, 0, []Entry{{}}, false, false},
		"release":  {Options{Destroy: true, Releases: []string{"web"}}, 0, nil, false, false},
		"apply":    {Options{PruneLimit: new(0)}, 0, nil, true, false},
	} {
		p := &planner{Target: Target{Bundle: &fleet.Bundle{}, Options: c.options}, inventory: stored}
		plan := &Plan{Items: []Item{item(c.cascade)}, PruneLimit: c.options.pruneLimit(0), inventory: stored, next: &Inventory{Objects: c.left, Releases: map[string]string{"web": "x"}}}
		p.completeDestroy(plan)
		if got := plan.Faults() != nil; got != c.limited {
			t.Errorf("%s: a fault: %v", name, got)
		}
		if plan.removesRecord != c.removes {
			t.Errorf("%s: removes the record: %v", name, plan.removesRecord)
		}
		if _, ok := plan.next.Releases["web"]; ok == (name == "release") {
			t.Errorf("%s: the release is on record: %v", name, ok)
		}
	}
}

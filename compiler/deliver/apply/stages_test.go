package apply

import (
	"cmp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// levels returns a cluster in which web depends on db.
func levels() (c *fleet.Cluster, db, web, crds *fleet.Release) {
	db, web = &fleet.Release{Name: "db", Stage: "apps"}, &fleet.Release{Name: "web", Stage: "apps", Level: 1}
	crds = &fleet.Release{Name: "crds", Stage: "base"}
	return &fleet.Cluster{Stages: []string{"base", "apps"}, Releases: []*fleet.Release{crds, db, web}}, db, web, crds
}

func itemOf(r *fleet.Release, id string) Item {
	return Item{ID: id, Release: r.Name, Stage: r.Stage, release: r, object: &unstructured.Unstructured{}}
}

func TestItemsOf(t *testing.T) {
	c, db, web, crds := levels()
	removed := Item{ID: "gone", Release: "web", Stage: "apps"}
	r := &runner{Target: Target{Bundle: &fleet.Bundle{Cluster: c}}, plan: &Plan{Items: []Item{itemOf(crds, "crd"), itemOf(db, "db"), itemOf(web, "web"), removed}}}
	for _, step := range c.ApplySteps() {
		want := map[fleet.ApplyStep]string{{Stage: "base"}: "crd", {Stage: "apps"}: "db", {Stage: "apps", Level: 1}: "web"}[step]
		if of := r.itemsOf(step); len(of.rest) != 1 || of.rest[0].ID != want {
			t.Errorf("%v: %v", step, of.rest)
		}
	}
}

// An object cannot use a prerequisite from a later level.
func TestComesLater(t *testing.T) {
	c, db, web, crds := levels()
	p := &planner{Target: Target{Bundle: &fleet.Bundle{Cluster: c}}}
	all := []Item{itemOf(crds, "crds"), itemOf(db, "db"), itemOf(web, "web")}
	for i := range all {
		for j := range all {
			if got := p.before(&all[i], &all[j]); got != (i <= j) {
				t.Errorf("%s before %s: %v", all[i].ID, all[j].ID, got)
			}
		}
	}
	reason, hint := comesLater(db, "its namespace", web)
	if reason != "its namespace comes with release web, which applies later in stage apps" || hint != "move it to release db, or to one that applies before" {
		t.Errorf("%s; %s", reason, hint)
	}
	if reason, _ = comesLater(crds, "its CRD", web); reason != "its CRD comes with release web of the later stage apps" {
		t.Error(reason)
	}
}

// Actions of a stage run around its levels. A Job may use a namespace whose step
// has started.
func TestActionOrder(t *testing.T) {
	c, db, web, crds := levels()
	p := &planner{Target: Target{Bundle: &fleet.Bundle{Cluster: c}}}
	action := func(release string, after bool) PlannedAction {
		return PlannedAction{Action: fleet.Action{Release: release, Stage: "apps", After: after}, level: p.levelOf(release)}
	}
	want := []PlannedAction{action("", false), action("db", false), action("db", true), action("web", false), action("web", true), action("", true)}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b PlannedAction) int { return cmp.Compare(a.order(), b.order()) })
	later := map[*fleet.Release]int{crds: 0, db: 1, web: 3} // number of actions that run before the release
	for i, a := range got {
		if a.Release != want[i].Release || a.After != want[i].After {
			t.Errorf("action %d is of %q, after: %v", i, a.Release, a.After)
		}
		for r, n := range later {
			if p.isLater(r.ApplyStep(), &a) != (i < n) {
				t.Errorf("release %s is later than action %d: %v", r.Name, i, i >= n)
			}
		}
	}
}

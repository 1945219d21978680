package apply

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

func TestMissingNamespaceIsOneFault(t *testing.T) {
	plan := &Plan{}
	for _, id := range []string{"Secret web/a", "Secret web/b", "Secret db/a", "Secret web/c"} {
		it := Item{ID: id, ref: cluster.Ref{Namespace: id[len("Secret ") : len(id)-len("/a")], Name: "a"}}
		(&planner{}).withoutNamespace(&it, "")
		plan.Items = append(plan.Items, it)
	}
	var got []string
	for _, d := range diag.All(plan.Faults()) {
		got = append(got, d.Path+": "+d.Msg)
	}
	want := []string{"Secret db/a: there is no namespace db", "Secret web/a: there is no namespace web, which is also missing for 2 other objects"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPruneLimitCountsPartsOfHelm(t *testing.T) {
	release := Item{ID: "HelmRelease web/app", helm: &cluster.HelmState{Objects: make([]*unstructured.Unstructured, 79)}}
	inventory := &Inventory{Objects: []Entry{{Kind: "HelmRelease", Namespace: "web", Name: "app"}}}
	if n := appliedObjects(inventory, []Item{{ID: "ConfigMap web/new"}, release}); n != 80 {
		t.Errorf("%d objects are applied, not 80", n)
	}
	if limit := (Options{}).pruneLimit(80); limit != 16 {
		t.Errorf("the limit is %d, not 16", limit)
	}
}

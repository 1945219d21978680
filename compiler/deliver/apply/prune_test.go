package apply

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

func TestPruneBatch(t *testing.T) {
	item := func(kind, release string) *Item {
		return &Item{Release: release, ref: cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind}}}
	}
	space := item("Namespace", "a")
	space.Cascade = &Cascade{}
	for name, test := range map[string]struct {
		items []*Item
		want  int
	}{
		"all":             {[]*Item{item("ConfigMap", "a"), item("ConfigMap", "a"), item("ConfigMap", "a")}, 3},
		"another kind":    {[]*Item{item("ConfigMap", "a"), item("ConfigMap", "a"), item("Secret", "a")}, 2},
		"another release": {[]*Item{item("ConfigMap", "a"), item("ConfigMap", "b"), item("ConfigMap", "b")}, 1},
		"takes others":    {[]*Item{space, space}, 1},
		"others follow":   {[]*Item{item("Namespace", "a"), item("Namespace", "a"), space}, 2},
	} {
		if got := pruneBatch(test.items); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestPruneKeeps has objects of the inventory that are not in the bundle any more and
// must stay.
func TestPruneKeeps(t *testing.T) {
	namespace, config := schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "ConfigMap"}
	all := Target{Options: Options{PruneProtected: fleet.ProtectedKinds()}}
	for name, test := range map[string]struct {
		kind        schema.GroupKind
		name        string
		annotations map[string]string
		known       Entry
		target      Target
		want        string // reason; empty when it is pruned
	}{
		"a ConfigMap":          {config, "a", nil, Entry{}, Target{}, ""},
		"a namespace":          {namespace, "a", nil, Entry{}, all, ""},
		"fleetc's namespace":   {namespace, Namespace, nil, Entry{}, all, "it contains the inventory"},
		"a protected kind":     {namespace, "a", nil, Entry{}, Target{}, "only with --prune-protected"},
		"kept by Helm":         {config, "a", map[string]string{"helm.sh/resource-policy": "keep"}, Entry{}, all, "helm.sh/resource-policy: keep"},
		"kept by fleetc":       {config, "a", map[string]string{"fleetc.dev/prune": "never"}, Entry{}, all, "fleetc.dev/prune: never"},
		"there before":         {config, "a", nil, Entry{Preexisting: true}, all, "it existed before"},
		"while drift is fixed": {config, "a", nil, Entry{}, Target{Drifted: map[string]bool{}}, "--fix does not prune"},
	} {
		current := &unstructured.Unstructured{Object: map[string]any{}}
		current.SetName(test.name)
		current.SetAnnotations(test.annotations)
		it := &Item{ID: "x", ref: cluster.Ref{GroupVersionKind: test.kind.WithVersion("v1"), Name: test.name}}
		p := &planner{Target: test.target, recorded: map[string]Entry{"x": test.known}}
		action, reason := p.pruneRecorded(it, current)
		if (action == Prune) != (test.want == "") || !strings.Contains(reason, test.want) {
			t.Errorf("%s: %s, %q, want %q", name, action, reason, test.want)
		}
	}
}

// TestPruneOnlyRecorded checks that an object is not pruned if it has only the name of
// one in the inventory.
func TestPruneOnlyRecorded(t *testing.T) {
	ours := marked(t, `{}`, `{}`, map[string]string{"fleetc": `{"f:data":{}}`})
	theirs := marked(t, `{}`, `{}`, map[string]string{"kubectl": `{"f:data":{}}`})
	for name, test := range map[string]struct {
		uid     string
		current *unstructured.Unstructured
		want    bool
	}{
		"the recorded object":        {"u1", theirs, true},
		"a later one":                {"u2", ours, false},
		"no UID, applied by fleetc":  {"", ours, true},
		"no UID, applied by another": {"", theirs, false},
	} {
		test.current.SetUID("u1")
		p := &planner{recorded: map[string]Entry{"x": {UID: test.uid}}}
		if got := p.isRecorded("x", test.current); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// TestPartUIDs checks that objects without a UID, such as unreadable ones, do not count as
// objects of a Helm release: items without one would be lost.
func TestPartUIDs(t *testing.T) {
	items := []Item{{uid: "release", Parts: []Item{{uid: "part"}, {}}}, {uid: "other"}}
	if got := partUIDs(items); !maps.Equal(got, map[string]bool{"part": true}) {
		t.Errorf("got %v", got)
	}
}

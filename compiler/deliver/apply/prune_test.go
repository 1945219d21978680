package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

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

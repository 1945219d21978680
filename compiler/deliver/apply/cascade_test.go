package apply

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestParseProtected(t *testing.T) {
	all := fleet.ProtectedKinds()
	for _, c := range []struct {
		names string
		want  []schema.GroupKind
		fault string
	}{
		{names: ""},
		{names: "all", want: all},
		{names: "true", want: all},
		{names: "false"},
		{names: "Namespace", want: all[:1]},
		{names: "Namespace,Namespace,CustomResourceDefinition.apiextensions.k8s.io", want: all[:2]},
		{names: "PersistentVolume", want: all[2:3]},
		{names: "PersistentVolumeClaims", fault: "did you mean PersistentVolumeClaim?"},
		{names: "Namespace.apps", fault: `"Namespace.apps" is not a protected kind`},
		{names: "Secret", fault: "use one of Namespace, "},
	} {
		got, err := ParseProtected(strings.FieldsFunc(c.names, func(r rune) bool { return r == ',' }))
		if c.fault != "" {
			if err == nil || !strings.Contains(diag.All(err)[0].Msg+" "+diag.All(err)[0].Hint, c.fault) {
				t.Errorf("%q: %v, want %q", c.names, err, c.fault)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v, want %v", c.names, got, err, c.want)
		}
	}
}

// A protected kind is pruned only when it is selected.
func TestProtectedKinds(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for _, gk := range fleet.ProtectedKinds() {
		for _, chosen := range fleet.ProtectedKinds() {
			want := Keep
			if gk == chosen {
				want = Prune
			}
			if got, _ := (Options{PruneProtected: []schema.GroupKind{chosen}}).pruneOrKeep(gk, o); got != want {
				t.Errorf("%v with --prune-protected=%v: %s", gk, chosen, got)
			}
		}
	}
}

func TestCascade(t *testing.T) {
	var found []foundObject
	for _, name := range strings.Split("lkjihgfedcba", "") {
		found = append(found, foundObject{"ConfigMap x/" + name, name})
	}
	c := cascadeOf(found, []string{"Secret", "Pod"})
	if c.Count() != 12 || len(c.Names) != 10 || c.Names[0] != "ConfigMap x/a" {
		t.Errorf("%+v", c)
	}
	if got := c.String(); !strings.HasPrefix(got, "12 other objects are deleted with it: ConfigMap x/a, ") || !strings.HasSuffix(got, "ConfigMap x/j, and 2 more; the user is not allowed to list 2 kinds: Secret, Pod") {
		t.Error(got)
	}
	if got := (&Cascade{Unread: []string{"Secret"}}).String(); got != "the user is not allowed to list 1 kind: Secret" {
		t.Errorf("one kind: %q", got)
	}
	if got := (*Cascade)(nil).String() + (&Cascade{}).String(); got != "" {
		t.Error(got)
	}
	one := cascadeOf([]foundObject{{"ConfigMap x/a", "uid"}}, []string{"Secret"})
	one.Volume = "its data stays"
	for c, want := range map[*Cascade]string{
		one: `{"count":1,"names":["ConfigMap x/a"],"unread":["Secret"],"volume":"its data stays"}`, {Volume: "v"}: `{"count":0,"names":[],"volume":"v"}`,
	} {
		if got, err := json.Marshal(c); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	// Fewer objects than planned are accepted, more are not.
	if got := c.countExcept(append(slices.Clone(c.uids), "z")); got != 0 {
		t.Error(got)
	}
	if got := c.countExcept(c.uids[1:]); got != 1 {
		t.Error(got)
	}
	for id, want := range map[string]bool{
		"ServiceAccount x/default": true, "ConfigMap x/kube-root-ca.crt": true, "ConfigMap x/default": false, "ServiceAccount x/web": false,
	} {
		if isDefault(id) != want {
			t.Errorf("%s: %v", id, !want)
		}
	}
}

// Objects of cascades, also of parts, count toward the limit and are in a saved
// plan.
func TestCascadeCounts(t *testing.T) {
	crd := Item{ID: "CustomResourceDefinition.apiextensions.k8s.io a", Action: Prune, Cascade: &Cascade{uids: []string{"1", "2", "3"}}}
	release := Item{ID: "HelmRelease.helm.sh x/y", Action: Prune, Parts: []Item{{Action: Prune, Cascade: &Cascade{uids: []string{"4"}}}}}
	release.ref.GroupVersionKind = helmKind
	p := &Plan{Items: []Item{crd, release}, PruneLimit: 5}
	if p.Faults() == nil || p.Cascaded() != 4 {
		t.Errorf("6 objects are within a limit of 5: %d", p.pruned())
	}
	p.PruneLimit = 6
	if err := p.Faults(); err != nil {
		t.Error(err)
	}
	frozen := p.Saved()
	p.Items[0].Cascade = &Cascade{uids: []string{"1", "3"}}
	if err := frozen.Check(p); err != nil {
		t.Error(err)
	}
	p.Items[0].Cascade = &Cascade{uids: []string{"1", "5"}}
	if err := frozen.Check(p); err == nil || !strings.Contains(err.Error(), "1 object more would be deleted") {
		t.Error(err)
	}
}

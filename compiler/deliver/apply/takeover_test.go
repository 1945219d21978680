package apply

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// Adoption selects tools that apply whole objects. It selects the control plane,
// subresources and decorators only by name.
func TestManagers(t *testing.T) {
	const spec, meta = `{"f:spec":{"f:a":{}}}`, `{"f:metadata":{"f:annotations":{"f:a":{}}}}`
	for name, test := range map[string]struct {
		takeover takeover
		managers map[string]string
		want     []string
	}{
		"nothing":                  {takeover{}, map[string]string{"*kubectl-create": spec, "argocd-controller": spec}, nil},
		"known tools":              {takeover{appliers: true}, map[string]string{"*argocd-controller": spec, "*kubectl-edit": meta, "*Helm": spec, "*Terraform": spec, "*kapp-server": spec}, []string{"Helm", "Terraform", "argocd-controller", "kapp-server", "kubectl-edit"}},
		"a server-side applier":    {takeover{appliers: true}, map[string]string{"my-tool": spec}, []string{"my-tool"}},
		"one of metadata alone":    {takeover{appliers: true}, map[string]string{"my-tool": spec, "marker": meta}, []string{"my-tool"}},
		"a decorator that applies": {takeover{appliers: true}, map[string]string{"kubectl": spec, "cert-manager-cainjector": spec}, []string{"kubectl"}},
		"a decorator that updates": {takeover{appliers: true}, map[string]string{"kubectl": spec, "*webhook": spec}, []string{"kubectl"}},
		"the creator":              {takeover{appliers: true}, map[string]string{"*operator": spec}, []string{"operator"}},
		"no creator is known":      {takeover{appliers: true}, map[string]string{"*vpa-updater": spec, "*kube-controller-manager": spec}, nil},
		"named ones":               {takeover{named: []string{"webhook"}}, map[string]string{"kubectl": spec, "*webhook": meta}, []string{"webhook"}},
		"Argo CD, named":           {takeover{named: []string{argoManager}}, map[string]string{"argocd-controller": spec, "*argocd-application-controller": spec}, []string{"argocd-application-controller", "argocd-controller"}},
		"one of Argo CD's names":   {takeover{named: []string{argoReplacer}}, map[string]string{"argocd-controller": spec, "*argocd-application-controller": spec}, []string{"argocd-application-controller"}},
		"the control plane, named": {takeover{named: []string{"kube-controller-manager"}}, map[string]string{"*kube-controller-manager": spec}, nil},
		"handed back by Helm":      {takeover{handed: true}, map[string]string{"*helm": spec, "*kubectl-edit": spec, "argocd-controller": spec}, []string{"helm", "kubectl-edit"}},
	} {
		got := test.takeover.managers(marked(t, `{}`, `{}`, test.managers))
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	o := marked(t, `{}`, `{}`, map[string]string{"*kubectl": spec})
	entries := o.GetManagedFields()
	entries[0].Subresource = "scale"
	o.SetManagedFields(entries)
	if got := (takeover{appliers: true, named: []string{"kubectl"}}).managers(o); len(got) > 0 {
		t.Errorf("who has a subresource is taken over: %q", got)
	}
}

// Transferred fields belong to fleetc; exempt fields stay with their managers.
func TestTransferFields(t *testing.T) {
	o := marked(t, `{}`, `{}`, map[string]string{"fleetc": `{"f:data":{"f:a":{}}}`, "argocd": `{"f:data":{"f:b":{},"f:c":{}}}`, "*other": `{"f:data":{"f:d":{}}}`})
	for name, test := range map[string]struct {
		former []string
		spared string
		want   map[string]string
	}{
		"all":            {[]string{"argocd"}, "", map[string]string{"fleetc": `{"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`, "other": `{"f:data":{"f:d":{}}}`}},
		"some is spared": {[]string{"argocd", "other"}, "data.c", map[string]string{"fleetc": `{"f:data":{"f:a":{},"f:b":{},"f:d":{}}}`, "argocd": `{"f:data":{"f:c":{}}}`}},
		"nothing":        {nil, "", nil},
		"all is spared":  {[]string{"other"}, "data.d", nil},
	} {
		var spared [][]fleet.Step
		if path, ok := fleet.ParseSteps(test.spared); ok {
			spared = append(spared, path)
		}
		entries, changed := transferFields(o.GetManagedFields(), test.former, spared)
		got := map[string]any{}
		for _, m := range entries {
			got[m.Manager] = decode[any](t, string(m.FieldsV1.GetRawBytes()))
			if m.Manager == "fleetc" && m.Operation != metav1.ManagedFieldsOperationApply {
				t.Errorf("%s: fleetc has not applied them", name)
			}
		}
		if changed != (test.want != nil) {
			t.Errorf("%s: changed %v", name, changed)
		}
		for manager, want := range test.want {
			if !reflect.DeepEqual(got[manager], decode[any](t, want)) {
				t.Errorf("%s: %s has %v, want %s", name, manager, got[manager], want)
			}
		}
		if changed && len(got) != len(test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The plan lists removed fields: a removed map or element stands for its content,
// and API defaults are not listed.
func TestTakeovers(t *testing.T) {
	before := marked(t, `{}`, `{}`, map[string]string{
		"argocd": `{"f:spec":{"f:a":{},"f:m":{".":{},"f:x":{}},"f:l":{"k:{\"name\":\"side\"}":{".":{},"f:name":{}},"k:{\"name\":\"web\"}":{".":{},"f:env":{}}},"f:type":{},"f:s":{"v:\"p\"":{}}}}`,
	})
	before.Object["spec"] = decode[any](t, `{"a":1,"m":{"x":1,"y":2},"l":[{"name":"web","image":"w","env":[1]},{"name":"side","pull":"Always"}],"type":"Opaque","s":["p","q"]}`)
	current := before.DeepCopy()
	current.SetManagedFields(append(current.GetManagedFields(), marked(t, `{}`, `{}`, map[string]string{"fleetc": `{"f:spec":{"f:a":{},"f:l":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{}}}}}`}).GetManagedFields()...))
	it := &Item{takeover: takeover{appliers: true}}
	removed := it.removedFields(before, current)
	left, _ := removeFields(any(before.Object["spec"]), removed["f:spec"])
	if want := decode[any](t, `{"a":1,"l":[{"name":"web","image":"w"}],"s":["q"]}`); !reflect.DeepEqual(left, want) {
		t.Errorf("%v is left, want %v", left, want)
	}
	after := before.DeepCopy()
	after.Object["spec"] = decode[any](t, `{"a":1,"l":[{"name":"web","image":"w"}],"type":"Opaque","s":["q"]}`)
	want := []Takeover{{"argocd", []string{"spec.l[name=side]", "spec.l[name=web].env", "spec.m", "spec.s[p]"}}}
	if got := takeovers(before, after, it.formerManagers(before), removed); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The hint of a conflict names --strict for fields that it would take over.
func TestConflictHint(t *testing.T) {
	edited := cluster.Field{Path: "spec.replicas", Manager: "kubectl-edit", Message: `conflict with "kubectl-edit" using apps/v1`}
	scaled := cluster.Field{Path: "spec.replicas", Manager: "kubectl", Message: `conflict with "kubectl" with subresource "scale" using apps/v1`}
	other := cluster.Field{Path: "spec.replicas", Manager: "robot", Message: `conflict with "robot" using apps/v1`}
	for name, test := range map[string]struct {
		item Item
		want bool
	}{
		"by hand":     {Item{Fields: []cluster.Field{edited}}, true},
		"also a tool": {Item{Fields: []cluster.Field{other, edited}}, true},
		"scaled":      {Item{Fields: []cluster.Field{scaled}}, false},
		"a tool":      {Item{Fields: []cluster.Field{other}}, false},
		"with strict": {Item{Fields: []cluster.Field{edited}, takeover: takeover{byHand: true}}, false},
	} {
		if got := new(planner).conflictHint(&test.item); strings.Contains(got, "--strict") != test.want || !strings.Contains(got, "--force-conflicts") {
			t.Errorf("%s: %s", name, got)
		}
	}
	back := &planner{Target: Target{Origin: Origin{Rollback: 1}}}
	if got := back.conflictHint(&Item{Fields: []cluster.Field{edited}}); strings.Contains(got, "--strict") {
		t.Errorf("a rollback names a flag that it does not have: %s", got)
	}
}

package apply

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

const (
	byFleetMarks = `"fleetc.dev/fleet":"example.com/infra","fleetc.dev/cluster":"prod/a"`
	byArgoMarks  = `{` + byFleetMarks + `,"argocd.argoproj.io/tracking-id":"prod.a:example.com/Thing:b/a"}`
	byFluxLabels = `{"kustomize.toolkit.fluxcd.io/name":"apps","kustomize.toolkit.fluxcd.io/namespace":"flux-system"}`

	fleetFields = `"f:annotations":{"f:fleetc.dev/fleet":{},"f:fleetc.dev/cluster":{}}`
	argoFields  = `{"f:metadata":{"f:annotations":{"f:fleetc.dev/fleet":{},"f:fleetc.dev/cluster":{},"f:argocd.argoproj.io/tracking-id":{}}},` + specFields + `}`
	fluxFields  = `{"f:metadata":{` + fleetFields + `,"f:labels":{"f:kustomize.toolkit.fluxcd.io/name":{},"f:kustomize.toolkit.fluxcd.io/namespace":{}}},` + specFields + `}`
	specFields  = `"f:spec":{"f:size":{},"f:cpu":{},"f:on":{},"f:whole":{}}`
)

// An object that a GitOps tool applies from an export is compared as if fleetc had applied
// it: values that the API server normalizes or omits, and the marks of the tool, are no
// differences. A change by hand and a field that the bundle does not have any more are.
func TestDelivered(t *testing.T) {
	document, err := os.ReadFile("../cluster/testdata/things.json")
	if err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	schemas := &par.ResultMemo[schema.GroupVersion, *cluster.Schemas]{}
	if _, err := schemas.Get(gvk.GroupVersion(), func() (*cluster.Schemas, error) { return cluster.ReadSchemas(document), nil }); err != nil {
		t.Fatal(err)
	}
	const same = `{"size":1,"cpu":"1","whole":[{"name":"x","mode":"plain"}]}`
	const bundle = `{"size":1,"cpu":"1000m","on":false,"whole":[{"name":"x"}]}`
	argo, flux := map[string]string{argoManager: argoFields}, map[string]string{"kustomize-controller": fluxFields}
	for name, test := range map[string]struct {
		labels, annotations string
		managers            map[string]string
		live, bundle        string
		recorded            bool
		delivered, changed  bool
	}{
		"Argo CD":            {`{}`, byArgoMarks, argo, same, bundle, false, true, false},
		"Argo CD replaced":   {`{}`, byArgoMarks, map[string]string{"*" + argoReplacer: argoFields}, same, bundle, false, true, false},
		"Argo CD, no marks":  {`{}`, `{` + byFleetMarks + `}`, argo, same, bundle, false, true, false},
		"Flux":               {byFluxLabels, `{` + byFleetMarks + `}`, flux, same, bundle, false, true, false},
		"by hand":            {`{}`, byArgoMarks, map[string]string{argoManager: argoFields, "*kubectl-edit": `{"f:spec":{"f:size":{}}}`}, `{"size":2,"cpu":"1","whole":[{"name":"x","mode":"plain"}]}`, bundle, false, true, true},
		"a field less":       {`{}`, byArgoMarks, argo, same, `{"size":1,"cpu":"1000m","on":false}`, false, true, true},
		"applied by fleetc":  {`{}`, byArgoMarks, argo, same, bundle, true, false, true},
		"of another cluster": {`{}`, `{"fleetc.dev/fleet":"example.com/infra","fleetc.dev/cluster":"prod/b"}`, argo, same, bundle, false, false, true},
		"of another tool":    {`{}`, `{` + byFleetMarks + `}`, map[string]string{"kapp-server": argoFields}, same, bundle, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			live := marked(t, test.labels, test.annotations, test.managers)
			wanted := marked(t, `{}`, `{`+byFleetMarks+`}`, nil)
			for o, spec := range map[*unstructured.Unstructured]string{live: test.live, wanted: test.bundle} {
				o.Object["spec"] = decode[map[string]any](t, spec)
				o.SetGroupVersionKind(gvk)
				o.SetName("a")
				o.SetNamespace("b")
				entries := o.GetManagedFields()
				for i := range entries {
					entries[i].APIVersion, entries[i].FieldsType = gvk.GroupVersion().String(), "FieldsV1"
				}
				o.SetManagedFields(entries)
				text, err := o.MarshalJSON()
				if err == nil {
					err = o.UnmarshalJSON(text) // with the types of the API client
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			it := Item{ID: "x", uid: "1", object: wanted, ref: cluster.RefOf(wanted), release: &fleet.Release{}}
			p := &planner{Target: Target{Fleet: "example.com/infra", Bundle: &fleet.Bundle{Cluster: &fleet.Cluster{ID: "prod/a"}}}, schemas: schemas}
			if test.recorded {
				p.recorded = map[string]Entry{"x": {UID: "1"}}
			}
			c := &comparer{planner: p}
			by := c.deliverer(&it, live)
			if (by != nil) != test.delivered {
				t.Fatalf("it is delivered by %v", by)
			}
			if by != nil {
				it.takeover = it.deliveredBy(by, live)
			}
			s, err := c.simulate(t.Context(), &it, live)
			if err != nil {
				t.Fatal(err)
			}
			before, after := it.withoutLeftFields(s.before, s.after)
			changed := len(s.conflicts) > 0 || !reflect.DeepEqual(content(before), content(after))
			if changed != test.changed {
				t.Errorf("changed is %t, conflicts %v\nbefore %v\nafter  %v", changed, s.conflicts, content(before), content(after))
			}
		})
	}
}

// The marks of a HelmRelease of the export are no differences, and neither are the missing
// marks of the fleet on a CRD that it installs.
func TestAsHelmRelease(t *testing.T) {
	const labels = `{"helm.toolkit.fluxcd.io/name":"fleetc-shop","helm.toolkit.fluxcd.io/namespace":"flux-system"}`
	byHelm := &fleet.Release{Name: "shop", Delivery: fleet.ByHelm}
	parent := &Item{release: byHelm}
	for name, test := range map[string]struct {
		it                        Item
		labels, annotations       string // of the live object
		bundle                    string // annotations of the bundle's object
		delivered                 bool
		wantLabels, wantAnnotated int // how many
	}{
		"a part":              {Item{parent: parent}, labels, `{}`, `{"meta.helm.sh/release-name":"shop"}`, true, 2, 1},
		"kept":                {Item{parent: parent}, labels, `{"helm.sh/resource-policy":"keep"}`, `{"fleetc.dev/prune":"never"}`, true, 2, 2},
		"kept by hand":        {Item{parent: parent}, labels, `{"helm.sh/resource-policy":"keep"}`, `{"a":"b"}`, true, 2, 1},
		"a CRD":               {Item{release: byHelm}, labels, `{}`, `{` + byFleetMarks + `}`, true, 2, 0},
		"applied by fleetc":   {Item{ID: "known", uid: "1", release: byHelm}, labels, `{}`, `{` + byFleetMarks + `}`, false, 0, 2},
		"another release":     {Item{release: &fleet.Release{Name: "web", Delivery: fleet.ByHelm}}, labels, `{}`, `{}`, false, 0, 0},
		"not by Helm":         {Item{release: &fleet.Release{Name: "shop"}}, labels, `{}`, `{}`, false, 0, 0},
		"another HelmRelease": {Item{parent: parent}, `{"helm.toolkit.fluxcd.io/name":"fleetc-shop","helm.toolkit.fluxcd.io/namespace":"apps"}`, `{}`, `{}`, false, 0, 0},
	} {
		live := marked(t, test.labels, test.annotations, map[string]string{"helm-controller": `{` + specFields + `}`})
		it := test.it
		it.object = marked(t, `{}`, test.bundle, nil)
		b := &fleet.Bundle{Cluster: &fleet.Cluster{ID: "prod/a", GitOps: fleet.GitOps{Flux: fleet.Flux{Namespace: "flux-system"}}}}
		c := &comparer{planner: &planner{Target: Target{Bundle: b}, recorded: map[string]Entry{"known": {UID: "1"}}}}
		if it.ID == "" {
			it.ID, it.uid = "x", "2"
		}
		if got := c.asHelmRelease(&it, live); got != test.delivered {
			t.Errorf("%s: delivered is %t", name, got)
		}
		if n, m := len(it.object.GetLabels()), len(it.object.GetAnnotations()); n != test.wantLabels || m != test.wantAnnotated {
			t.Errorf("%s: labels %v, annotations %v", name, it.object.GetLabels(), it.object.GetAnnotations())
		}
	}
}

// An Application of a chart sends neither the marks of Helm nor those of the fleet.
func TestByArgoChart(t *testing.T) {
	const helmMarks = `{"meta.helm.sh/release-name":"shop","meta.helm.sh/release-namespace":"shop"}`
	tracked := func(app string) string {
		return `{"argocd.argoproj.io/tracking-id":"` + app + `:apps/Deployment:shop/shop"}`
	}
	byHelm := &fleet.Release{Name: "shop", Delivery: fleet.ByHelm}
	parent := &Item{release: byHelm}
	for name, test := range map[string]struct {
		it                Item
		live, manager     string // annotations and manager of the live object
		bundle            string // annotations of the bundle's object
		repo              string
		delivered         bool
		wantLabels, wantA int // how many
	}{
		"a part":              {Item{parent: parent}, tracked("prod.a--shop"), argoManager, helmMarks, "x", true, 0, 0},
		"another namespace":   {Item{parent: parent}, tracked("argocd_prod.a--shop"), argoManager, helmMarks, "x", true, 0, 0},
		"a label of Helm":     {Item{parent: parent, managedBy: "Helm"}, tracked("prod.a--shop"), argoManager, helmMarks, "x", true, 1, 0},
		"another Application": {Item{parent: parent}, tracked("prod.a--web"), argoManager, helmMarks, "x", false, 1, 2},
		"without a mark":      {Item{parent: parent}, `{}`, argoManager, helmMarks, "x", false, 1, 2},
		"a CRD":               {Item{release: byHelm}, `{}`, argoManager, `{` + byFleetMarks + `}`, "x", true, 1, 0},
		"a CRD of others":     {Item{release: byHelm}, `{}`, argoManager, `{` + byFleetMarks + `}`, "", false, 1, 2},
		"another manager":     {Item{release: byHelm}, `{}`, "kapp", `{` + byFleetMarks + `}`, "x", false, 1, 2},
		"applied by fleetc":   {Item{ID: "known", uid: "1", release: byHelm}, `{}`, argoManager, `{` + byFleetMarks + `}`, "x", false, 1, 2},
	} {
		live := marked(t, `{}`, test.live, map[string]string{test.manager: `{` + specFields + `}`})
		it := test.it
		it.object = marked(t, `{"app.kubernetes.io/managed-by":"Helm"}`, test.bundle, nil)
		b := &fleet.Bundle{Cluster: &fleet.Cluster{ID: "prod/a", GitOps: fleet.GitOps{ArgoCD: fleet.ArgoCD{Namespace: "argocd", RepoURL: test.repo}}}}
		c := &comparer{planner: &planner{Target: Target{Bundle: b}, recorded: map[string]Entry{"known": {UID: "1"}}}}
		if it.ID == "" {
			it.ID, it.uid = "x", "2"
		}
		if got := c.asHelmRelease(&it, live); got != test.delivered || got != (it.parent == nil && slices.Contains(it.takeover.named, argoManager)) {
			t.Errorf("%s: delivered is %t", name, got)
		}
		if n, m := len(it.object.GetLabels()), len(it.object.GetAnnotations()); n != test.wantLabels || m != test.wantA {
			t.Errorf("%s: labels %v, annotations %v", name, it.object.GetLabels(), it.object.GetAnnotations())
		}
	}
}

// Empty values of the bundle's object count as applied beside other fields of the set.
func TestWithEmptyValues(t *testing.T) {
	fields := decode[fieldSet](t, `{"f:spec":{"f:size":{},"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`)
	bundle := decode[map[string]any](t, `{"spec":{"size":1,"paused":false,"other":true,"map":{},"list":[{"name":"a","delay":0},{"name":"b","delay":0}]},"kind":""}`)
	want := decode[fieldSet](t, `{"f:kind":{},"f:spec":{"f:size":{},"f:paused":{},"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:delay":{}}}}}`)
	if got := fields.withEmptyValues(bundle); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for group, want := range map[string]bool{"": true, "apps": true, "networking.k8s.io": true, "example.com": false} {
		if isBuiltIn(group) != want {
			t.Errorf("group %q: %t", group, !want)
		}
	}
}

// Only maps that the bundle's object does not have count as empty maps that a tool adds.
func TestEmptyMaps(t *testing.T) {
	fields := decode[fieldSet](t, `{"f:spec":{"f:strategy":{},"f:paused":{},"f:selector":{},"f:list":{"k:{\"port\":80}":{".":{},"f:port":{},"f:more":{}}}}}`)
	live := decode[map[string]any](t, `{"spec":{"strategy":{"type":"x"},"paused":true,"selector":{"a":"b"},"list":[{"port":80,"more":{}}]}}`)
	bundle := decode[map[string]any](t, `{"spec":{"selector":{"a":"c"},"list":[{"port":80}]}}`)
	want := [][]fleet.Step{
		{{Key: "spec"}, {Key: "list"}, {Fields: map[string]string{"port": "80"}}, {Key: "more"}},
		{{Key: "spec"}, {Key: "strategy"}},
	}
	if got := emptyMaps(nil, fields, live, bundle); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

package apply

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// marked returns an object with labels and annotations, and with its managers:
// Apply entries for names, Update entries for names with a *.
func marked(t *testing.T, labels, annotations string, managers map[string]string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetLabels(decode[map[string]string](t, labels))
	o.SetAnnotations(decode[map[string]string](t, annotations))
	var entries []metav1.ManagedFieldsEntry
	for name, fields := range managers {
		if !json.Valid([]byte(fields)) {
			t.Fatal(fields)
		}
		e := metav1.ManagedFieldsEntry{Manager: name, Operation: "Apply", FieldsV1: metav1.NewFieldsV1(fields)}
		if name[0] == '*' {
			e.Manager, e.Operation = name[1:], "Update"
		}
		entries = append(entries, e)
	}
	o.SetManagedFields(entries)
	return o
}

// Each tool is recognized by its labels and annotations.
func TestOtherOwner(t *testing.T) {
	for _, test := range []struct{ labels, annotations, want string }{
		{`{"kustomize.toolkit.fluxcd.io/name":"web","kustomize.toolkit.fluxcd.io/namespace":"apps"}`, `{}`, "Flux Kustomization apps/web"},
		{`{"helm.toolkit.fluxcd.io/name":"web","helm.toolkit.fluxcd.io/namespace":"apps"}`, `{"meta.helm.sh/release-name":"x"}`, "Flux HelmRelease apps/web"},
		{`{}`, `{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"apps"}`, "Helm release apps/web"},
		{`{}`, `{"argocd.argoproj.io/tracking-id":"web:/ConfigMap:a/b"}`, "Argo CD application web"},
		{`{"argocd.argoproj.io/instance":"web"}`, `{}`, "Argo CD application web"},
		{`{"kapp.k14s.io/app":"1700"}`, `{}`, "kapp app 1700"},
		{`{}`, `{"configsync.gke.io/resource-id":"x"}`, "Config Sync"},
		{`{"configsync.gke.io/declared-version":"v1"}`, `{"configsync.gke.io/manager":":root"}`, "Config Sync :root"},
		{`{}`, `{"configmanagement.gke.io/managed":"enabled"}`, "Config Sync"},
		{`{}`, `{"configmanagement.gke.io/managed":"disabled"}`, ""},
		{`{"objectset.rio.cattle.io/hash":"x"}`, `{}`, "Rancher"},
		{`{}`, `{"objectset.rio.cattle.io/owner-gvk":"fleet.cattle.io/v1alpha1, Kind=Bundle","objectset.rio.cattle.io/owner-name":"web","objectset.rio.cattle.io/owner-namespace":"fleet"}`, "Rancher Bundle fleet/web"},
		{`{}`, `{"fleetc.dev/fleet":"example.com/other"}`, "fleet example.com/other of fleetc"},
		{`{}`, `{"fleetc.dev/fleet":"example.com/infra"}`, ""},
		{`{"app.kubernetes.io/name":"web","app.kubernetes.io/managed-by":"Helm"}`, `{"a":"b"}`, ""},
	} {
		o := marked(t, test.labels, test.annotations, map[string]string{"*some": `{"f:metadata":{"f:labels":{},"f:annotations":{}}}`})
		if got, _ := (delivery{fleet: "example.com/infra"}).otherOwner(o); got != test.want {
			t.Errorf("labels %s, annotations %s: %q, want %q", test.labels, test.annotations, got, test.want)
		}
	}
}

// Marks that the bundle sets do not count as another tool's, and an object keeps
// its owner as long as fleetc owns fields of it.
func TestNewOwner(t *testing.T) {
	const (
		argo      = `{"argocd.argoproj.io/instance":"web"}`
		argoField = `{"f:metadata":{"f:labels":{"f:argocd.argoproj.io/instance":{}}}}`
		release   = `{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"apps"}`
		helmField = `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}}}}`
		data      = `{"f:data":{"f:a":{}}}`
	)
	applied, byHelm := delivery{fleet: "f"}, delivery{fleet: "f", release: "web", namespace: "apps"}
	for name, test := range map[string]struct {
		delivery            delivery
		labels, annotations string
		managers            map[string]string
		want                string
	}{
		"a label of the bundle":              {applied, argo, `{}`, map[string]string{"fleetc": argoField}, ""},
		"a label of another":                 {applied, argo, `{}`, map[string]string{"fleetc": data, "argocd-controller": argoField}, "Argo CD application web"},
		"a label that both set":              {applied, argo, `{}`, map[string]string{"fleetc": argoField, "argocd-controller": argoField}, ""},
		"annotations of a Helm release":      {applied, `{}`, release, map[string]string{"fleetc": data, "*helm": helmField}, "Helm release apps/web"},
		"annotations of the bundle":          {applied, `{}`, release, map[string]string{"fleetc": helmField}, ""},
		"its own Helm release":               {byHelm, `{}`, release, map[string]string{"*helm": helmField}, ""},
		"its own, in a namespace not known":  {delivery{fleet: "f", release: "web"}, `{}`, release, map[string]string{"*helm": helmField}, ""},
		"a Helm release in another space":    {delivery{fleet: "f", release: "web", namespace: "x"}, `{}`, release, map[string]string{"*helm": helmField}, "Helm release apps/web"},
		"another Helm release":               {delivery{fleet: "f", release: "shop"}, `{}`, release, map[string]string{"*helm": helmField}, "Helm release apps/web"},
		"a label of the chart":               {byHelm, argo, release, map[string]string{"*helm": argoField}, ""},
		"all fields taken":                   {applied, `{}`, `{}`, map[string]string{"terraform": data}, "terraform"},
		"all fields taken by two":            {applied, `{}`, `{}`, map[string]string{"terraform": data, "*kubectl": data}, "kubectl and terraform"},
		"all fields taken by Helm":           {applied, `{}`, `{}`, map[string]string{"*helm": data}, "helm"},
		"all fields but those not applied":   {applied, `{}`, `{}`, map[string]string{"terraform": data, "*fleetc": data}, "terraform"},
		"nobody has any":                     {applied, `{}`, `{}`, nil, ""},
		"the control plane has the rest":     {applied, `{}`, `{}`, map[string]string{"*kube-controller-manager": data}, ""},
		"fields that Helm has":               {byHelm, `{}`, `{}`, map[string]string{"*helm": data, "*kubectl": data}, ""},
		"fields that Helm has no more":       {byHelm, `{}`, `{}`, map[string]string{"terraform": data}, "terraform"},
		"the mark of another fleet, by name": {applied, `{}`, `{"fleetc.dev/fleet":"g"}`, map[string]string{"fleetc": `{"f:metadata":{"f:annotations":{"f:fleetc.dev/fleet":{}}}}`}, "fleet g of fleetc"},
	} {
		if got := test.delivery.newOwner(marked(t, test.labels, test.annotations, test.managers)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The delivery of an object decides which marks are fleetc's own.
func TestDeliveryOf(t *testing.T) {
	e := Entry{Version: "v1", Kind: "ConfigMap", Namespace: "n", Name: "a", Release: "web"}
	kept := e
	kept.Kept = true
	ours, helms := marked(t, `{}`, `{}`, map[string]string{"fleetc": `{"f:data":{}}`}), marked(t, `{}`, `{}`, map[string]string{"*helm": `{"f:data":{}}`})
	for name, test := range map[string]struct {
		e      Entry
		live   *unstructured.Unstructured
		handed bool
		want   string
	}{
		"applied":                {e, ours, false, ""},
		"applied, taken by Helm": {e, helms, false, ""},
		"kept by Helm":           {kept, helms, false, "web"},
		"kept by fleetc":         {kept, ours, false, ""},
		"handed back by Helm":    {e, helms, true, "web"},
	} {
		p := &planner{handedOver: map[string]bool{e.id(): test.handed}}
		if got, err := p.deliveryOf(t.Context(), test.e, test.live); err != nil || got.release != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got.release, err, test.want)
		}
	}
}

// A killed apply leaves an entry without the UID of the created object. The object
// still counts as fleetc's, and its delivery is set.
func TestNewOwnerAfterKill(t *testing.T) {
	current := marked(t, `{}`, `{"fleetc.dev/fleet":"f"}`, map[string]string{"fleetc": `{"f:metadata":{"f:annotations":{"f:fleetc.dev/fleet":{}}},"f:data":{}}`})
	current.SetUID("u")
	e := Entry{Version: "v1", Kind: "ConfigMap", Namespace: "n", Name: "a", Release: "web"}
	p := &planner{Target: Target{Fleet: "f"}, recorded: map[string]Entry{e.id(): e}}
	it := &Item{ID: e.id()}
	if owner, err := p.newOwner(t.Context(), it, current); err != nil || owner != "" || it.delivery.fleet != "f" {
		t.Errorf("owner %q, delivery %+v, %v, want no owner and fleet f", owner, it.delivery, err)
	}
	if owner := it.delivery.newOwner(current); owner != "" {
		t.Errorf("%q has it, want nobody", owner)
	}
}

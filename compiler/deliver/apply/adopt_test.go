package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// An object is foreign if another tool made it, or manages it now. An object of the
// inventory is not, unless Helm kept it or another fleet has it.
func TestIsForeign(t *testing.T) {
	const data = `{"f:data":{}}`
	const flux = `{"kustomize.toolkit.fluxcd.io/name":"a","kustomize.toolkit.fluxcd.io/namespace":"b"}`
	byFlux := map[string]string{"kustomize-controller": `{"f:metadata":{"f:labels":{"f:kustomize.toolkit.fluxcd.io/name":{},"f:kustomize.toolkit.fluxcd.io/namespace":{}}}}`}
	withOwn := map[string]string{cluster.Manager: data, "kustomize-controller": byFlux["kustomize-controller"]}
	for name, test := range map[string]struct {
		kind                string
		labels, annotations string
		managers            map[string]string
		known               Entry
		want                bool
	}{
		"made with kubectl":              {kind: "ConfigMap", managers: map[string]string{"kubectl": data}, want: true},
		"made by the control plane":      {kind: "ConfigMap", managers: map[string]string{"*kube-controller-manager": data}},
		"a namespace":                    {kind: "Namespace", managers: map[string]string{"kubectl": data}},
		"a namespace of another fleet":   {kind: "Namespace", annotations: `{"fleetc.dev/fleet":"example.com/other"}`, managers: map[string]string{cluster.Manager: data}, want: true},
		"applied by fleetc":              {kind: "ConfigMap", managers: map[string]string{cluster.Manager: data, "kubectl": data}},
		"of another fleet":               {kind: "ConfigMap", annotations: `{"fleetc.dev/fleet":"example.com/other"}`, managers: map[string]string{cluster.Manager: data}, want: true},
		"known, of another fleet":        {kind: "ConfigMap", annotations: `{"fleetc.dev/fleet":"example.com/other"}`, managers: map[string]string{cluster.Manager: data}, known: Entry{UID: "1"}, want: true},
		"of this fleet":                  {kind: "ConfigMap", annotations: `{"fleetc.dev/fleet":"example.com/infra"}`, managers: map[string]string{cluster.Manager: data}},
		"known":                          {kind: "ConfigMap", managers: map[string]string{"kubectl": data}, known: Entry{UID: "1"}},
		"known, but made again":          {kind: "ConfigMap", managers: map[string]string{"kubectl": data}, known: Entry{UID: "0"}, want: true},
		"known, kept by Helm":            {kind: "ConfigMap", managers: map[string]string{"kubectl": data}, known: Entry{UID: "1", Kept: true}, want: true},
		"applied, and now Flux's":        {kind: "ConfigMap", labels: flux, managers: withOwn, want: true},
		"applied, known, and now Flux's": {kind: "ConfigMap", labels: flux, managers: withOwn, known: Entry{UID: "1"}},
	} {
		o := marked(t, orEmpty(test.labels), orEmpty(test.annotations), test.managers)
		it := &Item{ID: "x", uid: "1", ref: cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: test.kind}}}
		p := &planner{Target: Target{Fleet: "example.com/infra"}, recorded: map[string]Entry{"x": test.known}}
		if got := p.isForeign(it, o); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func orEmpty(text string) string {
	if text == "" {
		return "{}"
	}
	return text
}

// --adopt takes over objects of tools that do not revert changes, and --adopt=from:NAME
// those of the named managers.
func TestMayAdopt(t *testing.T) {
	const data = `{"f:data":{}}`
	const fluxLabels = `{"kustomize.toolkit.fluxcd.io/name":"a","kustomize.toolkit.fluxcd.io/namespace":"b"}`
	const fluxFields = `{"f:data":{},"f:metadata":{"f:labels":{"f:kustomize.toolkit.fluxcd.io/name":{},"f:kustomize.toolkit.fluxcd.io/namespace":{}}}}`
	kubectl := marked(t, "{}", "{}", map[string]string{"kubectl": data})
	flux := marked(t, fluxLabels, "{}", map[string]string{"kustomize-controller": fluxFields})
	for name, test := range map[string]struct {
		options       Options
		kubectl, flux bool
	}{
		"no option":     {},
		"--adopt":       {Options{Adopt: true}, true, false},
		"from kubectl":  {Options{AdoptFrom: []string{"kubectl"}}, true, false},
		"from Flux":     {Options{AdoptFrom: []string{"kustomize-controller"}}, false, true},
		"from somebody": {Options{AdoptFrom: []string{"other"}}, false, false},
	} {
		p := &planner{Target: Target{Fleet: "example.com/infra", Options: test.options}}
		if got := p.mayAdopt(kubectl); got != test.kubectl {
			t.Errorf("%s: kubectl's object: %v", name, got)
		}
		if got := p.mayAdopt(flux); got != test.flux {
			t.Errorf("%s: Flux's object: %v", name, got)
		}
	}
}

// A stage and a release that the cluster does not have are faults.
func TestCheckScope(t *testing.T) {
	c, _, _, _ := levels()
	target := Target{Bundle: &fleet.Bundle{Cluster: c}, Options: Options{Stages: []string{"apps", "bsae"}, Releases: []string{"db", "wbe"}}}
	var got []string
	for _, d := range diag.All(target.CheckScope()) {
		got = append(got, d.Msg+": "+d.Hint)
	}
	const want = `the cluster has no release "wbe": did you mean web?` + "\n" + `the cluster has no stage "bsae": did you mean base?`
	if strings.Join(got, "\n") != want {
		t.Errorf("got %q", got)
	}
	if target.Destroy = true; target.CheckScope() != nil {
		t.Error("a destroy checks the scope by the inventory")
	}
}

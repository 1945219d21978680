package kube

import (
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const customHead = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop, generation: 3}
`

func TestCustomResource(t *testing.T) {
	check(t, nil, customHead, []sample{
		{"no status", "", HealthUnknown, "it has no status yet"},
		{"an empty one", "status: {}", HealthUnknown, "it has no status yet"},
		{"a phase", "status: {phase: Weird}", HealthUnknown, "its status has no condition Ready"},
		{"seen", "status: {observedGeneration: 3}", HealthReady, "its controller has seen its last change"},
		{"not seen", "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}", HealthInProgress, "its controller has seen generation 2, and the last is 3"},
		{"ready", "status: {conditions: [{type: Synced, status: 'False'}, {type: Ready, status: 'True', reason: Done}]}", HealthReady, "condition Ready is True: Done"},
		{"not ready", "status: {conditions: [{type: Ready, status: 'False', reason: DoesNotExist, message: \"secret\\n  \\\"tls\\\" not\\x1b found\"}]}", HealthInProgress, "condition Ready is False: DoesNotExist: secret \"tls\" not\uFFFD found"},
		{"undecided", "status: {conditions: [{type: Ready, status: Unknown}]}", HealthInProgress, "condition Ready is Unknown"},
		{"a condition of an older generation", "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}", HealthInProgress, "condition Ready does not reflect the last generation yet"},
		{"available", "status: {conditions: [{type: Available, status: 'True'}]}", HealthReady, "condition Available is True"},
		{"stalled", "status: {conditions: [{type: Stalled, status: 'True', reason: Bad}, {type: Ready, status: 'True'}]}", HealthFailed, "condition Stalled is True: Bad"},
		{"reconciling", "status: {conditions: [{type: Reconciling, status: 'True', reason: Progressing}, {type: Ready, status: 'True'}]}", HealthInProgress, "condition Reconciling is True: Progressing"},
		{"nonsense", "status: {conditions: [3, {type: 4, status: []}, {}], observedGeneration: x}", HealthUnknown, "its status has no condition Ready"},
		{"more nonsense", "status: [1]", HealthUnknown, "it has no status yet"},
	})
	if v := (*HealthRules)(nil).Judge(fleet.Object{}); v.State != HealthMissing {
		t.Errorf("no object: %v", v)
	}
}

// Objects of a kind without a status are ready when they exist.
func TestStatusless(t *testing.T) {
	definition := func(version string) string {
		return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, names: {kind: Widget, plural: widgets}, versions: [` + version + `]}`
	}
	for _, test := range []struct {
		version string
		want    HealthState
	}{
		{"{name: v1, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}", HealthReady},
		{"{name: v1, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}", HealthUnknown},
		{"{name: v1, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object}}}}}", HealthUnknown},
		{"{name: v1, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}", HealthUnknown},
		{"{name: v1}", HealthUnknown},
		{"3", HealthUnknown},
		{"", HealthUnknown},
	} {
		r, err := CompileHealthRules(&fleet.Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		r.AddCRDs(fleet.Object{Unstructured: parseObject(t, definition(test.version))}, fleet.Object{})
		if got := r.Judge(fleet.Object{Unstructured: parseObject(t, customHead)}); got.State != test.want {
			t.Errorf("%s: %v", test.version, got)
		}
	}
}

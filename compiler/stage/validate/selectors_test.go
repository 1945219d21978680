package validate

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestWorkload(t *testing.T) {
	const template = "template: {metadata: {labels: {app: a, tier: b}}}"
	for _, tt := range []struct{ definition, spec, want string }{
		{apps + "DeploymentSpec", "{selector: {matchLabels: {app: a}}, " + template + "}", ""},
		{apps + "DeploymentSpec", "{selector: {matchExpressions: [{key: tier, operator: In, values: [b, c]}]}, " + template + "}", ""},
		{apps + "DeploymentSpec", "{selector: {matchExpressions: [{key: tier, operator: NotIn, values: [b]}]}, " + template + "}", "# x.selector selects tier notin (b), but the labels of the template are app=a,tier=b;#   hint: give the template those labels;"},
		{apps + "DeploymentSpec", "{selector: {matchLabels: {app: 3}}, " + template + "}", ""}, // which has another fault
		{apps + "DeploymentSpec", "{selector: {matchExpressions: [{key: tier, operator: Like}]}, " + template + "}", ""},
		{apps + "DeploymentSpec", "{selector: {matchLabels: {app: b}}}", ""},
		{apps + "DeploymentSpec", "{" + template + "}", ""},
		{core + "ReplicationControllerSpec", "{" + template + "}", ""},
		{core + "ReplicationControllerSpec", "{selector: {app: a}, " + template + "}", ""},
		{batch + "JobSpec", "{manualSelector: false, template: {spec: {restartPolicy: Never}}}", ""},
		{batch + "JobSpec", "{manualSelector: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never}}}", ""},
		{batch + "JobSpec", "{backoffLimit: -1, template: {spec: {restartPolicy: OnFailure}}}", "# x.backoffLimit is -1, less than 0;"},
	} {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(tt.spec), &m); err != nil {
			t.Fatal(err)
		}
		if got := messages(func(w *walk) { w.workload(tt.definition, m) }); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.spec, got, tt.want)
		}
	}
}

func TestRequirements(t *testing.T) {
	for _, tt := range []struct {
		requirement string
		label, node bool // whether a selector of labels and one of nodes take it
	}{
		{"{key: a, operator: In, values: [b]}", true, true},
		{"{key: a, operator: In, values: [b c]}", false, true},
		{"{key: a, operator: NotIn}", false, false},
		{"{key: a, operator: Exists}", true, true},
		{"{key: a, operator: DoesNotExist, values: [b]}", false, false},
		{"{key: a b, operator: Exists}", false, false},
		{`{key: a, operator: Gt, values: ["1"]}`, false, true},
		{"{key: a, operator: Lt, values: [a, b]}", false, false},
		{"{key: 3, operator: 4, values: 5}", true, true}, // which has other faults
	} {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(tt.requirement), &m); err != nil {
			t.Fatal(err)
		}
		if got := messages(func(w *walk) { w.selectorRequirement(m) }); (got == "") != tt.label {
			t.Errorf("a selector of labels with %s: %q", tt.requirement, got)
		}
		if got := messages(func(w *walk) { w.nodeRequirement(m) }); (got == "") != tt.node {
			t.Errorf("a selector of nodes with %s: %q", tt.requirement, got)
		}
	}
}

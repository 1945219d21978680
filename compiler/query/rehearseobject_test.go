package query

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Only fields with the rule that a value never changes are immutable, and only if both
// states set them.
func TestImmutableCustomFields(t *testing.T) {
	const text = `{properties: {spec: {properties: {
		name: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]},
		size: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf"}]},
		storage: {x-kubernetes-validations: [{rule: "has(self.a)"}, {rule: "oldSelf==self"}], properties: {class: {type: string}}}}}}}`
	read := func(text string) map[string]any {
		out := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct{ before, after, want string }{
		{"{name: a, size: 1}", "{name: a, size: 2}", ""},
		{"{name: a}", "{name: b}", "spec.name"},
		{"{}", "{name: b}", ""},
		{"{name: a}", "{}", ""},
		{"{name: a, storage: {class: a}}", "{name: b, storage: {class: b}}", "spec.name spec.storage"},
	} {
		got := immutableCustomFields(crdVersion{schema: read(text)}, read("spec: "+c.before), read("spec: "+c.after))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s to %s: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

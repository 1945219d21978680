package values

import (
	"slices"
	"testing"
)

// TestOpenValues checks that [Type.Coverage] and [Type.CheckTyped] agree on
// which values are open.
func TestOpenValues(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": "labels: {}\ncount: null\nextra: {}\nargs: []\n",
		"templates/x.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    {{- toYaml .Values.labels | nindent 4 }}\nspec:\n" +
			"  terminationGracePeriodSeconds: {{ .Values.count }}\n  nodeSelector: {{ toJson .Values.selector }}\n  containers:\n" +
			"  - args: {{ toYaml .Values.args | nindent 4 }}\n    env: {{ toJson .Values.extra | quote }}\n",
	}))
	if got, want := typ.Coverage().Open, []string{"extra"}; !slices.Equal(got, want) {
		t.Errorf("open values %q, want %q", got, want)
	}
	for _, text := range []string{"labels: {team: a}", "count: 3", "selector: {zone: a}", "args: [a]"} {
		if got := typ.CheckTyped(tree(t, "v.yaml", text), nil); len(got) > 0 {
			t.Errorf("%s: %s", text, faults(got))
		}
	}
	if got := typ.CheckTyped(tree(t, "v.yaml", "extra: {a: b}"), nil); len(got) != 1 {
		t.Errorf("extra: %s", faults(got))
	}
}

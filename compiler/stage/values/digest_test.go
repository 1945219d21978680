package values

import (
	"strings"
	"testing"
)

// TestDigest checks that the digest of a map does not make its unknown keys
// valid.
func TestDigest(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": "agent: {name: x, onlyDigest: 1, env: {}}\nextra: {}\nother: {a: 1}\n",
		"templates/x.yaml": `
a: {{ toYaml .Values.agent | sha256sum }}{{ sha256sum (toJson .Values.extra) }}{{ .Values.agent.name }}
b: {{ $_ := set .Values.agent "env" .Values.other }}
c: {{ toYaml .Values.agent.env }}
`,
	}))
	for values, want := range map[string]string{
		"agent: {name: y, onlyDigest: 2, env: {A: 1}}": "",
		"agent: {nmae: y}":             "values.agent.nmae",
		"agent: [x]":                   "values.agent",
		"extra: {a: 1}\nother: {b: 1}": "",
	} {
		var got []string
		for _, f := range typ.Check(tree(t, "v.yaml", values), nil) {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", values, got, want)
		}
	}
}

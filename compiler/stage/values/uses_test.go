package values

import "testing"

// TestUsesOfDependencies checks values of disabled dependencies with templates
// of the chart itself that read them.
func TestUsesOfDependencies(t *testing.T) {
	files := func(template string) map[string]string {
		return map[string]string{
			"Chart.yaml":                           "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: a, version: 1.x}]\n",
			"values.yaml":                          "a: {b: {enabled: false}}\n",
			"templates/x.yaml":                     template,
			"charts/a/Chart.yaml":                  "apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [{name: b, version: 1.x, condition: b.enabled}]\n",
			"charts/a/charts/b/Chart.yaml":         "apiVersion: v2\nname: b\nversion: 1.0.0\n",
			"charts/a/charts/b/values.yaml":        "x: 1\ny: {z: 1}\n",
			"charts/a/charts/b/templates/cm.yaml":  "{{ .Values.x }}{{ .Values.n.z }}",
			"charts/a/charts/b/templates/NOTES.md": "",
		}
	}
	for template, faulty := range map[string]map[string]bool{
		"":                                       {"x: 2": true, "n: {z: 2}": true, "enabled: false": false},
		"{{ .Values.a.b.x }}":                    {"x: 2": false, "n: {z: 2}": true},
		"{{ .Values.a.b.n.z }}":                  {"x: 2": true, "n: {z: 2}": false},
		"{{ toYaml .Values.a }}":                 {"x: 2": false, "n: {z: 2}": false},
		"{{ toYaml .Values.a.b.n }}":             {"x: 2": true, "n: {z: 2}": false},
		"{{ index .Values.a.b (print .Name) }}":  {"x: 2": false, "n: {z: 2}": false},
		"{{ range .Values.a }}{{ .x }}{{ end }}": {"x: 2": false, "n: {z: 2}": false},
	} {
		typ := derive(t, fleetChart(files(template)))
		again, _ := stored(t, fleetChart(files(template)))
		for text, want := range faulty {
			v := tree(t, "v.yaml", "a: {b: {"+text+"}}")
			if got := typ.Check(v, nil); len(got) > 0 != want {
				t.Errorf("%s: %s: %s", template, text, faults(got))
			}
			if got := again.Check(v, nil); len(got) > 0 != want {
				t.Errorf("%s: %s, from the stored types: %s", template, text, faults(got))
			}
		}
	}
}

// TestUsesAreBounded has more reads than the limit. Beyond the limit, everything
// counts as used.
func TestUsesAreBounded(t *testing.T) {
	read := &Read{Keys: map[string]*Read{"a": {Keys: map[string]*Read{"b": {}}}, "c": {}}}
	left := 2
	u := newUses(read, &left)
	if at := u.at("a"); at == nil || at.all {
		t.Errorf("a: %+v", at)
	}
	if at := u.at("a").at("b"); at == nil || !at.all {
		t.Errorf("a.b: %+v", at)
	}
	if at := u.at("c").at("any"); at == nil || !at.all {
		t.Errorf("c: %+v", at)
	}
	left = maxUses
	if at := newUses(read, &left).at("d"); at != nil {
		t.Errorf("d: %+v", at)
	}
}

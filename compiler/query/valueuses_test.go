package query

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// The uses of a value are the fields that change with it, with the template lines that print
// them.
func TestUses(t *testing.T) {
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue":     "module: \"example.com/small\"\nlanguage: version: \"v0.17.0\"\n",
		"charts/web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"charts/web/values.yaml": "replicas: 1\nimage:\n  tag: \"1.0\"\npassword: hunter2-hunter2\nextra: false\n",
		"charts/web/templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  count: {{ .Values.replicas | quote }}\n" +
			"  image: web:{{ .Values.image.tag }}\n  random: {{ randAlphaNum 5 }}\n",
		"charts/web/templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {p: {{ .Values.password }}}\n",
		"charts/web/templates/extra.yaml":  "{{ if .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n{{ end }}\n",
		"environments/c/cluster.cue": "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\ncluster: schema.#Cluster & {name: \"c\", kubernetes: \"1.36\"}\nreleases: schema.#Releases\n" +
			"releases: web: {namespace: \"web\", chart: path: \"charts/web\", values: {replicas: 3, extra: true}\n" +
			"\tpatches: p: {target: names: [\"extra\"], merge: data: a: \"b\"}\n}\n",
	})
	f, err := (&compiler.Compiler{Dir: dir, Cache: t.TempDir(), Offline: true}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := RenderForUses(t.Context(), f, f.Clusters[0])
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"replicas":  "ConfigMap web/web data.count holds web/templates/web.yaml:5",
		"image.tag": "ConfigMap web/web data.image holds web/templates/web.yaml:6",
		"password":  "Secret web/web stringData.p holds secret web/templates/secret.yaml:4",
		"extra":     "ConfigMap web/extra  exists web/templates/extra.yaml:2",
	} {
		value, ok := map[string]any{"replicas": 3.0, "image.tag": "1.0", "password": "hunter2-hunter2", "extra": true}[path]
		uses, err := c.Uses(t.Context(), "web", strings.Split(path, "."), value)
		var got []string
		for _, u := range uses {
			text := fmt.Sprintf("%s %s %s", u.Object.ID(), strings.Join(u.Field, "."), u.How)
			if u.Secret {
				text += " secret"
			}
			for _, l := range u.Lines {
				text += fmt.Sprintf(" %s:%d", l.Template, l.Line)
			}
			got = append(got, text)
		}
		if !ok || err != nil || strings.Join(got, "\n") != want {
			t.Errorf("%s is used in %q, %v, want %q", path, got, err, want)
		}
	}
	if !c.IsSecret("hunter2-hunter2") || c.IsSecret("web") {
		t.Error("the values of Secrets are not known")
	}
}

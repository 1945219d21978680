package values

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// quiet silences the logger of the process, to which Helm's functions write.
func quiet(t testing.TB) {
	t.Helper()
	out := log.Writer()
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(out) })
}

// helmValues returns the final values that Helm computes.
func helmValues(t testing.TB, ch *fleet.Chart, user map[string]any) (map[string]any, error) {
	t.Helper()
	loaded, err := load(ch)
	if err != nil {
		t.Fatal(err)
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, user); err != nil {
		return nil, err
	}
	return chartutil.CoalesceValues(loaded, user)
}

// sameAsHelm compares our merge with Helm's.
func sameAsHelm(t testing.TB, ch *fleet.Chart, name string, user map[string]any) {
	t.Helper()
	loaded, err := load(ch)
	if err != nil {
		t.Fatal(err)
	}
	_, got, gotErr := newRelease(loaded, nil).root.with(user)
	want, wantErr := helmValues(t, ch, user)
	if (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%s: got error %v, Helm's is %v", name, gotErr, wantErr)
		return
	}
	if wantErr == nil && !reflect.DeepEqual(canonical(t, got), canonical(t, want)) {
		t.Errorf("%s: got\n%s\nHelm has\n%s", name, canonical(t, got), canonical(t, want))
	}
}

func canonical(t testing.TB, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMergeIsHelms(t *testing.T) {
	quiet(t)
	sets := 0
	for _, dir := range chartDirs(t) {
		ch := chartAt(t, dir)
		files, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var user map[string]any
			if err := yaml.Unmarshal(data, &user); err != nil {
				t.Fatal(err)
			}
			sameAsHelm(t, ch, f, user)
			sets++
		}
		sameAsHelm(t, ch, dir, map[string]any{})
	}
	if sets < 20 {
		t.Errorf("only %d sets of values", sets)
	}
}

// umbrella is a chart with dependencies of all kinds.
func umbrella() *fleet.Chart {
	return fleetChart(map[string]string{
		"Chart.yaml": `
apiVersion: v2
name: app
version: 1.0.0
dependencies:
- {name: db, version: 1.x, condition: "db.enabled,global.db", import-values: [data, {child: net, parent: dbnet.inner}]}
- {name: db, version: 1.x, alias: cache, tags: [fast, extra]}
- {name: web, version: 0.1.0, condition: web.on}
- {name: old, version: 2.x, condition: old.on, import-values: [data]}
`,
		"values.yaml":                               "db: {enabled: true, size: 2, deep: {a: 1, b: null}}\nglobal: {zone: a, m: {x: 1}}\ntags: {extra: false}\ncache: {size: 9}\nport: 1\n",
		"templates/x.yaml":                          "a: {{ .Values.port }}{{ .Values.dbnet.inner.port }}{{ .Values.level }}",
		"charts/db/Chart.yaml":                      "apiVersion: v2\nname: db\nversion: 1.2.0\ndependencies: [{name: leaf, version: 1.0.0, condition: leaf.enabled}]\n",
		"charts/db/values.yaml":                     "size: 1\ndeep: {a: 0, b: 2, c: 3}\nexports: {data: {level: high, port: 5}}\nnet: {port: 80}\nglobal: {m: {w: 2}}\nleaf: {enabled: false, v: 1}\n",
		"charts/db/templates/x.yaml":                "a: {{ .Values.size }}{{ .Values.deep.a }}{{ .Values.global.zone }}",
		"charts/db/charts/leaf/Chart.yaml":          "apiVersion: v2\nname: leaf\nversion: 1.0.0\n",
		"charts/db/charts/leaf/values.yaml":         "v: 0\nw: {}\n",
		"charts/db/charts/leaf/templates/cm.yaml":   "a: {{ .Values.v }}{{ .Values.w }}",
		"charts/web/Chart.yaml":                     "apiVersion: v2\nname: web\nversion: 0.1.0\n",
		"charts/web/values.yaml":                    "host: h\n",
		"charts/web/templates/x.yaml":               "a: {{ .Values.host }}",
		"charts/old/Chart.yaml":                     "apiVersion: v2\nname: old\nversion: 1.0.0\n", // not in the range
		"charts/old/values.yaml":                    "size: 1\nexports: {data: {age: 7}}\n",
		"charts/undeclared/Chart.yaml":              "apiVersion: v2\nname: undeclared\nversion: 0.1.0\n",
		"charts/undeclared/values.yaml":             "q: 1\n",
		"charts/undeclared/templates/x.yaml":        "a: {{ .Values.q }}",
		"charts/undeclared/templates/NOTES.txt":     "",
		"charts/undeclared/templates/_helpers.tpl":  "",
		"charts/undeclared/charts/.ignored/README":  "",
		"charts/undeclared/files/not-a-values.yaml": "q: 1",
	})
}

func TestMergeIsHelmsByHand(t *testing.T) {
	quiet(t)
	for _, text := range []string{
		"{}", "db: {enabled: false}", "db: {enabled: nope}", "global: {db: false}", "db: {enabled: null}\nglobal: {db: false}",
		"tags: {fast: true}", "tags: {fast: false, extra: true}", "tags: []", "web: {on: false}", "web: null", "web: 3",
		"db: {deep: null}", "db: {deep: {a: null, z: null, b: 1}}", "db: {deep: 5}", "port: null", "port: {a: 1}", "new: null",
		"new: {a: null}", "global: null", "global: 3", "global: {m: {x: null, y: 5}, n: {a: 1}}", "global: {m: 5}", "db: {global: {m: 7, k: 1}}",
		"db: {global: 4}", "db: {leaf: {enabled: true, w: {z: 1}}}", "db: {leaf: {enabled: true}, enabled: false}", "dbnet: 5", "dbnet: {inner: {port: null}}",
		"level: low", "db: {exports: {data: {level: mid}}}", "db: {net: {port: 81}}", "cache: {exports: null}", "tags: {extra: true}\ncache: {size: null}",
		"undeclared: {q: null}", "db: {leaf: null}", "old: {on: false}", "old: {on: true, size: 2}",
	} {
		var user map[string]any
		if err := yaml.Unmarshal([]byte(text), &user); err != nil {
			t.Fatal(err)
		}
		sameAsHelm(t, umbrella(), text, user)
	}
}

func FuzzMerge(f *testing.F) {
	quiet(f)
	f.Add("a: {b: 1}", "a: {b: null, c: 2}\ndb: {a: 1}", "db: {a: null}\nglobal: {x: {y: 1}}")
	f.Add("enabled: true", "db: {enabled: false}\nglobal: {x: 1}", "tags: {t: true}\ndb: {global: {x: {}}}")
	f.Fuzz(func(t *testing.T, sub, own, user string) {
		ch := fleetChart(map[string]string{
			"Chart.yaml":            "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: db, version: 1.x, condition: db.enabled, tags: [t], import-values: [d]}]\n",
			"values.yaml":           own,
			"charts/db/Chart.yaml":  "apiVersion: v2\nname: db\nversion: 1.2.0\n",
			"charts/db/values.yaml": sub,
		})
		if _, err := load(ch); err != nil {
			return
		}
		var values map[string]any
		if err := yaml.Unmarshal([]byte(user), &values); err != nil {
			return
		}
		sameAsHelm(t, ch, user, values)
	})
}

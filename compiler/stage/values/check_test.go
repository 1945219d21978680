package values

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// app is a chart with one value of each sort.
var app = map[string]string{
	"Chart.yaml": `
apiVersion: v2
name: app
version: 1.0.0
dependencies:
- {name: db, version: 1.x, condition: db.enabled}
- {name: db, version: 1.x, alias: cache, tags: [fast, local]}
- {name: gone, version: 1.x}
`,
	"values.yaml": `
replicaCount: 1
debug: false
image: {repository: nginx, tag: "1.0"}
text: ""
resources: {}
extra: []
unused: {a: 1, b: {c: 2}}
hosts:
- {name: a, paths: [x]}
anything: null
mode: fast
db: {enabled: false, size: 1}
tags: {local: false}
template: ""
fromText: 1
`,
	"values.schema.json": `{"properties":{"mode":{"enum":["fast","slow"]},"limit":{"type":"integer","minimum":1,"maximum":10},"schemaOnly":{"type":"string"},"strict":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}},"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}},"size":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`,
	"templates/x.yaml": `
a: {{ if .Values.debug }}{{ .Values.replicaCount | int }}{{ end }}
b: {{ if eq .Values.image.repository "x" }}{{ len .Values.image.tag }}{{ end }}
c: {{ if .Values.text }}{{ end }}{{ toYaml .Values.resources }}{{ toYaml .Values.extra }}
d: {{ range .Values.hosts }}{{ if .name }}{{ end }}{{ range .paths }}{{ if eq . "a" }}{{ end }}{{ end }}{{ end }}
e: {{ if .Values.anything }}{{ end }}{{ if eq .Values.mode "fast" }}{{ end }}{{ if .Values.onlyTemplates.deep }}{{ end }}
f: {{ if eq .Values.limit 3 }}{{ end }}{{ if .Values.strict }}{{ end }}{{ if .Values.db.enabled }}{{ end }}
g: {{ tpl .Values.template . }}
`,
	"charts/db/Chart.yaml":       "apiVersion: v2\nname: db\nversion: 1.2.0\n",
	"charts/db/values.yaml":      "size: 1\nname: x\nnested: {a: 1}\n",
	"charts/db/templates/x.yaml": "a: {{ if .Values.size }}{{ end }}{{ if .Values.name }}{{ end }}{{ if .Values.nested.a }}{{ end }}{{ if .Values.global.zone }}{{ end }}",
}

func TestCheck(t *testing.T) {
	typ := derive(t, fleetChart(app))
	for name, c := range map[string]struct{ values, want string }{
		"right": {`
replicaCount: 3
debug: true
image: {tag: v2}
text: 5
resources: {limits: {cpu: 1}}
extra: [{a: 1}]
hosts: [{name: b}]
anything: {a: [1]}
mode: slow
limit: 10
schemaOnly: x
onlyTemplates: {deep: 1}
gone: {what: ever}
global: {zone: a}
size: 5
l: [{n: 1}]
`, ""},
		"null": {"replicaCount: null\nimage: null\nhosts: null\nmode: null\n", ""},
		"misspelt": {"replicaCuont: 3\nimage:\n  tga: x\n", `
prod/v.yaml:1:1: values.replicaCuont: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: did you mean replicaCount?
prod/v.yaml:3:3: values.image.tga: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: did you mean tag?
`},
		"unknown": {"image: {zzz: 1}\nquite.different: 1\n", `
prod/v.yaml:1:9: values.image.zzz: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: use one of repository, tag
prod/v.yaml:2:1: values."quite.different": no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: remove it
`},
		"an element": {"hosts:\n- {name: a}\n- {nmae: b}\n", `
prod/v.yaml:3:4: values.hosts[1].nmae: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: did you mean name?
`},
		"no such dependency": {"redis: {size: 1}\n", `
prod/v.yaml:1:1: values.redis: no such value, and the chart has no dependency with this name
    hint: remove it
`},
		"unread": {"unused:\n  a: 2\n  b: {c: 3}\n", `
prod/v.yaml:1:1: values.unused: set, but nothing reads it
    hint: remove it; values.yaml:8 has it, and no template of the chart uses it
`},
		"kinds": {"replicaCount: [1]\ndebug: \"true\"\nimage: nginx\nextra: 5\nhosts:\n  a: {name: b}\ntext: [1]\n", `
prod/v.yaml:1:1: values.replicaCount: this is a list, and the chart expects a number or a string (its default is 1)
    hint: set it to a number or a string
prod/v.yaml:2:1: values.debug: "true" is a string, and the chart expects a bool (its default is false)
    hint: write true without quotes
prod/v.yaml:3:1: values.image: "nginx" is a string, and the chart expects a map
    hint: set it to a map
prod/v.yaml:4:1: values.extra: 5 is a number, and the chart expects a string or a list
    hint: set it to a string or a list
prod/v.yaml:5:1: values.hosts: this is a map, and the chart expects a list
    hint: put it into a list: [{...}]
prod/v.yaml:7:1: values.text: this is a list, and the chart expects a bool, a number or a string (its default is "")
    hint: set it to a bool, a number or a string
`},
		"a number for a tag": {"image: {tag: 1.10}\n", `
prod/v.yaml:1:9: values.image.tag: 1.1 is a number, and the chart expects a string (its default is "1.0")
    hint: write "1.1"
`},
		"schema": {"mode: fsat\nlimit: 11\nschemaOnly: 1\nstrict: {b: 1}\nl: [{n: 1}, {n: x}]\nsize: []\n", `
prod/v.yaml:1:1: values.mode: "fsat" is not one of the values that the chart's schema allows
    hint: did you mean fast?
prod/v.yaml:2:1: values.limit: maximum: got 11, want 10, according to the chart's schema
    hint: look at values.schema.json of chart app
prod/v.yaml:3:1: values.schemaOnly: 1 is a number, and the chart expects a string
    hint: write "1"
prod/v.yaml:4:10: values.strict.b: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: use a
prod/v.yaml:5:14: values.l[1].n: "x" is a string, and the chart expects a number
    hint: set it to a number
prod/v.yaml:6:1: values.size: this is a list, and the chart expects a number or a string
    hint: set it to a number or a string
`},
		"switched off by a condition": {"db:\n  size: 2\n  name: y\n", `
prod/v.yaml:2:3: values.db.size: the chart's dependency db is disabled, and nothing uses its values
    hint: set values.db.enabled to true, or remove them
`},
		"switched off by the user": {"db:\n  enabled: false\n  nested: {a: 2}\n", `
prod/v.yaml:3:12: values.db.nested.a: the chart's dependency db is disabled, and nothing uses its values
    prod/v.yaml:2:3: and here
    hint: set values.db.enabled to true, or remove them
`},
		"switched off by tags": {"cache: {size: 2}\n", `
prod/v.yaml:1:9: values.cache.size: the chart's dependency cache is disabled, and nothing uses its values
    hint: set one of values.tags.fast, values.tags.local to true, or remove them
`},
		"switched on": {"db: {enabled: true, size: 2}\ncache: {size: 1}\ntags: {fast: true}\n", ""},
		"misspelt dependency": {"cache: {szie: 2}\ntags: {fsat: true, local: true}\n", `
prod/v.yaml:1:9: values.cache.szie: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: did you mean size?
prod/v.yaml:2:8: values.tags.fsat: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: did you mean fast?
`},
		"text that is a template":      {"template: '{{ .Values.mine.a }}'\nmine: {a: 1}\n", ""},
		"more than the template reads": {"template: '{{ .Values.mine.a }}'\nmine: {a: 1, b: 2}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := faults(typ.Check(tree(t, "prod/v.yaml", c.values), nil)); got != strings.TrimPrefix(c.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, c.want)
			}
		})
	}
}

// TestCheckSwitchedOffBelow sets values of a dependency in an outer layer, for
// the clusters that do not disable the dependency.
func TestCheckSwitchedOffBelow(t *testing.T) {
	typ := derive(t, fleetChart(app))
	v := tree(t, "environments/values.cue", "db: {size: 2}")
	v.Fields["db"].Fields["enabled"] = tree(t, "environments/prod/eu/values.cue", "x: false").Fields["x"]
	if got := typ.Check(v, nil); len(got) > 0 {
		t.Errorf("a layer above: %v", got)
	}
	v.Fields["db"].Fields["size"] = tree(t, "environments/prod/eu/values.cue", "x: 3").Fields["x"]
	if got := typ.Check(v, nil); len(got) != 1 {
		t.Errorf("the same layer: %v", got)
	}
	v.Fields["db"].Fields["enabled"] = tree(t, "environments/values.cue", "x: false").Fields["x"]
	if got := typ.Check(v, nil); len(got) != 1 {
		t.Errorf("a layer below: %v", got)
	}
}

func TestCheckAlias(t *testing.T) {
	files := maps.Clone(app)
	files["Chart.yaml"] = "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: db, version: 1.x, alias: cache}]\n"
	files["values.yaml"] = "{}"
	files["templates/x.yaml"] = ""
	delete(files, "values.schema.json")
	got := faults(derive(t, fleetChart(files)).Check(tree(t, "v.yaml", "db: {size: 1}"), nil))
	want := "v.yaml:1:1: values.db: no such value, and the chart has no dependency with this name\n    hint: write cache: the chart has its dependency db under that name\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWaivers(t *testing.T) {
	typ := derive(t, fleetChart(app))
	at := func(line int) diag.Pos { return diag.Pos{File: "w.cue", Line: line, Col: 1} }
	values := "image:\n  tga: x\n  \"a.b\": 1\nmode: no\nunused: {a: 1}\n"
	for name, c := range map[string]struct {
		open []fleet.Waiver
		want string
	}{
		"all": {[]fleet.Waiver{{Path: "image", Reason: "r", Pos: at(1)}, {Path: "unused", Reason: "r", Pos: at(2)}}, `
v.yaml:4:1: values.mode: "no" is not one of the values that the chart's schema allows
    hint: use one of "fast", "slow"
`},
		"exact": {[]fleet.Waiver{{Path: "image.tga", Reason: "r"}, {Path: `image."a.b"`, Reason: "r"}, {Path: "unused", Reason: "r"}, {Path: "mode", Reason: "r", Pos: at(4)}}, "\n"},
		"not needed": {[]fleet.Waiver{{Path: "image", Reason: "r", Pos: at(1)}, {Path: "unused", Reason: "r", Pos: at(2)}, {Path: "image.tag", Reason: "r", Pos: at(3)}, {Path: "img", Reason: "r", Pos: at(4)}}, `
v.yaml:4:1: values.mode: "no" is not one of the values that the chart's schema allows
    hint: use one of "fast", "slow"
w.cue:3:1: open: the waiver for image.tag has no effect: the value has no fault
    hint: remove it
w.cue:4:1: open: the waiver for img has no effect: the value has no fault
    hint: remove it
`},
		"wrong": {[]fleet.Waiver{{Path: "image", Pos: at(1)}, {Path: "unused", Reason: " ", Pos: at(2)}, {Path: `a."b`, Reason: "r", Pos: at(3)}, {Path: "a..b", Reason: "r", Pos: at(4)}, {Path: "", Reason: "r", Pos: at(5)}}, `
v.yaml:4:1: values.mode: "no" is not one of the values that the chart's schema allows
    hint: use one of "fast", "slow"
w.cue:1:1: open: a waiver needs a reason
    hint: say why the types are wrong
w.cue:2:1: open: a waiver needs a reason
    hint: say why the types are wrong
w.cue:3:1: open: "a.\"b" is not a valid path
    hint: write it as in a.b, or a."b.c" for a key with a dot
w.cue:4:1: open: "a..b" is not a valid path
    hint: write it as in a.b, or a."b.c" for a key with a dot
w.cue:5:1: open: "" is not a valid path
    hint: write it as in a.b, or a."b.c" for a key with a dot
`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := faults(typ.Check(tree(t, "v.yaml", values), c.open)); got != strings.TrimPrefix(c.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, c.want)
			}
		})
	}
}

// mistakes are real faults in the values of our charts' ci directories.
var mistakes = []string{
	// A number in place of a text, which the ci directory has on purpose to test
	// the rendering of numbers.
	"hello/ci/kinds-values.yaml:6:1: values.version: 1.1 is a number, and the chart expects a string (its default is \"1.10\")",
}

// TestOwnValuesPass checks the values in the ci directories of charts. Only real
// mistakes are faults.
func TestOwnValuesPass(t *testing.T) {
	var seen []string
	for _, dir := range append(chartDirs(t), istio(t)...) {
		typ := derive(t, chartAt(t, dir))
		if got := typ.Check(fleet.Map(nil), nil); len(got) > 0 {
			t.Errorf("%s: no values: %v", dir, got)
		}
		files, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(dir); strings.Contains(dir, t.Name()) {
			files, err = filepath.Glob("../../../testdata/realcharts/values/" + name + "-*.yaml")
			if err != nil || len(files) != 3 {
				t.Fatalf("%s has %d sets of values, %v", name, len(files), err)
			}
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range typ.Check(tree(t, filepath.ToSlash(f), string(data)), nil) {
				if msg := strings.TrimPrefix(d.Error(), "../../../testdata/charts/"); slices.Contains(mistakes, msg) {
					seen = append(seen, msg)
				} else {
					t.Errorf("%s", d.Error())
				}
			}
		}
	}
	if len(seen) != len(mistakes) {
		t.Errorf("of the known mistakes only these are found: %q", seen)
	}
}

// TestDefaultsPass checks each chart with its own defaults as the user's values.
// The only faults are values that nothing reads and values of disabled
// dependencies.
func TestDefaultsPass(t *testing.T) {
	for _, dir := range append(chartDirs(t), istio(t)...) {
		ch := chartAt(t, dir)
		for _, d := range derive(t, ch).Check(tree(t, filepath.Base(dir), string(valuesOf(ch))), nil) {
			if d.Msg != "set, but nothing reads it" && !strings.Contains(d.Msg, "is disabled") {
				t.Errorf("%s", d.Error())
			}
		}
	}
}

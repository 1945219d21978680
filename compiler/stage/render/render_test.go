package render

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// chartOf returns the chart with the files of a txtar archive, with a default
// Chart.yaml.
func chartOf(archive string) *fleet.Chart {
	ch := &fleet.Chart{Ref: fleet.ChartRef{Path: "charts/app"}}
	a := txtar.Parse([]byte(archive))
	if !slices.ContainsFunc(a.Files, func(f txtar.File) bool { return f.Name == "Chart.yaml" }) {
		ch.Files = append(ch.Files, fleet.File{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")})
	}
	for _, f := range a.Files {
		ch.Files = append(ch.Files, fleet.File{Name: f.Name, Data: f.Data})
	}
	return ch
}

// releaseOf returns a release with YAML values, whose positions are lines of
// values.cue.
func releaseOf(t *testing.T, values string) *fleet.Release {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	tree, err := fleet.TreeOf(v)
	if err != nil {
		t.Fatal(err)
	}
	line := 0
	var number func(t *fleet.Tree)
	number = func(t *fleet.Tree) {
		line++
		t.Pos = diag.Pos{File: "values.cue", Line: line, Col: 1}
		if t.IsMap() {
			for _, k := range t.Keys() {
				number(t.Fields[k])
			}
		}
	}
	number(tree)
	return &fleet.Release{Name: "rel", Namespace: "ns", Values: tree, Pos: diag.Pos{File: "fleet.cue", Line: 3, Col: 2}}
}

var cluster = &fleet.Cluster{
	KubeVersion: "1.36", Pos: diag.Pos{File: "cluster.cue", Line: 1, Col: 1},
	APIs: []fleet.API{{APIVersion: "karpenter.sh/v1", Kind: "NodePool"}},
}

func TestReleaseObjects(t *testing.T) {
	for _, test := range []struct{ name, chart, values, want string }{
		{"documents, lists, empty ones and comments", `
-- templates/a.yaml --
# only a comment
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}, {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]}]}
---
{apiVersion: v1, kind: ConfigMapList, items: null}
---
-- templates/_helpers.tpl --
{{ define "x" }}{{ end }}
-- templates/NOTES.txt --
thanks
`, "", "a b c"},
		{"capabilities", `
-- templates/a.yaml --
{{ range list "karpenter.sh/v1" "karpenter.sh/v1/NodePool" "example.com/v1" "nobody.example.com/v1" }}
{{ if $.Capabilities.APIVersions.Has . }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ . | replace "/" "-" | quote }}}}
{{ end }}{{ end }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Capabilities.KubeVersion.Version | quote }}}}
`, "", "karpenter.sh-v1 karpenter.sh-v1-NodePool example.com-v1 v1.36"},
		{"no lookup, no DNS", `
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: 'n{{ len (lookup "v1" "Secret" "a" "b") }}{{ getHostByName "localhost" }}'}}
`, "", "n0"},
		{"hooks of install and upgrade, not of delete, rollback and test", `
-- templates/a.yaml --
{{ range list "pre-install" "post-install" "pre-upgrade" "post-upgrade" "pre-delete" "post-delete" "pre-rollback" "post-rollback" "test" }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ . }}, annotations: {helm.sh/hook: {{ . }}}}}
{{ end }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: both, annotations: {helm.sh/hook: "pre-delete,post-install"}}}
`, "", "pre-install post-install pre-upgrade post-upgrade both"},
		{"the hook that Helm 2 had for CRDs is passed over", `
-- templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations:
    "helm.sh/hook": crd-install
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`, "", "b"},
		{"values over those of the chart, null deletes", `
-- values.yaml --
a: 1
b: {c: 2, d: 3}
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Values.a }}-{{ .Values.b | toJson }}'}}
`, "a: 5\nb: {c: null}", `5-{"d":3}`},
		{"numbers are what Helm makes of them", `
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Values.a }} {{ .Values.b }} {{ kindOf .Values.c }}'}}
`, "a: 1000000\nb: 0.5\nc: 3", `1e+06 0.5 float64`},
		{"a scalar in place of the chart's map is what the chart sees", `
-- values.yaml --
a: {limits: {cpu: 1}}
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Values.a.limits }}'}}
`, "a: {limits: none}", "none"},
		{"crds come first, several in a file", `
-- crds/x.yaml --
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: b}}
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`, "", "a b c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			res, err := new(Charts).Release(t.Context(), cluster, releaseOf(t, test.values), chartOf(test.chart), DefaultAPIs(cluster, "example.com/v1"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range res.Objects {
				names = append(names, o.GetName())
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestReleaseTests(t *testing.T) {
	ch := chartOf("-- templates/a.yaml --\n{apiVersion: v1, kind: Pod, metadata: {name: t, annotations: {helm.sh/hook: test-success}}}\n")
	r := releaseOf(t, "")
	for _, tests := range []bool{false, true} {
		r.Tests = tests
		res, err := new(Charts).Release(t.Context(), cluster, r, ch, nil)
		if err != nil || (len(res.Objects) == 1) != tests {
			t.Errorf("tests: %v: %d objects, %v", tests, len(res.Objects), err)
		}
	}
}

func TestReleaseFaults(t *testing.T) {
	for _, test := range []struct{ name, chart, values, want string }{
		{"kubernetes version", `
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, kubeVersion: "<1.30"}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app requires Kubernetes <1.30, but the cluster has v1.36 [FL1501]
    hint: use another version of the chart, or correct cluster.kubernetes
`},
		{"library", `
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, type: library}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app is a library chart, which renders nothing by itself [FL1501]
    hint: list it as a dependency of a chart of your own, or use another chart
`},
		{"missing dependency", `
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, dependencies: [{name: redis, version: 1.0.0, repository: "https://example.com"}]}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app has dependencies in Chart.yaml that are missing in its charts directory: redis [FL1501]
    hint: run helm dependency build in the directory of the chart, or fleetc chart add
`},
		{"no Chart.yaml", `
-- Chart.yaml --
{}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app: Chart.yaml has no name [FL1306]
    hint: set name in Chart.yaml
`},
		{"required", `
-- templates/a.yaml --

{{ required "set host" .Values.host }}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app does not render: app/templates/a.yaml:2:3: set host [FL1502]
    hint: set the value that the message names, or correct the template
`},
		{"required without a message", `
-- templates/a.yaml --

{{ required "" .Values.host }}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app does not render: app/templates/a.yaml:2:3: it fails without a message: a value that it needs is missing or wrong [FL1502]
    hint: set the value that this line of the template reads, or correct the template
`},
		{"fail without a message", `
-- templates/a.yaml --
{{ fail " " }}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app does not render: app/templates/a.yaml:1:3: it fails without a message: a value that it needs is missing or wrong [FL1502]
    hint: set the value that this line of the template reads, or correct the template
`},
		{"template error", `
-- templates/a.yaml --
{{ .Values.a.b.c }}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app does not render: app/templates/a.yaml:1:10: executing "app/templates/a.yaml" at <.Values.a.b.c>: nil pointer evaluating interface {}.b [FL1502]
    hint: set the value that the message names, or correct the template
`},
		{"null for a map that a template reads", `
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- charts/sub/values.yaml --
a: {b: {c: 1}}
-- charts/sub/templates/a.yaml --
{{ .Values.a.b.c }}`, "sub: {a: null}", `
values.cue:3:1: releases.rel.values.sub.a: chart charts/app does not render: app/charts/sub/templates/a.yaml:1:10: executing "app/charts/sub/templates/a.yaml" at <.Values.a.b.c>: nil pointer evaluating interface {}.b [FL1502]
    hint: remove it, or set the fields that differ: null removes the default of the chart, which the template needs
`},
		{"value of a type that a template does not expect", `
-- templates/a.yaml --
{{ include "b" . }}{{ define "b" }}{{ trunc 3 $.Values.a }}{{ upper .Values.b }}{{ end }}`, "a: x\nb: [y]", `
values.cue:3:1: releases.rel.values.b: chart charts/app does not render: app/templates/a.yaml:1:3: executing "app/templates/a.yaml" at <include "b" .>: error calling include: template: app/templates/a.yaml:1:75: executing "b" at <.Values.b>: wrong type for value; expected string; got []interface {} [FL1502]
    hint: correct this value, which the template reads, or correct the template
`},
		{"value that is a wrong template", `
-- templates/a.yaml --
{{ tpl .Values.a $ }}`, "a: '{{ .Values.x.y }}'", `
values.cue:2:1: releases.rel.values.a: chart charts/app does not render: app/templates/a.yaml:1:3: executing "app/templates/a.yaml" at <tpl .Values.a $>: error calling tpl: error during tpl function execution for "{{ .Values.x.y }}": template: gotpl:1:10: executing "gotpl" at <.Values.x.y>: nil pointer evaluating interface {}.y [FL1502]
    hint: correct this value, which the template reads, or correct the template
`},
		{"template that does not parse", `
-- templates/a.yaml --
{{ if }}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app does not render: parse error at (app/templates/a.yaml:1): missing value for if [FL1502]
    hint: set the value that the message names, or correct the template
`},
		{"YAML that does not parse", `
-- templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: a: b`, "", `
fleet.cue:3:2: releases.rel: chart charts/app renders YAML that does not parse: app/templates/a.yaml: line 3: mapping values are not allowed in this context [FL1503]
    hint: correct the template, or the values that it prints; helm template shows its text
`},
		{"a key twice", `
-- templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  name: b`, "", `
fleet.cue:3:2: releases.rel: chart template app/templates/a.yaml renders a key twice: line 5: key "name" already set in map [FL1503]
    hint: correct the template or the values, or take the last value, as Helm does: releases.rel.duplicateKeys: "why"
`},
		{"no object", `
-- templates/a.yaml --
- a
- b`, "", `
fleet.cue:3:2: releases.rel: chart charts/app renders YAML that does not parse: app/templates/a.yaml: a document that is not an object, or has an apiVersion or kind that is not a string, or metadata that is not a map [FL1503]
    hint: correct the template, or the values that it prints; helm template shows its text
`},
		{"unknown hook", `
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {helm.sh/hook: pre-instal}}}`, "", `
fleet.cue:3:2: releases.rel: chart charts/app has an object whose helm.sh/hook annotation names an unknown hook, in app/templates/a.yaml [FL1503]
    hint: correct the template, or the values that it prints; helm template shows its text
`},
		{"a global that reaches no dependency", `
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, dependencies: [{name: sub, version: 1.0.0}]}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, "global: {x: {y: 1}}\nsub: {global: {x: scalar}}", `
values.cue:3:1: releases.rel.values.global.x: this global value is a map, but a dependency has a value of another type for it [FL1206]
    hint: give it the type that the chart's values.yaml has
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := new(Charts).Release(t.Context(), cluster, releaseOf(t, test.values), chartOf(test.chart), nil)
			var b bytes.Buffer
			if werr := diag.WriteText(&b, err, nil); werr != nil {
				t.Fatal(werr)
			}
			if got := "\n" + b.String(); got != test.want {
				t.Errorf("got:%s\nwant:%s", got, test.want)
			}
		})
	}
}

// TestLogOfTheChart checks that lines which Helm logs for the chart's own
// defaults are not reported as faults.
func TestLogOfTheChart(t *testing.T) {
	ch := chartOf(`
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, dependencies: [{name: sub, version: 1.0.0}]}
-- values.yaml --
sub: {a: text}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- charts/sub/values.yaml --
a: {b: 1}
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	if _, err := new(Charts).Release(t.Context(), cluster, releaseOf(t, "x: 1"), ch, nil); err != nil {
		t.Error(err)
	}
}

func TestAPIs(t *testing.T) {
	r := releaseOf(t, "")
	res, err := new(Charts).Release(t.Context(), cluster, r, chartOf(`
-- templates/a.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(APIs(res.Objects), " "); got != "example.com/v1 example.com/v1/Thing" {
		t.Errorf("APIs are %s", got)
	}
}

func TestUsedAPIs(t *testing.T) {
	all, none := UsedAPIs{All: true}, UsedAPIs{}
	names := func(names ...string) UsedAPIs { return UsedAPIs{Names: names} }
	for text, want := range map[string]UsedAPIs{
		`{{ .Capabilities.APIVersions.Has "a/v1" }}`:                                     names("a/v1"),
		`{{ if or ($.Capabilities.APIVersions.Has "a/v1/A") .Values.x }}`:                names("a/v1/A"),
		`{{ if has "a/v1" .Capabilities.APIVersions }}`:                                  names("a/v1"),
		`{{ if not (has "a/v1" $root.Capabilities.APIVersions) }}`:                       names("a/v1"),
		`{{ .Capabilities.APIVersions.Has "a" }}{{ .Capabilities.APIVersions.Has "b" }}`: names("a", "b"),
		`{{ .Capabilities.APIVersions.Has "a" }}{{ range .Capabilities.APIVersions }}`:   all,
		`{{ .Capabilities.APIVersions.Has "a" }}{{ $.Capabilities.APIVersions.Has .x }}`: all,
		`{{ .Capabilities.APIVersions.Has (printf "a/%s" .x) }}`:                         all,
		`{{ "a" | .Capabilities.APIVersions.Has }}`:                                      all,
		"{{ .Capabilities.APIVersions.Has `a` }}":                                        all,
		`{{ has .x .Capabilities.APIVersions }}`:                                         all,
		`{{ has "a" .Capabilities.APIVersions.x }}`:                                      all,
		`{{ .Capabilities.APIVersions.Has "a\x62" }}`:                                    all,
		`{{ with .Capabilities }}{{ .APIVersions }}{{ end }}`:                            all,
		`{{ index .Capabilities "x" }}`:                                                  all,
		`{{ toYaml $.Capabilities }}`:                                                    all,
		`{{ .Capabilities.KubeVersion.Version }}`:                                        none,
		`{{ index . "Capabilities" }}`:                                                   all,
		"{{ get . `Capabilities` }}":                                                     all,
		"description: the Capabilities\n- Capabilities":                                  none,
		`{{ .Values.x }}`: none,
	} {
		if got := UsedAPIsOf(chartOf("-- templates/a.yaml --\n" + text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if got := UsedAPIsOf(&fleet.Chart{Files: []fleet.File{{Name: "charts/a.tgz"}}}); !got.All {
		t.Error("an archive may ask for any")
	}
}

package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func objectOf(o map[string]any) fleet.Object {
	return fleet.Object{Unstructured: &unstructured.Unstructured{Object: o}}
}

func named(kind, ns, name string) fleet.Object {
	o := objectOf(map[string]any{})
	o.SetKind(kind)
	o.SetNamespace(ns)
	o.SetName(name)
	return o
}

func TestNatives(t *testing.T) {
	for _, test := range []struct{ expression, want string }{
		{`std.native('sha256')('abc')`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{`std.native('parseYaml')('')`, `[]`},
		{`std.native('parseYaml')('a: 1')`, `[{"a":1}]`},
		{`std.native('parseYaml')('# one\n---\na: [yes, 0o7, "1", 1.5, null]\n---\n---\n- b\n')`, `[{"a":[true,7,"1",1.5,null]},["b"]]`},
		{`std.native('manifestYaml')({b: [1, 'y', '1', null, {c: 1.5}], a: 'x\ny\n'})`, `"a: |\n  x\n  y\nb:\n- 1\n- \"y\"\n- \"1\"\n- null\n- c: 1.5\n"`},
		{`std.native('manifestYaml')(1000000000)`, `"1000000000\n"`},
		{`std.native('parseYaml')(std.native('manifestYaml')({a: 1000000000}))`, `[{"a":1000000000}]`},
	} {
		r := rendererOf(t, "-- a.jsonnet --\nfunction(params) {apiVersion: 'v1', kind: 'A', x: "+test.expression+"}\n")
		got, err := r.Render(t.Context(), requestOf("a.jsonnet"))
		if err != nil {
			t.Errorf("%s: %v", test.expression, err)
			continue
		}
		if text, want := jsonOf(t, got.Objects), `{"apiVersion":"v1","kind":"A","x":`+test.want+"}\n"; text != want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.expression, text, want)
		}
	}
}

func TestHelmTemplate(t *testing.T) {
	r := rendererOf(t, `
-- a.jsonnet --
local k = import 'fleetc.libsonnet';
function(params)
  local web = k.helmTemplate('web', 'charts/web', { values: { n: params.replicas }, namespace: 'other' });
  [web.deployment_web + { patched: true }, k.helmTemplate('plain', 'p')]
`)
	var calls []HelmCall
	req := requestOf("a.jsonnet")
	req.HelmTemplate = func(ctx context.Context, call HelmCall) ([]fleet.Object, error) {
		calls = append(calls, call)
		o := named("Deployment", "", call.Name)
		o.SetAPIVersion("apps/v1")
		o.Object["replicas"] = int64(3)
		return []fleet.Object{o}, ctx.Err()
	}
	got, err := r.Render(t.Context(), req)
	if err != nil {
		t.Fatal(textOfFaults(t, err))
	}
	want := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"patched":true,"replicas":3}
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"plain"},"replicas":3}
`
	if text := jsonOf(t, got.Objects); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	wantCalls := []HelmCall{
		{Name: "web", Chart: "charts/web", Namespace: "other", Values: map[string]any{"n": 2.0}},
		{Name: "plain", Chart: "p", Namespace: "apps", Values: map[string]any{}},
	}
	if !reflect.DeepEqual(calls, wantCalls) {
		t.Errorf("got %+v, want %+v", calls, wantCalls)
	}
}

func TestNativeFaults(t *testing.T) {
	cause := errors.New("cause")
	for _, test := range []struct{ expression, want string }{
		{`helmTemplate')(1, 'c', {})`, "helmTemplate: name is a number: it must be a string [FL1401]\n    hint: correct the arguments of helmTemplate\n"},
		{`helmTemplate')('n', null, {})`, "helmTemplate: chart is null: it must be a string [FL1401]\n    hint: correct the arguments of helmTemplate\n"},
		{`helmTemplate')('n', 'c', [])`, "helmTemplate: opts is an array: it must be an object [FL1401]\n    hint: correct the arguments of helmTemplate\n"},
		{`helmTemplate')('n', 'c', {values: 'x'})`, "helmTemplate: opts.values is a string: it must be an object [FL1401]\n    hint: correct the arguments of helmTemplate\n"},
		{`helmTemplate')('n', 'c', {namespace: true})`, "helmTemplate: opts.namespace is a boolean: it must be a string [FL1401]\n    hint: correct the arguments of helmTemplate\n"},
		{`helmTemplate')('n', 'c', {vlues: {}})`, "helmTemplate: opts has no field vlues [FL1401]\n    hint: did you mean values?\n"},
		{`helmTemplate')('n', 'c', {})`, "helmTemplate: chart: is not pinned [FL1401]\n    environments/charts.cue:1:1: and here\n    hint: pin it\n"},
		{`helmTemplate')('n', 'large', {})`, "helmTemplate: a_x.n: Jsonnet cannot represent the number 9007199254740993 exactly: its integers end at 2^53 [FL1401]\n    hint: make it a string\n"},
		{`helmTemplate')('n')`, "missing argument: chart [FL1401]\n    hint: correct this line, or a value that it uses\n"},
		{`sha256')({})`, "sha256: text is an object: it must be a string [FL1401]\n    hint: correct the arguments of sha256\n"},
		{`parseYaml')({})`, "parseYaml: text is an object: it must be a string [FL1401]\n    hint: correct the arguments of parseYaml\n"},
		{`parseYaml')('a: 1\n---\na: 1\na: 2')`, "parseYaml: document 2: line 2: key \"a\" already set in map [FL1401]\n    hint: correct the arguments of parseYaml\n"},
		{`parseYaml')('---\na: [9007199254740993]')`, "parseYaml: document 1.a[0]: Jsonnet cannot represent the number 9007199254740993 exactly: its integers end at 2^53 [FL1401]\n    hint: make it a string\n"},
		{`parseYml')('')`, "there is no native function parseYml [FL1401]\n    hint: did you mean parseYaml?\n"},
		{`regexMatch')('')`, "there is no native function regexMatch [FL1401]\n    hint: use one of helmTemplate, manifestYaml, parseYaml, sha256\n"},
	} {
		r := rendererOf(t, "-- a.jsonnet --\nfunction(params) std.native('"+test.expression+"\n")
		req := requestOf("a.jsonnet")
		req.HelmTemplate = func(_ context.Context, call HelmCall) ([]fleet.Object, error) {
			if call.Chart == "large" {
				return []fleet.Object{objectOf(map[string]any{"kind": "A", "metadata": map[string]any{"name": "x"}, "n": int64(9007199254740993)})}, nil
			}
			return nil, fmt.Errorf("wrapped: %w", &diag.Diag{At: []diag.Pos{{File: "environments/charts.cue", Line: 1, Col: 1}}, Path: "chart", Msg: "is not pinned", Hint: "pin it", Cause: cause})
		}
		_, err := r.Render(t.Context(), req)
		want := "a.jsonnet:1:18: releases.app: " + test.want
		got := textOfFaults(t, err)
		got = strings.Replace(got, "    environments/fleet.cue:7:2: and here\n", "", 1)
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.expression, got, want)
		}
		if call := `helmTemplate')('n', 'c', {})`; test.expression == call && !errors.Is(err, cause) {
			t.Error("the cause is lost")
		}
	}
}

func TestNoCharts(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\nfunction(params) std.native('helmTemplate')('a', 'b', {})\n")
	_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
	if want := "a.jsonnet:1:18: releases.app: helmTemplate: charts are not available here"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestByKindAndName(t *testing.T) {
	got, err := byKindAndName([]fleet.Object{
		named("ServiceAccount", "", "my-app"), named("HTTPRoute", "", "a.b"),
		named("Role", "x", "r"), named("Role", "y", "r"), named("Role", "", "r"),
		named("Job", "", "a-b"), named("Job", "", "a.b"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"httproute_a_b", "job_a_b", "job_a_b_2", "role_r", "role_x_r", "role_y_r", "service_account_my_app"}
	var keys []string
	for k := range got.(map[string]any) {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}

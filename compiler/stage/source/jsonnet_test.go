package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// rendererOf returns a renderer of a fleet with the files of a txtar archive.
func rendererOf(t testing.TB, archive string) *JsonnetRenderer {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data)
	}
	r := &JsonnetRenderer{Dir: dir, Library: libraryOf(t)}
	t.Cleanup(func() { r.Close() })
	return r
}

// libraryOf returns the embedded library.
func libraryOf(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../lib/fleetc.libsonnet")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// requestOf returns a request for a file with typical params and cluster.
func requestOf(file string) JsonnetRequest {
	pos := diag.Pos{File: "environments/fleet.cue", Line: 7, Col: 2}
	return JsonnetRequest{
		File:    file,
		Params:  map[string]any{"replicas": 2, "host": "example.com", "image": map[string]any{"name": "web", "tag": "1.2"}},
		Cluster: map[string]any{"id": "prod/eu-1", "labels": map[string]string{"region": "eu"}},
		Release: &fleet.Release{Name: "app", Namespace: "apps", Stage: "apps", Pos: pos, SourcePos: pos},
	}
}

// textOfFaults returns faults as printed.
func textOfFaults(t testing.TB, err error) string {
	t.Helper()
	for _, d := range diag.All(err) {
		if d.Hint == "" && err != nil {
			t.Errorf("no hint: %s", d.Msg)
		}
	}
	var b bytes.Buffer
	if err := diag.WriteText(&b, err, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// jsonOf returns objects as JSON, a line each.
func jsonOf(t testing.TB, objs []fleet.Object) string {
	t.Helper()
	var b strings.Builder
	for _, o := range objs {
		data, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"params and cluster", `
function(params, cluster) {
  cm: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: params.image.name}, data: {n: '%d' % params.replicas, id: cluster.id, region: cluster.labels.region}},
}`, `{"apiVersion":"v1","data":{"id":"prod/eu-1","n":"2","region":"eu"},"kind":"ConfigMap","metadata":{"name":"web"}}
`},
		{"params alone", `function(params) {apiVersion: 'v1', kind: 'A', n: params.replicas}`, `{"apiVersion":"v1","kind":"A","n":2}
`},
		{"values by name", `function(image, replicas, host, cluster, own='x') {apiVersion: 'v1', kind: 'A', v: [image.tag, replicas, host, cluster.id, own]}`, `{"apiVersion":"v1","kind":"A","v":["1.2",2,"example.com","prod/eu-1","x"]}
`},
		{"values by name instead of defaults", `function(image, host='default', replicas=host) {apiVersion: 'v1', kind: 'A', v: [host, replicas]}`, `{"apiVersion":"v1","kind":"A","v":["example.com",2]}
`},
		{"the release", `function(release, params) {apiVersion: 'v1', kind: 'A', r: release}`, `{"apiVersion":"v1","kind":"A","r":{"name":"app","namespace":"apps","stage":"apps"}}
`},
		{"a parameter with a default", `function(params, own='x') {apiVersion: 'v1', kind: 'A', own: own}`, `{"apiVersion":"v1","kind":"A","own":"x"}
`},
		{"any nesting, keys sorted, null left out, lists taken apart", `
local o(n) = {apiVersion: 'v1', kind: 'A', n: n};
function(params, cluster) {
  b: [o(1), null, [[o(2)], {z: o(3), y: if false then o(9)}]],
  a: {apiVersion: 'v1', kind: 'List', items: [o(4), {apiVersion: 'v1', kind: 'AList', items: [o(5)]}]},
  c: null,
  d:: 'hidden',
}`, `{"apiVersion":"v1","kind":"A","n":4}
{"apiVersion":"v1","kind":"A","n":5}
{"apiVersion":"v1","kind":"A","n":1}
{"apiVersion":"v1","kind":"A","n":2}
{"apiVersion":"v1","kind":"A","n":3}
`},
		{"nothing", `function(params, cluster) if cluster.id == 'x' then {apiVersion: 'v1', kind: 'A'}`, ""},
		{"a kind that ends in List and has no items", `function(params) {apiVersion: 'v1', kind: 'AllowList', spec: {}}`, `{"apiVersion":"v1","kind":"AllowList","spec":{}}
`},
		{"a function through locals, asserts and imports", `
local main = import 'main.libsonnet';
assert true;
main`, `{"apiVersion":"v1","kind":"A","n":2}
`},
		{"a function that another returns", `local make(x) = function(params, cluster) {apiVersion: 'v1', kind: 'A', n: x}; make(3)`, `{"apiVersion":"v1","kind":"A","n":3}
`},
		{
			"numbers", `function(params) {apiVersion: 'v1', kind: 'A', n: [1, 1.5, 1e3, -2, 9007199254740991, 1e21, 0.1, 1 / 3]}`,
			`{"apiVersion":"v1","kind":"A","n":[1,1.5,1000,-2,9007199254740991,1e+21,0.1,0.3333333333333333]}
`,
		},
		{
			"text", `function(params) {apiVersion: 'v1', kind: 'A', t: importstr 'text.txt', b: importbin 'text.txt'}`,
			`{"apiVersion":"v1","b":[195,188,32,91,91,10],"kind":"A","t":"ü [[\n"}
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rendererOf(t, "-- main.libsonnet --\nfunction(params) {apiVersion: 'v1', kind: 'A', n: params.replicas}\n-- text.txt --\nü [[\n-- app/../app.jsonnet --\n"+test.file+"\n")
			req := requestOf("app.jsonnet")
			got, err := r.Render(t.Context(), req)
			if err != nil {
				t.Fatal(textOfFaults(t, err))
			}
			if text := jsonOf(t, got.Objects); text != test.want {
				t.Errorf("got\n%s\nwant\n%s", text, test.want)
			}
			for _, o := range got.Objects {
				if o.Template != "app.jsonnet" || o.Release != req.Release || o.Pos != req.Release.Pos {
					t.Errorf("an object comes from %q, %v, %v", o.Template, o.Release, o.Pos)
				}
			}
		})
	}
}

func TestNoValuesAndNoFunction(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\n{apiVersion: 'v1', kind: 'A'}\n")
	req := requestOf("a.jsonnet")
	req.Params = nil
	got, err := r.Render(t.Context(), req)
	if err != nil || len(got.Objects) != 1 {
		t.Errorf("%d objects, %v", len(got.Objects), err)
	}
}

const library2 = `
-- app/main.jsonnet --
local k = import 'fleetc.libsonnet';
local lib = import 'lib.libsonnet';
function(params, cluster)
  if cluster.id == 'other' then import 'other.libsonnet' else [
    k.configMap('a', {'a.txt': importstr '../files/a.txt'}) + lib,
    if cluster.id == 'never' then import 'never.libsonnet',
  ]
-- app/other.libsonnet --
[]
-- app/never.libsonnet --
this does not parse
-- vendor/lib.libsonnet --
import 'github.com/x/y.libsonnet'
-- vendor/github.com/x/y.libsonnet --
{metadata+: {labels: {y: importstr './z.txt'}}}
-- vendor/github.com/x/z.txt --
z
-- files/a.txt --
a
`

func TestJsonnetReads(t *testing.T) {
	r := rendererOf(t, library2)
	got, err := r.Render(t.Context(), requestOf("app/main.jsonnet"))
	if err != nil {
		t.Fatal(textOfFaults(t, err))
	}
	want := JsonnetResult{
		Reads: []string{"app/main.jsonnet", "files/a.txt", "vendor/github.com/x/y.libsonnet", "vendor/github.com/x/z.txt", "vendor/lib.libsonnet"},
	}
	if len(got.Objects) != 1 {
		t.Errorf("%d objects", len(got.Objects))
	}
	got.Objects = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}

	// Files of another render on the same machine are not reported.
	req := requestOf("app/main.jsonnet")
	req.Cluster = map[string]any{"id": "other"}
	got, err = r.Render(t.Context(), req)
	if err != nil {
		t.Fatal(textOfFaults(t, err))
	}
	if want := []string{"app/main.jsonnet", "app/other.libsonnet"}; !reflect.DeepEqual(got.Reads, want) {
		t.Errorf("the second render read %q, want %q", got.Reads, want)
	}

	// A failed render reports its files, too, since a change there may fix it.
	req.Cluster = map[string]any{"id": "never"}
	got, err = r.Render(t.Context(), req)
	if err == nil || !reflect.DeepEqual(got.Reads, append([]string{"app/main.jsonnet", "app/never.libsonnet"}, want.Reads[1:]...)) {
		t.Errorf("the third render read %q, %v", got.Reads, err)
	}
}

// TestTwoFleets has one path in two fleets with different content.
func TestTwoFleets(t *testing.T) {
	for _, n := range []string{"1", "2"} {
		r := rendererOf(t, "-- app/main.jsonnet --\n{apiVersion: 'v1', kind: 'A', n: import '../n.json'}\n-- n.json --\n"+n+"\n")
		req := requestOf("app/main.jsonnet")
		req.Params = nil
		got, err := r.Render(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"apiVersion":"v1","kind":"A","n":` + n + "}\n"; jsonOf(t, got.Objects) != want {
			t.Errorf("got %s, want %s", jsonOf(t, got.Objects), want)
		}
	}
}

// TestSameNameInTwoDirectories has a relative import that means another file
// in each directory.
func TestSameNameInTwoDirectories(t *testing.T) {
	r := rendererOf(t, `
-- a/main.jsonnet --
[import 'n.libsonnet', import '../b/main.jsonnet']
-- a/n.libsonnet --
{apiVersion: 'v1', kind: 'A'}
-- b/main.jsonnet --
import 'n.libsonnet'
-- b/n.libsonnet --
{apiVersion: 'v1', kind: 'B'}
`)
	req := requestOf("a/main.jsonnet")
	req.Params = nil
	got, err := r.Render(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if text, want := jsonOf(t, got.Objects), "{\"apiVersion\":\"v1\",\"kind\":\"A\"}\n{\"apiVersion\":\"v1\",\"kind\":\"B\"}\n"; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestTogether renders concurrently with one renderer, with different values
// and charts.
func TestTogether(t *testing.T) {
	r := rendererOf(t, `
-- main.jsonnet --
local shared = import 'shared.libsonnet';
function(params, cluster) shared + {n: params.n, id: cluster.id}
-- shared.libsonnet --
local charts = std.native('helmTemplate')('x', 'y', {});
{apiVersion: 'v1', kind: 'A', chart: charts.a_x.data}
`)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			req := requestOf("main.jsonnet")
			req.Params = map[string]any{"n": i}
			req.Cluster = map[string]any{"id": i}
			req.HelmTemplate = func(context.Context, HelmCall) ([]fleet.Object, error) {
				return []fleet.Object{objectOf(map[string]any{"kind": "A", "metadata": map[string]any{"name": "x"}, "data": i})}, nil
			}
			got, err := r.Render(context.Background(), req)
			if err != nil {
				t.Error(err)
				return
			}
			want := map[string]any{"apiVersion": "v1", "kind": "A", "chart": int64(i), "n": int64(i), "id": int64(i)}
			if len(got.Objects) != 1 || !reflect.DeepEqual(got.Objects[0].Object, want) {
				t.Errorf("got %v, want %v", got.Objects, want)
			}
		})
	}
	wg.Wait()
}

func TestNoFleet(t *testing.T) {
	r := &JsonnetRenderer{Dir: filepath.Join(t.TempDir(), "none")}
	_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
	if err == nil || errors.Is(err, diag.ErrRunaway) {
		t.Errorf("got %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

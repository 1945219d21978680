package render

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzTemplate renders any template within small limits. It must render or
// report a fault.
func FuzzTemplate(f *testing.F) {
	for _, s := range engineTemplates() {
		f.Add(s, "word: w")
	}
	f.Add(`{{ range $i, $_ := until 5 }}{{ tpl .Values.t $ }}{{ end }}`, "t: '{{ include \"shared\" . }}'")
	f.Fuzz(func(t *testing.T, template, value string) {
		ch := chartOf(aChart + "-- templates/test.yaml --\n" + template + "\n")
		r := releaseOf(t, "")
		r.Values.Fields["t"] = &fleet.Tree{Scalar: value}
		charts := &Charts{testLimits: limits{steps: 500_000, made: 8 << 20, output: 1 << 20}}
		_, err := charts.Release(t.Context(), cluster, r, ch, nil)
		for _, d := range diag.All(err) {
			if len(d.At) == 0 {
				t.Errorf("%q: %v is nowhere", template, err)
			}
		}
	})
}

// TestShared renders one chart for several releases at once, which share
// parsed templates, and compares with separate renderings.
func TestShared(t *testing.T) {
	ch := loaded(t, filepath.FromSlash("../../../testdata/charts/monitoring"))
	shared := new(Charts)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := releaseOf(t, "")
			r.Name = fmt.Sprintf("rel-%d", i%4)
			got, err := shared.Release(t.Context(), cluster, r, ch, nil)
			want, wantErr := new(Charts).Release(t.Context(), cluster, r, ch, nil)
			if err != nil || wantErr != nil || !slices.EqualFunc(got.Objects, want.Objects, func(a, b fleet.Object) bool {
				return a.Template == b.Template && reflect.DeepEqual(a.Object, b.Object)
			}) {
				t.Errorf("%d objects, %v, want %d, %v", len(got.Objects), err, len(want.Objects), wantErr)
			}
		}()
	}
	wg.Wait()
}

// TestSharedIsNotModified lets a template modify everything it can reach, and
// the caller modify its own objects.
func TestSharedIsNotModified(t *testing.T) {
	ch := chartOf(`
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, keywords: [b, a], dependencies: [{name: sub, version: 1.0.0, alias: other, tags: [z, x]}]}
-- values.yaml --
map: {list: [1]}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- charts/sub/values.yaml --
own: {x: 1}
-- crds/x.yaml --
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}}
-- templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  before: {{ printf "%v %v %v %v %v" .Values .Chart.Keywords (index .Chart.Dependencies 0).Tags (index .Chart.Dependencies 0).Name .Subcharts.other.Values | quote }}
{{ $_ := set .Values.map "new" 1 }}{{ $_ := set .Subcharts.other.Values.own "new" 1 }}{{ $_ := sortAlpha .Chart.Keywords }}{{ $_ := sortAlpha (index .Chart.Dependencies 0).Tags }}
{{ tpl "{{ define \"late\" }}{{ end }}" . }}{{ $_ := unset .Values "map" }}`)
	shared := new(Charts)
	var first string
	for i := range 3 {
		res, err := shared.Release(t.Context(), cluster, releaseOf(t, ""), ch, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(res.Objects[0].Object, res.Objects[1].Object)
		if i == 0 {
			first = text
		}
		if text != first || !strings.Contains(text, "[b a] [z x] other") {
			t.Errorf("render %d: %s, first %s", i, text, first)
		}
		for _, o := range res.Objects {
			if !o.Shared {
				o.SetName("changed")
			}
		}
	}
}

// TestTemplatesAreParsedOnce checks that templates and arguments of tpl are parsed once.
func TestTemplatesAreParsedOnce(t *testing.T) {
	ch := chartOf(aChart)
	shared := new(Charts)
	var before map[file]*text
	for range 2 {
		if _, err := shared.Release(t.Context(), cluster, releaseOf(t, ""), ch, nil); err != nil && !errors.As(err, new(*diag.Diag)) {
			t.Fatal(err)
		}
		s := shared.source(ch)
		if before == nil {
			before = map[file]*text{}
			for k, v := range s.files {
				before[k] = v
			}
			continue
		}
		if len(before) < 8 || !reflect.DeepEqual(keysOfFiles(before), keysOfFiles(s.files)) {
			t.Errorf("%d templates, then %d", len(before), len(s.files))
		}
		for k, v := range before {
			if s.files[k] != v {
				t.Errorf("%s was parsed again", k.name)
			}
		}
	}
}

func keysOfFiles(m map[file]*text) []string {
	var out []string
	for f := range m {
		out = append(out, f.name)
	}
	slices.Sort(out)
	return out
}

// TestSnippetsAreBounded checks that the cache of tpl arguments is bounded.
func TestSnippetsAreBounded(t *testing.T) {
	s := new(Charts).source(chartOf(""))
	for i := range 300 {
		s.snippet(fmt.Sprintf("{{ %d }}%s", i%100, strings.Repeat("x", 100_000)))
		if n := len(s.snippets.values); i < 100 && n > 0 || n > 62 {
			t.Fatalf("%d texts are kept after %d", n, i)
		}
	}
	if n := len(s.snippets.values); n < 20 {
		t.Errorf("%d of 100 texts are kept", n)
	}
}

// BenchmarkRender renders charts for the first time, and repeatedly with other
// values as for the clusters of a fleet.
func BenchmarkRender(b *testing.B) {
	istio := istio(b)
	for _, dir := range []string{
		"../../../testdata/charts/monitoring", "../../../testdata/charts/ingress-controller", "../../../testdata/charts/cert-manager",
		filepath.Join(istio, "base"), filepath.Join(istio, "istiod"),
	} {
		ch, charts := loaded(b, dir), new(Charts)
		r := &fleet.Release{Name: "my-release", Namespace: "my-namespace", Values: fleet.Map(nil)}
		render := func(b *testing.B, charts *Charts) {
			if _, err := charts.Release(b.Context(), cluster, r, ch, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(filepath.Base(dir)+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render(b, new(Charts))
			}
		})
		b.Run(filepath.Base(dir)+"/again", func(b *testing.B) {
			b.ReportAllocs()
			render(b, charts)
			for n := 0; b.Loop(); n++ {
				r.Values.Fields["benchmark"] = &fleet.Tree{Scalar: fmt.Sprint(n)}
				render(b, charts)
			}
		})
	}
}

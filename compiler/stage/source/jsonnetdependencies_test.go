package source

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestDependencies has imports in every syntactic position, evaluated or not.
func TestDependencies(t *testing.T) {
	for name, test := range map[string]struct {
		text, want string // files next to main.jsonnet
		charts     bool
	}{
		"none":            {text: "{}"},
		"value":           {text: "import 'a.libsonnet'", want: "a.libsonnet"},
		"text":            {text: "importstr 'a.txt'", want: "a.txt"},
		"bytes":           {text: "importbin 'a.txt'", want: "a.txt"},
		"not evaluated":   {text: "if true then 1 else import 'a.libsonnet'", want: "a.libsonnet"},
		"local":           {text: "local a = import 'a.libsonnet'; 1", want: "a.libsonnet"},
		"local function":  {text: "local a(x) = import 'a.libsonnet'; 1", want: "a.libsonnet"},
		"parameter":       {text: "function(params, x=import 'a.libsonnet') 1", want: "a.libsonnet"},
		"body":            {text: "function(params) import 'a.libsonnet'", want: "a.libsonnet"},
		"argument":        {text: "(function(x) x)(import 'a.libsonnet')", want: "a.libsonnet"},
		"named argument":  {text: "(function(x) x)(x=import 'a.libsonnet')", want: "a.libsonnet"},
		"field":           {text: "{ a: import 'a.libsonnet' }", want: "a.libsonnet"},
		"hidden field":    {text: "{ a+:: import 'a.libsonnet' }", want: "a.libsonnet"},
		"method":          {text: "{ a(x):: import 'a.libsonnet' }", want: "a.libsonnet"},
		"field name":      {text: "{ [importstr 'a.txt']: 1 }", want: "a.txt"},
		"object local":    {text: "{ local a = import 'a.libsonnet', b: a }", want: "a.libsonnet"},
		"object assert":   {text: "{ assert (import 'a.libsonnet') == 1 : importstr 'a.txt' }", want: "a.libsonnet a.txt"},
		"assert":          {text: "assert (import 'a.libsonnet') == 1; 2", want: "a.libsonnet"},
		"error":           {text: "error importstr 'a.txt'", want: "a.txt"},
		"array":           {text: "[1, [import 'a.libsonnet']]", want: "a.libsonnet"},
		"comprehension":   {text: "[x for x in import 'a.libsonnet' if (importstr 'a.txt') != x]", want: "a.libsonnet a.txt"},
		"fields of many":  {text: "{ [x]: importstr 'a.txt' for x in import 'a.libsonnet' }", want: "a.libsonnet a.txt"},
		"slice":           {text: "(importstr 'a.txt')[import 'a.libsonnet':2]", want: "a.libsonnet a.txt"},
		"index":           {text: "{}[importstr 'a.txt']", want: "a.txt"},
		"operators":       {text: "-(1 + import 'a.libsonnet')", want: "a.libsonnet"},
		"extended":        {text: "(import 'a.libsonnet') { x: super[importstr 'a.txt'] }", want: "a.libsonnet a.txt"},
		"in":              {text: "{ x: (importstr 'a.txt') in super }", want: "a.txt"},
		"of imported":     {text: "import 'b.libsonnet'", want: "a.libsonnet b.libsonnet"},
		"in a circle":     {text: "import 'circle.libsonnet'", want: "circle.libsonnet"},
		"vendored":        {text: "import 'v.libsonnet'", want: "vendor/v.libsonnet"},
		"shadowed":        {text: "import 'c.libsonnet'", want: "c.libsonnet"},
		"not there":       {text: "if true then {} else import 'no.libsonnet'"},
		"outside":         {text: "if true then {} else import '../../x'"},
		"a directory":     {text: "if true then {} else importstr 'vendor'"},
		"does not parse":  {text: "if true then {} else import 'broken.libsonnet'", want: "broken.libsonnet"},
		"no code":         {text: "{"},
		"standard":        {text: "std.length([std.map(function(x) x % 2, [1])]) + std['max'](1, 2)"},
		"native":          {text: "std.native('helmTemplate')('a', 'b', {})", charts: true},
		"native by index": {text: "std['native']('sha256')", charts: true},
		"computed":        {text: "std['na' + 'tive']", charts: true},
		"standard passed": {text: "local s = std; s.native", charts: true},
		"in another file": {text: "import 'native.libsonnet'", want: "native.libsonnet", charts: true},
		"library":         {text: "import 'fleetc.libsonnet'", charts: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rendererOf(t, "-- main.jsonnet --\n"+test.text+`
-- a.libsonnet --
1
-- a.txt --
a
-- b.libsonnet --
import 'a.libsonnet'
-- c.libsonnet --
1
-- circle.libsonnet --
{ a: import 'circle.libsonnet' }
-- broken.libsonnet --
{ a: import 'a.libsonnet', ]
-- native.libsonnet --
{ f: std.native }
-- vendor/v.libsonnet --
1
-- vendor/c.libsonnet --
2
`)
			r.Library = []byte("{ helmTemplate(a):: std.native('helmTemplate')(a, a, {}) }")
			want := append(strings.Fields(test.want), "main.jsonnet")
			slices.Sort(want)
			for range 2 { // the second time with cached syntax trees
				got, charts, err := r.Dependencies(t.Context(), "./main.jsonnet")
				if err != nil || !reflect.DeepEqual(got, want) || charts != test.charts {
					t.Errorf("%v, %v, %v; want %v, %v", got, charts, err, want, test.charts)
				}
			}
		})
	}
}

// TestDependenciesAreEnough tests that Dependencies has all files that renders
// read, for any cluster and in any order.
func TestDependenciesAreEnough(t *testing.T) {
	r := rendererOf(t, library2)
	for range 2 {
		deps, _, err := r.Dependencies(t.Context(), "app/main.jsonnet")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "other", "never"} {
			req := requestOf("app/main.jsonnet")
			req.Cluster = map[string]any{"id": id}
			got, _ := r.Render(t.Context(), req)
			for _, name := range got.Reads {
				if !slices.Contains(deps, name) {
					t.Errorf("%s is read for %s, and is not in %v", name, id, deps)
				}
			}
		}
	}
}

// FuzzDependencies tests that Dependencies has all files that a render of any
// file reads, and reports the use of charts.
func FuzzDependencies(f *testing.F) {
	for _, text := range []string{
		"import 'a.libsonnet'", "{ assert importstr 'b.txt' == 'b', x: 1 }", "[std[x] for x in ['native']]",
		"local s = std; s.native('helmTemplate')('a', 'b', {})", "{ a: 1 } { a+: import 'c.libsonnet' }", "function(params, x=importbin 'b.txt') x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2_000 || strings.Contains("\n"+text, "\n-- ") {
			return
		}
		r := rendererOf(t, "-- main.jsonnet --\n"+text+"\n-- a.libsonnet --\nimportstr 'b.txt'\n-- b.txt --\nb\n-- vendor/c.libsonnet --\n{a: importstr '../b.txt'}\n")
		r.MaxSteps = 100_000
		deps, charts, err := r.Dependencies(t.Context(), "main.jsonnet")
		if err != nil {
			return
		}
		req := requestOf("main.jsonnet")
		usesCharts := false
		req.HelmTemplate = func(context.Context, HelmCall) ([]fleet.Object, error) { usesCharts = true; return nil, nil }
		got, _ := r.Render(t.Context(), req)
		for _, name := range got.Reads {
			if !slices.Contains(deps, name) {
				t.Errorf("%s is read, and is not in %v", name, deps)
			}
		}
		if usesCharts && !charts {
			t.Error("charts are rendered, but not reported")
		}
	})
}

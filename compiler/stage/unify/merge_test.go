package unify

import (
	"bytes"
	"encoding/json"
	"log"
	"reflect"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzMerge compares the merge of defaults with Helm's: layers merge like
// values files (MergeTables), and the result merges into a chart's defaults
// (CoalesceTables), where a null deletes.
func FuzzMerge(f *testing.F) {
	for _, s := range [][3]string{
		{`{"a":1,"b":{"c":2}}`, `{"b":{"d":3}}`, `{"b":{"c":9,"e":4}}`},
		{`{"a":{"b":1}}`, `{"a":null}`, `{"a":{"b":2,"c":3}}`},
		{`{"a":null}`, `{"a":{"b":1}}`, `{"a":{"c":1}}`},
		{`{"a":{"b":1}}`, `{"a":"text"}`, `{"a":{"b":2}}`},
		{`{"a":"text"}`, `{"a":{"b":1}}`, `{"a":[1]}`},
		{`{"a":[1,{"x":1}]}`, `{"a":[2]}`, `{"a":[3,4]}`},
		{`{"a":{"b":{"c":null}}}`, `{"a":{"b":{"d":1}}}`, `{"a":{"b":{"c":1}}}`},
		{`{}`, `{"a":{}}`, `{"a":{"b":null}}`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]), []byte(s[2]))
	}
	f.Fuzz(func(t *testing.T, lo, hi, chart []byte) {
		log.SetOutput(new(bytes.Buffer)) // Helm logs replaced values
		decode := func(data []byte) map[string]any {
			var m map[string]any
			_ = json.Unmarshal(data, &m)
			return m
		}
		if decode(lo) == nil || decode(hi) == nil || decode(chart) == nil {
			return // defaults are always maps
		}
		got := merge(tree(decode(lo)), tree(decode(hi))).Value()
		want := chartutil.MergeTables(decode(hi), decode(lo))
		if !reflect.DeepEqual(got, map[string]any(want)) {
			t.Fatalf("merge(%s, %s) = %v, Helm makes %v", lo, hi, got, want)
		}
		overChart := chartutil.CoalesceTables(got.(map[string]any), decode(chart))
		helmOverChart := chartutil.CoalesceTables(chartutil.MergeTables(decode(hi), decode(lo)), decode(chart))
		if !reflect.DeepEqual(overChart, helmOverChart) {
			t.Fatalf("over the chart's %s: %v, Helm makes %v", chart, overChart, helmOverChart)
		}
		for key, v := range decode(hi) {
			if before := decode(chart)[key]; v == nil && before != nil {
				if _, ok := overChart[key]; ok {
					t.Fatalf("null does not delete the chart's %s", key)
				}
			}
		}
	})
}

func tree(v any) *fleet.Tree {
	switch v := v.(type) {
	case map[string]any:
		t := fleet.Map(nil)
		for k, e := range v {
			t.Fields[k] = tree(e)
		}
		return t
	case []any:
		t := &fleet.Tree{List: []*fleet.Tree{}}
		for _, e := range v {
			t.List = append(t.List, tree(e))
		}
		return t
	}
	return &fleet.Tree{Scalar: v}
}

func TestMergeKeepsWhatItShadows(t *testing.T) {
	lo := tree(map[string]any{"a": "low", "m": map[string]any{"x": "low"}})
	hi := tree(map[string]any{"a": "high", "m": map[string]any{"x": "high", "y": "high"}})
	lo.Fields["a"].Layer, hi.Fields["a"].Layer = "root", "prod"
	got := merge(lo, hi)
	a := got.Fields["a"]
	if a.Scalar != "high" || a.Layer != "prod" || a.Shadows == nil || a.Shadows.Scalar != "low" || a.Shadows.Layer != "root" {
		t.Errorf("a is %+v", a)
	}
	if x := got.Fields["m"].Fields["x"]; x.Shadows == nil || x.Shadows.Scalar != "low" {
		t.Errorf("m.x is %+v", x)
	}
	if y := got.Fields["m"].Fields["y"]; y.Shadows != nil {
		t.Errorf("m.y shadows %+v", y.Shadows)
	}
}

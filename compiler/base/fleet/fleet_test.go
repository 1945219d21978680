package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func TestChartRefString(t *testing.T) {
	for want, ref := range map[string]ChartRef{
		"":                                  {},
		"charts/app":                        {Path: "charts/app"},
		"https://example.com/app@1.2.3":     {Repo: "https://example.com", Name: "app", Version: "1.2.3"},
		"https://example.com/a.git@v1":      {Git: GitRef{URL: "https://example.com/a.git", Ref: "v1"}},
		"https://example.com/a.git//c/d@v1": {Git: GitRef{URL: "https://example.com/a.git", Ref: "v1", Path: "c/d"}},
	} {
		if got := ref.String(); got != want {
			t.Errorf("%+v is %s, want %s", ref, got, want)
		}
	}
}

func TestObjectID(t *testing.T) {
	o := func(apiVersion, kind, ns, name string) Object {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetAPIVersion(apiVersion)
		u.SetKind(kind)
		u.SetNamespace(ns)
		u.SetName(name)
		return Object{Unstructured: u}
	}
	for want, obj := range map[string]Object{
		"ConfigMap n/a":       o("v1", "ConfigMap", "n", "a"),
		"Namespace a":         o("v1", "Namespace", "", "a"),
		"Deployment.apps n/a": o("apps/v1", "Deployment", "n", "a"),
	} {
		if got := obj.ID(); got != want {
			t.Errorf("ID is %s, want %s", got, want)
		}
	}
	if o("apps/v1", "Deployment", "n", "a").ID() != o("apps/v1beta1", "Deployment", "n", "a").ID() {
		t.Error("two versions of an object are two objects")
	}
}

// An object has its position, or else that of its release. In a stored bundle, both are
// unknown.
func TestPlaces(t *testing.T) {
	at, of := diag.Pos{File: "a.cue", Line: 1}, diag.Pos{File: "b.cue", Line: 2}
	for want, o := range map[string]Object{
		"[a.cue:1]": {Pos: at, Release: &Release{Pos: of}},
		"[b.cue:2]": {Release: &Release{Pos: of}},
		"[]":        {Release: &Release{}},
	} {
		if got := fmt.Sprint(o.Places()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := (&Release{}).Places(); got != nil {
		t.Errorf("a stored release is at %v", got)
	}
}

func TestTree(t *testing.T) {
	leaf := func(v any) *Tree { return &Tree{Scalar: v} }
	tree := Map(map[string]*Tree{
		"m": Map(map[string]*Tree{"x": leaf(json.Number("1e3")), "y": leaf(nil)}),
		"l": {List: []*Tree{leaf("a"), leaf(true), Map(nil)}},
		"e": {List: []*Tree{}},
		"h": leaf(json.Number("1e999")),
	})
	want := map[string]any{
		"m": map[string]any{"x": 1000.0, "y": nil},
		"l": []any{"a", true, map[string]any{}},
		"e": []any{},
		"h": "1e999",
	}
	if got := tree.Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("Value is %v, want %v", got, want)
	}
	for _, test := range []struct {
		path  []string
		depth int
	}{{nil, 0}, {[]string{"m"}, 1}, {[]string{"m", "x"}, 2}, {[]string{"m", "z"}, 1}, {[]string{"m", "x", "q"}, 2}, {[]string{"q"}, 0}} {
		if _, depth := tree.Lookup(test.path...); depth != test.depth {
			t.Errorf("Lookup(%v) goes %d deep, want %d", test.path, depth, test.depth)
		}
	}
	if got := tree.Keys(); !reflect.DeepEqual(got, []string{"e", "h", "l", "m"}) {
		t.Errorf("Keys are %v", got)
	}
}

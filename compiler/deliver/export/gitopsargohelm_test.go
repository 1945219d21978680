package export

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/objects"
)

// Values with a null are a text: an apply of the Application would drop the null, and the
// chart would use its default.
func TestArgoValues(t *testing.T) {
	for name, test := range map[string]struct {
		values any
		want   map[string]any
	}{
		"none":      {nil, map[string]any{"releaseName": "web"}},
		"no null":   {map[string]any{"a": []any{"b"}}, map[string]any{"releaseName": "web", "valuesObject": map[string]any{"a": []any{"b"}}}},
		"a null":    {map[string]any{"a": nil, "b": map[string]any{"c": "x"}}, map[string]any{"releaseName": "web", "values": "a: null\nb:\n  c: x\n"}},
		"in a list": {map[string]any{"a": []any{map[string]any{"b": nil}}}, map[string]any{"releaseName": "web", "values": "a:\n- b: null\n"}},
	} {
		values, err := fleet.TreeOf(test.values)
		if err != nil {
			t.Fatal(err)
		}
		r := &fleet.Release{Name: "web", Values: values}
		source, err := Layouter{Encode: objects.Encode}.argoChart(r, fleet.ChartRef{Repo: "https://example.com", Name: "web", Version: "1.0.0"})
		if err != nil || !reflect.DeepEqual(source["helm"], any(test.want)) {
			t.Errorf("%s: %v, %v", name, source["helm"], err)
		}
	}
}

// Argo CD would prune the objects of a chart that a prune by fleetc keeps, unless the chart
// annotates them for Argo CD.
func TestUnprotected(t *testing.T) {
	annotated := func(kind, name, annotation, value string) fleet.Object {
		o := made(web, "v1", kind, name)
		o.SetAnnotations(map[string]string{annotation: value})
		return o
	}
	var got []string
	for _, d := range diag.All(unprotected(&fleet.Bundle{Objects: []fleet.Object{
		made(web, "v1", "PersistentVolumeClaim", "data"), made(web, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets"),
		made(web, "v1", "PersistentVolumeClaim", "hook", "pre-install"), made(web, "v1", "Service", "web"), made(db, "v1", "PersistentVolumeClaim", "other"),
		annotated("ConfigMap", "never", "fleetc.dev/prune", "never"), annotated("ConfigMap", "kept", "helm.sh/resource-policy", "keep"),
		annotated("PersistentVolumeClaim", "safe", syncOption, "Delete=false, Prune=false"),
	}}, web)) {
		got = append(got, d.Path)
	}
	if want := []string{"ConfigMap kept", "ConfigMap never", "PersistentVolumeClaim data"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}

package fleet

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMark(t *testing.T) {
	c := &Cluster{ID: "prod/eu"}
	for _, before := range []map[string]any{
		{"kind": "A"},
		{"kind": "A", "metadata": map[string]any{"name": "a"}},
		{"kind": "A", "metadata": map[string]any{"name": "a", "annotations": nil}},
		{"kind": "A", "metadata": map[string]any{"labels": map[string]any{"x": "y"}, "annotations": map[string]any{}}, "spec": map[string]any{"selector": map[string]any{}}},
	} {
		o := Object{Unstructured: (&unstructured.Unstructured{Object: before}).DeepCopy(), Release: &Release{Name: "web"}}
		marked := Mark("example.com/infra", c, o)
		if !reflect.DeepEqual(o.Object, before) {
			t.Errorf("%v has become %v", before, o.Object)
		}
		a := marked.GetAnnotations()
		if marked.GetLabels()[ReleaseLabel] != "web" || a[FleetAnnotation] != "example.com/infra" || a[ClusterAnnotation] != "prod/eu" {
			t.Errorf("%v is marked as %v", before, marked.Object)
		}
		if again := Mark("example.com/infra", c, marked); !reflect.DeepEqual(again.Object, marked.Object) {
			t.Errorf("marked again, %v is %v", marked.Object, again.Object)
		}
		with := marked.DeepCopy()
		given := marked.Unstructured
		marked.Unstructured = Unmark(given)
		if !reflect.DeepEqual(given, with) {
			t.Errorf("%v has become %v", with.Object, given.Object)
		}
		if Unmark(marked.Unstructured) != marked.Unstructured {
			t.Errorf("%v has no marks, and is another without them", marked.Object)
		}
		labels, annotations := marked.GetLabels(), marked.GetAnnotations()
		if len(labels) != len(o.GetLabels()) || len(annotations) > 0 || marked.Object["metadata"].(map[string]any)["annotations"] != nil || !reflect.DeepEqual(marked.Object["spec"], before["spec"]) {
			t.Errorf("without its marks, %v is %v", before, marked.Object)
		}
	}
	if got := Mark("m", c, Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{}}}); got.GetLabels() != nil {
		t.Errorf("an object without a release has the labels %v", got.GetLabels())
	}
}

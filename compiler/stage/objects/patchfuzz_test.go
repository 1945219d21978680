package objects

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzRelease applies any patch to any object: it does not panic, change its
// input, have random results or change an identity.
func FuzzRelease(f *testing.F) {
	f.Add(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"a","image":"nginx"}]}}}}`,
		`{"Strategic":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","$patch":"delete"}],"$setElementOrder/containers":[{"name":"a"}]}}}}}`)
	f.Add(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","finalizers":["x"]},"spec":{"volumes":[{"name":"a"}]}}`,
		`{"Strategic":{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"],"finalizers":["y"]},"spec":{"volumes":[{"$patch":"replace"},{"name":"a","$retainKeys":["name"]}]}}}`)
	f.Add(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}`, `{"Merge":{"data":{"a":null,"c":"d"}}}`)
	f.Add(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"a":"b"}}`, `{"JSON":[{"Op":"copy","From":"/data","Path":"/x"},{"Op":"test","Path":"/x/a","Value":"c"}]}`)
	f.Add(`{"apiVersion":"x/v1","kind":"Y","metadata":{"name":"a"},"spec":[1,2.5,{}]}`, `{"JSON":[{"Op":"move","From":"/spec/1","Path":"/spec/-"},{"Op":"add","Path":"/spec/0/a","Value":{}}]}`)
	f.Add(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"image":"a/b:c"}]}}`, `{"Images":{"":"x/","docker.io/":"y/"}}`)
	f.Fuzz(func(t *testing.T, object, patch string) {
		var o map[string]any
		var p fleet.Patch
		if utiljson.Unmarshal([]byte(object), &o) != nil || json.Unmarshal([]byte(patch), &p) != nil {
			return
		}
		p.Name, p.Target, p.Pos = "p", fleet.Selector{}, diag.Pos{File: "f", Line: 1}
		r := &fleet.Release{Name: "r", Namespace: "n", Patches: []fleet.Patch{p}}
		objs := []fleet.Object{{Unstructured: &unstructured.Unstructured{Object: o}, Release: r}}
		before, patchBefore := text(t, o), text(t, p)
		out, err := PatchRelease(eu, r, objs)
		if text(t, o) != before || text(t, r.Patches[0]) != patchBefore {
			t.Errorf("%s becomes %s, or %s becomes %s", before, text(t, o), patchBefore, text(t, r.Patches[0]))
		}
		again, errAgain := PatchRelease(eu, r, objs)
		if !reflect.DeepEqual(out, again) || !reflect.DeepEqual(diag.All(err), diag.All(errAgain)) {
			t.Errorf("once %v, %v, and once %v, %v", out, err, again, errAgain)
		}
		for _, o := range out {
			if p.JSON == nil && !reflect.DeepEqual(identityOf(o.Object), identityOf(objs[0].Object)) {
				t.Errorf("%s becomes %s", before, text(t, o.Object))
			}
		}
	})
}

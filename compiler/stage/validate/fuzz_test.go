package validate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzObjects validates any CRD and object: it does not panic, and the faults
// follow the rules for messages.
func FuzzCustomObjects(f *testing.F) {
	for _, spec := range []string{
		"{size: 1}", "{size: a, mode: x, ports: [{name: 1}], labels: {a: null}}", "{size: 1, auth: {user: x, token: z}, hosts: [a, a]}",
		"{size: 1, template: {apiVersion: v1, kind: Pod, metadata: 3}, shape: {kind: x}, first: 2, last: 1, replicas: 7}", "[]", "null",
	} {
		f.Add(widgets(f), widget(spec))
		f.Add(gadgets, "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: "+spec+"}")
	}
	f.Add("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a.b, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {}}}]}",
		"{apiVersion: a.b/v1, kind: A, metadata: {a: [1]}}")
	f.Fuzz(func(t *testing.T, crd, object string) {
		if len(crd)+len(object) > 64<<10 {
			return
		}
		var objs []fleet.Object
		for _, text := range []string{crd, object} {
			var m map[string]any
			if yaml.Unmarshal([]byte(text), &m) != nil {
				return
			}
			objs = append(objs, fleet.Object{Unstructured: &unstructured.Unstructured{Object: m}, Release: customWeb, Pos: customWeb.Pos})
		}
		var k CRDChecker
		bundled := k.Objects(customCluster("1.31"), objs, nil)
		known := k.Objects(customCluster("1.37"), objs[1:], objs[:1])
		for _, err := range []error{bundled, known} {
			for _, d := range diag.All(err) {
				if d.Cause != nil && strings.HasPrefix(d.Cause.Error(), "panic: ") {
					t.Errorf("%s: %v", d.Msg, d.Cause)
				}
				for _, r := range d.Msg + d.Hint {
					if r < ' ' {
						t.Errorf("%q is more than one line", d.Msg)
					}
				}
			}
		}
	})
}

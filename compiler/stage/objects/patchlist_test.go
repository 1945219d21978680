package objects

import (
	"testing"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

func TestListFaults(t *testing.T) {
	testFaults(t, []faultTest{
		{"items", []string{
			`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{name: web}, {image: x}]}}}}}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec.containers.1: Deployment.apps web: has no name, the merge key of the list [FL1512]
    hint: set it
`},
		{"order", []string{
			`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{name: web, tty: true}], $setElementOrder/containers: [{name: sidecar}]}}}}}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.spec.template.spec."$setElementOrder/containers": Deployment.apps web: does not match the order of the items in the patch [FL1512]
    hint: list all of them in that order
`},
	})
}

func TestMergeList(t *testing.T) {
	named := &kube.Schema{Type: kube.List, Strategy: []string{merge}, MergeKey: "name", ListKeys: []string{"name", "zone"}, Elem: &kube.Schema{
		Type: kube.Object, Fields: map[string]*kube.Schema{"name": {Type: kube.String}, "zone": {Type: kube.String, Default: "a"}, "num": {Type: kube.Integer}},
	}}
	for _, test := range []struct{ name, original, patch, want string }{
		{"new items stand in front of the next that is there", `[{name: a}, {name: b}]`, `[{name: x}, {name: b, num: 1}, {name: z}]`, `[{"name":"x"},{"name":"a"},{"name":"b","num":1},{"name":"z"}]`},
		{"items stand as in the patch", `[{name: a}, {name: b}]`, `[{name: b}, {name: a}]`, `[{"name":"b"},{"name":"a"}]`},
		{"all of a name are deleted", `[{name: a}, {name: b}, {name: a}]`, `[{name: a, $patch: delete}]`, `[{"name":"b"}]`},
		{"deleted and new", `[{name: a, num: 1}]`, `[{name: a, $patch: delete}, {name: a, num: 2}]`, `[{"name":"a","num":2}]`},
		{"the same twice", `[]`, `[{name: a, num: 1}, {name: a, zone: b}]`, `[{"name":"a","num":1,"zone":"b"}]`},
		{"the second key decides", `[{name: a, zone: b}, {name: a}]`, `[{name: a, num: 1}]`, `[{"name":"a","zone":"b"},{"name":"a","num":1}]`},
		{"the merge key alone decides where one has it", `[{name: a, zone: b}]`, `[{name: a, zone: c}]`, `[{"name":"a","zone":"c"}]`},
		{"the first, where no key decides", `[{name: a, zone: b}, {name: a, zone: c}]`, `[{name: a, zone: d}]`, `[{"name":"a","zone":"d"},{"name":"a","zone":"c"}]`},
		{"scalars", `[a, b, a]`, `[c, a, c]`, `["c","a","b","a"]`},
		{"numbers of any kind", `[{name: 1}]`, `[{name: 1.0, num: 2}]`, `[{"name":1,"num":2}]`},
		{"mixed", `[a]`, `[{name: a}]`, `cannot be merged: the items of the object and of the patch have different types`},
	} {
		original, _ := decoded(t, test.original).([]any)
		patch, _ := decoded(t, test.patch).([]any)
		out, p := mergeList(original, patch, named)
		got := text(t, out)
		if p != nil {
			got = p.msg
		}
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
	if _, p := mergeList(nil, []any{map[string]any{}}, &kube.Schema{Type: kube.List}); p == nil {
		t.Error("maps merge without a key")
	}
}

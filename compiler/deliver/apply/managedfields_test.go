package apply

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// Fields of other managers are removed below the path only.
func TestRemoveFieldsAt(t *testing.T) {
	const object = `{"spec":{"replicas":2,"other":1,"list":[{"name":"a","image":"x","args":["1"]},{"name":"b","image":"y"}],"set":["p","q"],"ports":[{"containerPort":80,"name":"web"}]}}`
	for _, test := range []struct{ path, others, want string }{
		{"spec.replicas", `{"f:spec":{"f:replicas":{}}}`, `{"spec":{"other":1,"list":[{"name":"a","image":"x","args":["1"]},{"name":"b","image":"y"}],"set":["p","q"],"ports":[{"containerPort":80,"name":"web"}]}}`},
		{"spec.replicas", `{"f:spec":{"f:other":{}}}`, object},
		{"spec.replicas", `null`, object},
		{"spec.list[name=a]", `{"f:spec":{"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}}}}}`, `{"spec":{"replicas":2,"other":1,"list":[{"name":"a","args":["1"]},{"name":"b","image":"y"}],"set":["p","q"],"ports":[{"containerPort":80,"name":"web"}]}}`},
		{"spec.list", `{"f:spec":{"f:list":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:image":{}}}}}`, `{"spec":{"replicas":2,"other":1,"list":[{"name":"a","image":"x","args":["1"]}],"set":["p","q"],"ports":[{"containerPort":80,"name":"web"}]}}`},
		{"spec.list[name=a].image", `{"f:spec":{"f:list":{"k:{\"name\":\"a\"}":{"f:image":{},"f:args":{}}}}}`, `{"spec":{"replicas":2,"other":1,"list":[{"name":"a","args":["1"]},{"name":"b","image":"y"}],"set":["p","q"],"ports":[{"containerPort":80,"name":"web"}]}}`},
		{"spec.set", `{"f:spec":{"f:set":{"v:\"p\"":{}}}}`, `{"spec":{"replicas":2,"other":1,"list":[{"name":"a","image":"x","args":["1"]},{"name":"b","image":"y"}],"set":["q"],"ports":[{"containerPort":80,"name":"web"}]}}`},
		{"spec.list", `{"f:spec":{"f:list":{}}}`, `{"spec":{"replicas":2,"other":1,"set":["p","q"],"ports":[{"containerPort":80,"name":"web"}]}}`},
		{"spec.ports[containerPort=80].name", `{"f:spec":{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{"f:name":{}}}}}`, `{"spec":{"replicas":2,"other":1,"list":[{"name":"a","image":"x","args":["1"]},{"name":"b","image":"y"}],"set":["p","q"],"ports":[{"containerPort":80}]}}`},
	} {
		path, ok := fleet.ParseSteps(test.path)
		if !ok {
			t.Fatal(test.path)
		}
		in := decode[map[string]any](t, object)
		got, _ := removeFieldsAt(in, path, decode[fieldSet](t, test.others))
		if want := decode[any](t, test.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s of %s:\n%v\nwant\n%v", test.path, test.others, got, want)
		}
		if !reflect.DeepEqual(in, decode[map[string]any](t, object)) {
			t.Fatal("the object was changed")
		}
	}
}

func TestUnion(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{`{"f:a":{}}`, `{"f:b":{"f:c":{}}}`, `{"f:a":{},"f:b":{"f:c":{}}}`},
		{`{"f:a":{}}`, `{"f:a":{"f:c":{}}}`, `{"f:a":{".":{},"f:c":{}}}`},
		{`null`, `{"f:a":{}}`, `{"f:a":{}}`},
	} {
		got := union(decode[fieldSet](t, test.a), decode[fieldSet](t, test.b))
		if want := decode[fieldSet](t, test.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s and %s are %v, want %v", test.a, test.b, got, want)
		}
	}
}

// Ownership paths match fields in the API server's notation.
func TestCovers(t *testing.T) {
	for _, test := range []struct {
		path, field string
		want        bool
	}{
		{"spec.replicas", ".spec.replicas", true},
		{"spec", ".spec.replicas", true},
		{"spec.replica", ".spec.replicas", false},
		{"spec.replicas", ".spec", false},
		{`data."a.b"`, ".data.a.b", true},
		{"spec.c[name=a].image", `.spec.c[name="a"].image`, true},
		{"spec.c[name=a]", `.spec.c[name="ab"].image`, false},
		{"spec.ports[containerPort=80]", `.spec.ports[containerPort=80,protocol="TCP"].name`, true},
		{"spec.ports[protocol=TCP]", `.spec.ports[containerPort=80,protocol="TCP"]`, true},
		{"spec.ports[protocol=UDP]", `.spec.ports[containerPort=80,protocol="TCP"]`, false},
		{"spec.set", `.spec.set[="p"]`, true},
		{"spec.set[name=a]", `.spec.set[="p"]`, false},
		{"spec.set[name=a]", `.spec.set[0`, false},
	} {
		path, ok := fleet.ParseSteps(test.path)
		if got := covers([][]fleet.Step{path}, []cluster.Field{{Path: test.field}}); !ok || got != test.want {
			t.Errorf("%s covers %s: %v", test.path, test.field, got)
		}
	}
}

// Fields in the API server's notation get paths that ownership accepts.
func TestFieldPaths(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "a", "app.kubernetes.io/name": "b"}},
		"data":     map[string]any{"a": "1", "a.b": "2"},
		"list":     []any{map[string]any{"name": "a.b", "port": int64(80), "args": []any{"x"}}},
	}}
	before := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"c.d": "3"}}}
	for field, want := range map[string]string{
		".metadata.labels.app":                    "metadata.labels.app",
		".metadata.labels.app.kubernetes.io/name": `metadata.labels."app.kubernetes.io/name"`,
		".data.a.b":                      `data."a.b"`,
		".data.c.d":                      `data."c.d"`,
		`.list[name="a.b",port=80].args`: "list[name=a.b,port=80].args",
		".data.e.f":                      ".data.e.f",
		`.list[name="b"]`:                `.list[name="b"]`,
		`.list[="b"]`:                    `.list[="b"]`,
		".list":                          "list",
		".list[0":                        ".list[0",
	} {
		it := &Item{object: object}
		if got := it.withPaths([]cluster.Field{{Path: field}}, before); got[0].Path != want {
			t.Errorf("%s is %s, want %s", field, got[0].Path, want)
		}
	}
}

// Fields that only former managers have are removed.
func TestDifference(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{`{"f:a":{},"f:b":{}}`, `{"f:a":{}}`, `{"f:b":{}}`},
		{`{"f:a":{".":{},"f:x":{},"f:y":{}}}`, `{"f:a":{"f:x":{}}}`, `{"f:a":{".":{},"f:y":{}}}`},
		{`{"f:a":{"f:x":{}}}`, `{"f:a":{}}`, `null`},
		{`{"f:a":{}}`, `{"f:a":{"f:x":{}}}`, `null`},
		{`{"f:a":{}}`, `null`, `{"f:a":{}}`},
		{`null`, `{"f:a":{}}`, `null`},
		{`{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}`, `{"f:l":{"k:{\"name\":\"b\"}":{".":{}}}}`, `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}`},
	} {
		got := difference(decode[fieldSet](t, test.a), decode[fieldSet](t, test.b))
		if want := decode[fieldSet](t, test.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s without %s is %v, want %v", test.a, test.b, got, want)
		}
	}
}

func TestMergePatch(t *testing.T) {
	const before = `{"same":{"x":1},"other":{"x":1,"y":2},"gone":1,"list":[1,2],"kind":"a"}`
	const current = `{"same":{"x":1},"other":{"x":3},"list":[1],"kind":{"b":1},"new":{"c":1}}`
	const want = `{"other":{"x":3,"y":null},"gone":null,"list":[1],"kind":{"b":1},"new":{"c":1}}`
	got := mergePatch(decode[map[string]any](t, before), decode[map[string]any](t, current))
	if want := decode[map[string]any](t, want); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAsStored(t *testing.T) {
	o := &unstructured.Unstructured{Object: decode[map[string]any](t, `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA==","b":"eQ=="},"stringData":{"b":"z","c":""}}`)}
	want := decode[map[string]any](t, `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA==","b":"eg==","c":""}}`)
	if got := asStored(o).Object; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, ok := o.Object["stringData"]; !ok {
		t.Error("the object was changed")
	}
	o.SetKind("Other")
	if got := asStored(o); got != o {
		t.Errorf("an object that is no Secret is %v", got.Object)
	}
}

// Objects of Flux are not adopted.
func TestTakeoverHint(t *testing.T) {
	for label, want := range map[string]string{
		"kustomize.toolkit.fluxcd.io/name": "change it where Flux reads it; or have Flux stop applying it, and pass --adopt=from:kustomize-controller",
		"helm.toolkit.fluxcd.io/name":      "change it where Flux reads it; or have Flux stop applying it, and pass --adopt=from:helm-controller",
		"app.kubernetes.io/name":           "pass --adopt to take it over",
	} {
		o := &unstructured.Unstructured{}
		o.SetLabels(map[string]string{label: "web"})
		if got := new(planner).takeoverHint(o); got != want {
			t.Errorf("%s: %q", label, got)
		}
	}
}

// Only fields that fleetc has applied stay at a path.
func TestKeepFieldsAt(t *testing.T) {
	const object = `{"metadata":{"name":"a","annotations":{"stamp":"1","ours":"x"}},"spec":{"replicas":2,"list":[{"name":"a","image":"x"},{"name":"side","image":"y"}],"set":["p","q"]}}`
	const own = `{"f:metadata":{"f:annotations":{"f:ours":{}}},"f:spec":{"f:replicas":{},"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}}},"f:set":{"v:\"p\"":{}}}}`
	for _, test := range []struct{ path, own, want string }{
		{`metadata.annotations.stamp`, own, `{"metadata":{"name":"a","annotations":{"ours":"x"}},"spec":{"replicas":2,"list":[{"name":"a","image":"x"},{"name":"side","image":"y"}],"set":["p","q"]}}`},
		{`metadata.annotations`, own, `{"metadata":{"name":"a","annotations":{"ours":"x"}},"spec":{"replicas":2,"list":[{"name":"a","image":"x"},{"name":"side","image":"y"}],"set":["p","q"]}}`},
		{`metadata.annotations`, `{"f:spec":{}}`, `{"metadata":{"name":"a"},"spec":{"replicas":2,"list":[{"name":"a","image":"x"},{"name":"side","image":"y"}],"set":["p","q"]}}`},
		{`metadata.annotations.ours`, own, object},
		{`metadata.labels.stamp`, own, object},
		{`spec.replicas`, own, object},
		{`spec.list[name=side]`, own, `{"metadata":{"name":"a","annotations":{"stamp":"1","ours":"x"}},"spec":{"replicas":2,"list":[{"name":"a","image":"x"}],"set":["p","q"]}}`},
		{`spec.list[name=a]`, own, object},
		{`spec.list`, own, `{"metadata":{"name":"a","annotations":{"stamp":"1","ours":"x"}},"spec":{"replicas":2,"list":[{"name":"a","image":"x"}],"set":["p","q"]}}`},
		{`spec.set`, own, `{"metadata":{"name":"a","annotations":{"stamp":"1","ours":"x"}},"spec":{"replicas":2,"list":[{"name":"a","image":"x"},{"name":"side","image":"y"}],"set":["p"]}}`},
		{`spec.set`, `{"f:spec":{"f:set":{}}}`, object},
	} {
		path, ok := fleet.ParseSteps(test.path)
		if !ok {
			t.Fatal(test.path)
		}
		in := decode[map[string]any](t, object)
		got, _ := keepFieldsAt(in, path, decode[fieldSet](t, test.own))
		if want := decode[any](t, test.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s of %s:\n%v\nwant\n%v", test.path, test.own, got, want)
		}
		if !reflect.DeepEqual(in, decode[map[string]any](t, object)) {
			t.Fatal("the object was changed")
		}
	}
}

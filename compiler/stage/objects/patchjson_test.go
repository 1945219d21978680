package objects

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestOperationFaults(t *testing.T) {
	testFaults(t, []faultTest{
		{"operations", []string{
			`{target: {kinds: [Deployment]}, json: [{op: test, path: /spec/replicas, value: 2}, {op: replace, path: /spec/replcas, value: 1}, {op: remove, path: /nothing}]}`,
			`{target: {kinds: [ConfigMap]}, json: [{op: add, path: /metadata/annotations/a, value: b}]}`,
			`{target: {kinds: [Secret]}, json: [{op: test, path: /stringData/password, value: hunter3}]}`,
			`{target: {kinds: [Widget]}, json: [{op: replace, path: /spec/parts/7/name, value: b}]}`,
			`{target: {kinds: [CronJob]}, json: [{op: test, path: /spec/schedule, value: 1}]}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.json.1: Deployment.apps web: replace /spec/replcas: /spec has no replcas [FL1512]
    hint: did you mean replicas?
fleet.cue:11:2: releases."my-web".patches.p1.json.0: ConfigMap other/settings: add /metadata/annotations/a: /metadata has no annotations [FL1512]
    hint: add that first, or use strategic or merge, which create missing fields
fleet.cue:12:2: releases."my-web".patches.p2.json.0: Secret keys: test /stringData/password: the value is different [FL1512]
    hint: correct the operation, or select the objects that it fits in target
fleet.cue:13:2: releases."my-web".patches.p3.json.0: Widget.example.com wheel: replace /spec/parts/7/name: /spec/parts is a list without index 7 [FL1512]
    hint: count from 0: the first item has the index 0
fleet.cue:14:2: releases."my-web".patches.p4.json.0: CronJob.batch nightly: test /spec/schedule: it is a string, not a number [FL1512]
    hint: correct the operation, or select the objects that it fits in target
`},
	})
}

// The examples of RFC 6902, appendix A. Documents that are not objects are
// under a key.
func TestRFC6902(t *testing.T) {
	for _, test := range []struct{ name, doc, ops, want string }{
		{"A.1", `{"foo": "bar"}`, `[{"op": "add", "path": "/baz", "value": "qux"}]`, `{"baz":"qux","foo":"bar"}`},
		{"A.2", `{"foo": ["bar", "baz"]}`, `[{"op": "add", "path": "/foo/1", "value": "qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{"A.3", `{"baz": "qux", "foo": "bar"}`, `[{"op": "remove", "path": "/baz"}]`, `{"foo":"bar"}`},
		{"A.4", `{"foo": ["bar", "qux", "baz"]}`, `[{"op": "remove", "path": "/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{"A.5", `{"baz": "qux", "foo": "bar"}`, `[{"op": "replace", "path": "/baz", "value": "boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{"A.6", `{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}`, `[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{"A.7", `{"foo": ["all", "grass", "cows", "eat"]}`, `[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{"A.8", `{"baz": "qux", "foo": ["a", 2, "c"]}`, `[{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{"A.9", `{"baz": "qux"}`, `[{"op": "test", "path": "/baz", "value": "bar"}]`, `0: test /baz: it is "qux", not "bar"`},
		{"A.10", `{"foo": "bar"}`, `[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]`, `{"child":{"grandchild":{}},"foo":"bar"}`},
		{"A.11", `{"foo": "bar"}`, `[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]`, `{"baz":"qux","foo":"bar"}`},
		{"A.12", `{"foo": "bar"}`, `[{"op": "add", "path": "/baz/bat", "value": "qux"}]`, `0: add /baz/bat: the object has no baz`},
		{"A.14", `{"/": 9, "~1": 10}`, `[{"op": "test", "path": "/~01", "value": 10}]`, `{"/":9,"~1":10}`},
		{"A.15", `{"/": 9, "~1": 10}`, `[{"op": "test", "path": "/~01", "value": "10"}]`, `0: test /~01: it is a number, not a string`},
		{"A.16", `{"foo": ["bar"]}`, `[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]`, `{"foo":["bar",["abc","def"]]}`},

		{"add in place of", `{"a": 1}`, `[{"op": "add", "path": "/a", "value": 2}]`, `{"a":2}`},
		{"add the whole", `{"a": 1}`, `[{"op": "add", "path": "", "value": {"b": 2}}]`, `{"b":2}`},
		{"add a null", `{}`, `[{"op": "add", "path": "/a", "value": null}]`, `{"a":null}`},
		{"add at the end", `{"a": [1]}`, `[{"op": "add", "path": "/a/1", "value": 2}]`, `{"a":[1,2]}`},
		{"add behind the end", `{"a": [1]}`, `[{"op": "add", "path": "/a/2", "value": 2}]`, `0: add /a/2: /a is a list without index 2`},
		{"leading zeros", `{"a": [1, 2]}`, `[{"op": "replace", "path": "/a/01", "value": 2}]`, `0: replace /a/01: /a is a list, and 01 is not an index`},
		{"negative", `{"a": [1, 2]}`, `[{"op": "remove", "path": "/a/-1"}]`, `0: remove /a/-1: /a is a list, and -1 is not an index`},
		{"huge", `{"a": [1, 2]}`, `[{"op": "remove", "path": "/a/99999999999999999999"}]`, `0: remove /a/99999999999999999999: /a is a list without index 99999999999999999999`},
		{"the end is nothing to replace", `{"a": [1, 2]}`, `[{"op": "replace", "path": "/a/-", "value": 3}]`, `0: replace /a/-: /a is a list, and - is not an index`},
		{"into a scalar", `{"a": {"b": 1}}`, `[{"op": "add", "path": "/a/b/c", "value": 3}]`, `0: add /a/b/c: /a/b is a number and cannot have c`},
		{"through a scalar", `{"a": true}`, `[{"op": "add", "path": "/a/b/c", "value": 3}]`, `0: add /a/b/c: /a is a bool and has no b`},
		{"the empty key", `{"": {"": 1}}`, `[{"op": "replace", "path": "//", "value": 2}]`, `{"":{"":2}}`},
		{"replace what is not there", `{"a": 1}`, `[{"op": "replace", "path": "/b", "value": 2}]`, `0: replace /b: the object has no b`},
		{"replace the whole", `{"a": 1}`, `[{"op": "replace", "path": "", "value": {"b": 2}}]`, `{"b":2}`},
		{"replace the whole by less", `{"a": 1}`, `[{"op": "replace", "path": "", "value": [1]}]`, `replaces the object with a list`},
		{"remove the whole", `{"a": 1}`, `[{"op": "remove", "path": ""}]`, `0: remove "": is the whole object`},
		{"move to itself", `{"a": 1}`, `[{"op": "move", "from": "/a", "path": "/a"}]`, `{"a":1}`},
		{"move what is not there to itself", `{"a": 1}`, `[{"op": "move", "from": "/b", "path": "/b"}]`, `0: move /b to /b: the object has no b`},
		{"move into itself", `{"a": {"b": 1}}`, `[{"op": "move", "from": "/a", "path": "/a/c"}]`, `0: move /a to /a/c: is inside /a, which cannot move into itself`},
		{"move to a like name", `{"a": {"b": 1}}`, `[{"op": "move", "from": "/a", "path": "/ab"}]`, `{"ab":{"b":1}}`},
		{"copies are apart", `{"a": {"b": 1}}`, `[{"op": "copy", "from": "/a", "path": "/c"}, {"op": "replace", "path": "/c/b", "value": 2}]`, `{"a":{"b":1},"c":{"b":2}}`},
		{"copy the whole into itself", `{"a": 1}`, `[{"op": "copy", "from": "", "path": "/b"}]`, `{"a":1,"b":{"a":1}}`},
		{"test a map", `{"a": {"b": [1, null], "c": 2}}`, `[{"op": "test", "path": "/a", "value": {"c": 2.0, "b": [1, null]}}]`, `{"a":{"b":[1,null],"c":2}}`},
		{"test another map", `{"a": {"b": 1}}`, `[{"op": "test", "path": "/a", "value": {"b": 2}}]`, `0: test /a: it is a different map`},
		{"test null", `{"a": null}`, `[{"op": "test", "path": "/a", "value": null}]`, `{"a":null}`},
		{"no operation", `{"a": null}`, `[{"op": "tset", "path": "/a", "value": null}]`, `0: tset /a: is not an operation`},
	} {
		var ops []fleet.Operation
		if err := json.Unmarshal([]byte(test.ops), &ops); err != nil {
			t.Fatal(err)
		}
		it := &item{Object: fleet.Object{Unstructured: &unstructured.Unstructured{Object: decodedMap(t, test.doc)}}}
		found := operate(it, ops)
		got := text(t, it.Unstructured.Object)
		for _, p := range found {
			got = p.msg
			if len(p.at) == 2 {
				got = p.at[0] + ": " + got
			}
		}
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// Copies of copies double the size: the limit stops them.
func TestCopiesEnd(t *testing.T) {
	var ops []fleet.Operation
	for range 64 {
		ops = append(ops, fleet.Operation{Op: "copy", From: "/a", Path: "/a/-"})
	}
	it := &item{Object: fleet.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"a": []any{int64(1)}}}}}
	found := operate(it, ops)
	if len(found) != 1 || !strings.HasSuffix(found[0].msg, "the copies have more than 1048576 values") {
		t.Errorf("the copies end with %v", found)
	}
}

package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

var key = []byte("the key of the tests")

// objects returns the objects of a YAML stream. The annotation release is the
// name of the release.
func objects(t testing.TB, stream string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	for doc := range strings.SplitSeq(stream, "\n---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(doc), &obj); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		o := fleet.Object{Unstructured: &unstructured.Unstructured{Object: obj}}
		if name := o.GetAnnotations()["release"]; name != "" {
			o.Release = &fleet.Release{Name: name}
			unstructured.RemoveNestedField(obj, "metadata", "annotations", "release")
		}
		out = append(out, o)
	}
	return out
}

// spec returns an object with the spec.
func spec(t testing.TB, text string) []fleet.Object {
	t.Helper()
	return objects(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: web}\nspec: "+text+"\n")
}

// short formats field changes as the test tables do.
func short(changes []FieldChange) string {
	value := func(v any) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return err.Error()
		}
		return strings.TrimSpace(b.String())
	}
	var lines []string
	for _, c := range changes {
		switch {
		case c.Reordered:
			lines = append(lines, fmt.Sprintf("%s order %s > %s", c.Path, value(c.Before), value(c.After)))
		case !c.HasBefore:
			lines = append(lines, fmt.Sprintf("%s + %s", c.Path, value(c.After)))
		case !c.HasAfter:
			lines = append(lines, fmt.Sprintf("%s - %s", c.Path, value(c.Before)))
		default:
			lines = append(lines, fmt.Sprintf("%s %s > %s", c.Path, value(c.Before), value(c.After)))
		}
	}
	return strings.Join(lines, "\n")
}

func TestObjectsFields(t *testing.T) {
	for _, test := range []struct{ name, before, after, want string }{
		{"equal", `{a: 1, b: [{c: null}]}`, `{b: [{c: null}], a: 1.0}`, ``},
		{"scalar", `{replicas: 2}`, `{replicas: 3}`, `spec.replicas 2 > 3`},
		{"text and number", `{a: "1"}`, `{a: 1}`, `spec.a "1" > 1`},
		{"null is not absent", `{a: null}`, `{}`, `spec.a - null`},
		{"to null", `{a: 1}`, `{a: null}`, `spec.a 1 > null`},
		{"map to list", `{a: {b: 1}}`, `{a: [1]}`, `spec.a {"b":1} > [1]`},
		{"empty map and null", `{a: {}}`, `{a: null}`, `spec.a {} > null`},
		{"empty list and map", `{a: []}`, `{a: {}}`, `spec.a [] > {}`},
		{"added map", `{}`, `{a: {b: 1}}`, `spec.a + {"b":1}`},
		{"quoted key", `{"helm.sh/chart": a, "": 1, my-key: 1}`, `{"helm.sh/chart": b, "": 2, my-key: 2}`, "spec.\"\" 1 > 2\nspec.\"helm.sh/chart\" \"a\" > \"b\"\nspec.my-key 1 > 2"},
		{"container by name", `{containers: [{name: app, image: a}, {name: side, image: s}]}`, `{containers: [{name: app, image: b}, {name: side, image: s}]}`, `spec.containers[name=app].image "a" > "b"`},
		{"env inserted", `{env: [{name: A}, {name: C}]}`, `{env: [{name: A}, {name: B}, {name: C}]}`, `spec.env[name=B] + {"name":"B"}`},
		{"env reordered", `{env: [{name: A}, {name: B}]}`, `{env: [{name: B}, {name: A}]}`, `spec.env order ["name=A","name=B"] > ["name=B","name=A"]`},
		{
			"env reordered, changed, added, removed", `{env: [{name: A}, {name: B, value: x}, {name: D}]}`, `{env: [{name: C}, {name: B, value: z}, {name: A}]}`,
			"spec.env order [\"name=A\",\"name=B\"] > [\"name=B\",\"name=A\"]\nspec.env[name=B].value \"x\" > \"z\"\nspec.env[name=C] + {\"name\":\"C\"}\nspec.env[name=D] - {\"name\":\"D\"}",
		},
		{"port default", `{ports: [{port: 53, protocol: UDP}, {port: 53}]}`, `{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`, `spec.ports[port=53,protocol=TCP].protocol + "TCP"`},
		{"argument inserted", `{args: [a, b, c]}`, `{args: [a, x, b, c]}`, `spec.args[1] + "x"`},
		{"argument removed", `{args: [a, b, c]}`, `{args: [a, c]}`, `spec.args[1] - "b"`},
		{"argument changed", `{args: [a, --level=1, c]}`, `{args: [a, --level=2, c]}`, `spec.args[1] "--level=1" > "--level=2"`},
		{"flag found among others", `{args: [a, --x=1, --level=1]}`, `{args: [a, --level=2, --y=1, --z]}`, "spec.args[1] - \"--x=1\"\nspec.args[1] \"--level=1\" > \"--level=2\"\nspec.args[2] + \"--y=1\"\nspec.args[3] + \"--z\""},
		{"arguments swapped", `{args: [a, b]}`, `{args: [b, a]}`, "spec.args[0] - \"a\"\nspec.args[1] + \"a\""},
		{
			"maps without a key", `{rules: [{verbs: [get], resources: [pods]}, {verbs: [list], resources: [nodes]}]}`,
			`{rules: [{verbs: [watch], resources: [events]}, {verbs: [get], resources: [pods]}, {verbs: [list, watch], resources: [nodes]}]}`,
			"spec.rules[0] + {\"resources\":[\"events\"],\"verbs\":[\"watch\"]}\nspec.rules[2].verbs[1] + \"watch\"",
		},
		{"lists of lists", `{a: [[1, 2], [3]]}`, `{a: [[1, 2, 3], [3]]}`, `spec.a[0][2] + 3`},
		{"sorted by number", `{args: []}`, `{args: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}`, "spec.args[0] + 0\nspec.args[1] + 1\nspec.args[2] + 2\nspec.args[3] + 3\nspec.args[4] + 4\nspec.args[5] + 5\nspec.args[6] + 6\nspec.args[7] + 7\nspec.args[8] + 8\nspec.args[9] + 9\nspec.args[10] + 10"},
	} {
		before, after := spec(t, test.before), spec(t, test.after)
		changes := Objects(before, after, key)
		var fields []FieldChange
		if len(changes) > 0 {
			fields = changes[0].Fields
		}
		if got := short(fields); got != test.want || len(changes) > 1 {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
		if got := applied(t, before[0].Object, fields); !equal(got, after[0].Object) {
			t.Errorf("%s: the changes make %v", test.name, got)
		}
	}
}

func TestObjects(t *testing.T) {
	before := objects(t, `
apiVersion: apps/v1beta1
kind: Deployment
metadata: {name: same, namespace: web, annotations: {release: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: moved, annotations: {release: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: known}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twice}
data: {k: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twice}
data: {k: "2"}
`)
	after := objects(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: same, namespace: web, annotations: {release: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: moved, annotations: {release: db}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: known, annotations: {release: db}}
---
apiVersion: example.com/v1
kind: ConfigMap
metadata: {name: gone, annotations: {release: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twice}
data: {k: "1"}
`)
	// The annotation of one side alone is a difference, which is not looked for.
	for _, o := range append(before, after...) {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	before = append(before, fleet.Object{})
	var got []string
	changes := Objects(before, after, key)
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %s<%s: %s", c.Action, c.ID, c.Release, c.FromRelease, short(c.Fields)))
	}
	want := []string{
		`delete ConfigMap gone <:  - {"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"gone"}}`,
		`delete ConfigMap twice <:  - {"apiVersion":"v1","data":{"k":"2"},"kind":"ConfigMap","metadata":{"name":"twice"}}`,
		`update ConfigMap moved db<web: `,
		`create ConfigMap.example.com gone web<:  + {"apiVersion":"example.com/v1","kind":"ConfigMap","metadata":{"name":"gone"}}`,
		`update Deployment.apps web/same web<: apiVersion "apps/v1beta1" > "apps/v1"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	slices.Reverse(after)
	slices.Reverse(before[:4])
	if again := Objects(before, after, key); !reflect.DeepEqual(again, changes) {
		t.Error("the order of the objects matters")
	}
	for _, side := range [][]fleet.Object{before, after} {
		if changes := Objects(side, side, key); len(changes) != 0 {
			t.Errorf("objects differ from themselves: %v", changes)
		}
	}
}

// randomValue returns a random JSON value of a kind that Kubernetes objects
// contain.
func randomValue(r *rand.Rand, depth int) any {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	n := r.IntN(10)
	if depth <= 0 {
		n = r.IntN(5)
	}
	switch n {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return float64(r.IntN(4))
	case 3, 4:
		return pick("a", "b", "--x=1", "--x=2", "a\nb\n", "a\nc\n", "1", "", "true", "]", "\x1b[31m")
	case 5: // a list that has a key, mostly
		name, other := pick("name", "key", "port"), pick("image", "protocol", "value")
		list := []any{}
		for _, i := range r.Perm(r.IntN(5)) {
			e := map[string]any{name: pick("x", "y,", "0") + fmt.Sprint(i), other: randomValue(r, depth-2)}
			if name == "port" {
				e[name] = float64(i / 2)
			}
			list = append(list, e)
		}
		return list
	case 6, 7:
		list := make([]any, r.IntN(5))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	default:
		m := map[string]any{}
		for range r.IntN(5) {
			m[pick("a", "b", "c.d/e", "", "ports", "env", "\"", "[0]")] = randomValue(r, depth-1)
		}
		return m
	}
}

// mutated returns a copy of v with random changes, possibly none.
func mutated(r *rand.Rand, v any, depth int) any {
	if r.IntN(8) == 0 {
		return randomValue(r, depth)
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if r.IntN(12) > 0 {
				out[k] = mutated(r, v[k], depth-1)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			if r.IntN(8) > 0 {
				out = append(out, mutated(r, e, depth-1))
			}
			if r.IntN(8) == 0 {
				out = append(out, randomValue(r, depth-1))
			}
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	return v
}

func object(v any) []fleet.Object {
	return []fleet.Object{{Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "spec": v,
	}}}}
}

func TestChangesMakeAfterOfBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var changed, reordered int
	for range 30_000 {
		value := randomValue(r, 5)
		changedValue := mutated(r, value, 5)
		before, after := object(value), object(changedValue)
		if changes := Objects(before, before, nil); len(changes) != 0 {
			t.Fatalf("%v differs from itself: %v", before, changes)
		}
		var fields []FieldChange
		for _, c := range Objects(before, after, nil) {
			fields = c.Fields
		}
		if (len(fields) == 0) != reflect.DeepEqual(before, after) {
			t.Fatalf("%d changes from\n%v to\n%v", len(fields), before, after)
		}
		changed += min(1, len(fields))
		if slices.ContainsFunc(fields, func(f FieldChange) bool { return f.Reordered }) {
			reordered++
		}
		if got := applied(t, before[0].Object, fields); !reflect.DeepEqual(got, any(after[0].Object)) {
			t.Fatalf("from\n%v to\n%v the changes\n%s\nmake\n%v", before, after, short(fields), got)
		}
	}
	if changed < 10_000 || reordered < 100 {
		t.Errorf("only %d pairs differ, %d by their order", changed, reordered)
	}
}

func FuzzObjects(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"spec":{"a":[1,2]}}`, `{"spec":{"a":[2,1]}}`},
		{`{"kind":"Secret","data":{"a":"YQ=="}}`, `{"kind":"Secret","data":{"a":"YR=="}}`},
		{`{"kind":"List","items":[{"kind":"Secret","stringData":3}]}`, `{"kind":"List","items":{}}`},
		{`{"ports":[{"port":1},{"port":1,"protocol":"UDP"}]}`, `{"ports":[{"port":1.0}]}`},
		{`{"a":"x\n\u001b[0m\ny","b":"\u202e` + "```" + `"}`, `{"a":"x\ny"}`},
		{`{"a":{}}`, `{"a":null}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var before, after map[string]any
		if json.Unmarshal(a, &before) != nil || json.Unmarshal(b, &after) != nil || before == nil || after == nil {
			return
		}
		objs := [2][]fleet.Object{}
		for i, m := range []map[string]any{before, after} {
			// They must be of one ID to be compared.
			m["apiVersion"], m["metadata"] = "v1", map[string]any{"name": "a"}
			m["kind"] = before["kind"]
			objs[i] = []fleet.Object{{Unstructured: &unstructured.Unstructured{Object: m}}}
		}
		changes := Objects(objs[0], objs[1], key)
		if (len(changes) == 0) != reflect.DeepEqual(before, after) {
			t.Fatalf("%d changes", len(changes))
		}
		if !holdsSecret(before) && !holdsSecret(after) && len(changes) > 0 {
			if got := applied(t, before, changes[0].Fields); !equal(got, after) {
				t.Errorf("the changes make %v", got)
			}
		}
		var g Grouper
		g.Add("a", changes)
		for _, s := range []Style{{}, {Content: true, Lines: 3, Limit: 300}} {
			checkWritten(t, g.Result(), s)
		}
	})
}

func BenchmarkObjects(b *testing.B) {
	const n = 1000
	fleetOf := func(changed bool) []fleet.Object {
		var out []fleet.Object
		for i := range n {
			image := "registry.example.com/app:1.2.3"
			if changed && i%100 == 0 {
				image = "registry.example.com/app:1.2.4"
			}
			out = append(out, objects(b, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: app-%d, namespace: web, labels: {app.kubernetes.io/name: app, helm.sh/chart: app-1.2.3}}
spec:
  replicas: 3
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}, annotations: {checksum/config: 0123456789abcdef}}
    spec:
      serviceAccountName: app
      containers:
      - name: app
        image: %s
        args: [--level=info, --port=8080, --cluster=prod]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        ports: [{containerPort: 8080, name: http}, {containerPort: 9090, name: metrics}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 128Mi}}
        volumeMounts: [{mountPath: /etc/app, name: config}, {mountPath: /tmp, name: tmp}]
        livenessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 10}
      volumes: [{name: config, configMap: {name: app}}, {name: tmp, emptyDir: {}}]
`, i, image))...)
		}
		return out
	}
	before, after := fleetOf(false), fleetOf(true)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(Objects(before, after, key)); got != n/100 {
			b.Fatalf("%d changes", got)
		}
	}
}

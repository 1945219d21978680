package objects

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// decoded returns YAML as decoded by Kubernetes' libraries.
func decoded(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func decodedMap(t testing.TB, text string) map[string]any {
	t.Helper()
	m, ok := decoded(t, text).(map[string]any)
	if !ok {
		t.Fatalf("no map: %s", text)
	}
	return m
}

var web = &fleet.Release{Name: "my-web", Namespace: "shop", Pos: diag.Pos{File: "fleet.cue", Line: 3, Col: 1}}

// objects returns the objects of YAML documents.
func objects(t testing.TB, docs string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	for doc := range strings.SplitSeq(docs, "\n---\n") {
		out = append(out, fleet.Object{
			Unstructured: &unstructured.Unstructured{Object: decodedMap(t, doc)},
			Release:      web, Template: "templates/all.yaml", Pos: web.Pos,
		})
	}
	return out
}

// release returns a release with the patch, written as in CUE but in YAML.
func release(t testing.TB, patches ...string) *fleet.Release {
	t.Helper()
	r := *web
	for i, text := range patches {
		var raw struct {
			Target    fleet.Selector
			Optional  bool
			Strategic map[string]any
			Merge     map[string]any
			JSON      []fleet.Operation
			Images    map[string]string
		}
		if err := yaml.UnmarshalStrict([]byte(text), &raw); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		r.Patches = append(r.Patches, fleet.Patch{
			Name: "p" + string(rune('0'+i)), Target: raw.Target, Optional: raw.Optional, Strategic: raw.Strategic,
			Merge: raw.Merge, JSON: raw.JSON, Images: raw.Images, Pos: diag.Pos{File: "fleet.cue", Line: 10 + i, Col: 2},
		})
	}
	return &r
}

var eu = &fleet.Cluster{ID: "prod/eu", KubeVersion: "1.36"}

func asYAML(t testing.TB, objs []fleet.Object) string {
	t.Helper()
	var docs []string
	for _, o := range objs {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(data))
	}
	return strings.Join(docs, "---\n")
}

func faultText(t testing.TB, err error) string {
	t.Helper()
	var b bytes.Buffer
	if err := diag.WriteText(&b, err, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: setup, image: busybox}]
      containers:
      - name: web
        image: nginx:1.27
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        ports: [{containerPort: 53, protocol: TCP, name: tcp}, {containerPort: 53, protocol: UDP, name: udp}]
      - {name: sidecar, image: "quay.io/acme/side@sha256:0000"}
      volumes: [{name: cache, emptyDir: {}}, {name: model, image: {reference: "ghcr.io/acme/model:1"}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: other}
data: {a: x, b: y}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: hunter2}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: wheel}
spec: {image: nginx, parts: [{name: a}, {name: b}], big: 12345678901234567, ratio: 1.0}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: acme/job}]}}}}`

// only returns the parts of the result that the tests show.
func TestRelease(t *testing.T) {
	for _, test := range []struct {
		name    string
		patches []string
		show    string // pointer into the object of the kind, or kinds
		want    string
	}{
		{
			"strategic",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {replicas: 5, template: {spec: {containers: [{name: web, image: "nginx:1.28", env: [{name: B, value: "3"}]}]}}}}}`},
			"Deployment /spec/template/spec/containers/0/env", `[{"name":"A","value":"1"},{"name":"B","value":"3"}]`,
		},
		{"whole numbers stay whole", []string{`{target: {kinds: [Deployment]}, strategic: {spec: {replicas: 5}}}`}, "Deployment /spec/replicas", `5`},
		{
			"the keys of a list decide where the merge key does not",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 53, protocol: UDP, name: dns}, {containerPort: 53, hostPort: 5}]}]}}}}}`},
			"Deployment /spec/template/spec/containers/0/ports", `[{"containerPort":53,"name":"dns","protocol":"UDP"},{"containerPort":53,"hostPort":5,"name":"tcp","protocol":"TCP"}]`,
		},
		{
			"an item is deleted",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {containers: [{name: sidecar, $patch: delete}]}}}}}`},
			"Deployment /spec/template/spec/containers/1", `none`,
		},
		{
			"a list is replaced",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {volumes: [{$patch: replace}, {name: v, emptyDir: {}}]}}}}}`},
			"Deployment /spec/template/spec/volumes", `[{"emptyDir":{},"name":"v"}]`,
		},
		{
			"a map is deleted, and does not stay as an empty one",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {volumes: [{name: cache, emptyDir: {$patch: delete}, configMap: {name: x}}]}}}}}`},
			"Deployment /spec/template/spec/volumes/0", `{"configMap":{"name":"x"},"name":"cache"}`,
		},
		{
			"a map replaces what is not there",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {strategy: {$patch: replace, type: Recreate}}}}`},
			"Deployment /spec/strategy", `{"type":"Recreate"}`,
		},
		{"merge is what happens anyway", []string{`{target: {kinds: [Deployment]}, strategic: {metadata: {labels: {$patch: merge, b: c}}}}`}, "Deployment /metadata/labels", `{"app":"web","b":"c"}`},
		{
			"retained keys",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {volumes: [{name: cache, $retainKeys: [name, configMap], configMap: {name: x}}]}}}}}`},
			"Deployment /spec/template/spec/volumes/0", `{"configMap":{"name":"x"},"name":"cache"}`,
		},
		{
			"nothing of a patch is left in what is new",
			[]string{`{target: {kinds: [Deployment]}, strategic: {spec: {template: {spec: {securityContext: {$retainKeys: [fsGroup], fsGroup: 1, runAsUser: null}, tolerations: [{key: a, value: null}, {$patch: replace}]}}}}}`},
			"Deployment /spec/template/spec/tolerations", `[{"key":"a"}]`,
		},
		{"a whole object is deleted", []string{`{target: {kinds: [CronJob]}, strategic: {$patch: delete}}`}, "CronJob", `none`},
		{
			"a whole object is replaced and keeps its name",
			[]string{`{target: {kinds: [ConfigMap]}, strategic: {$patch: replace, data: {c: z}}}`},
			"ConfigMap", `{"apiVersion":"v1","data":{"c":"z"},"kind":"ConfigMap","metadata":{"name":"settings","namespace":"other"}}`,
		},
		{
			"maps of a custom resource merge, and its lists replace",
			[]string{`{target: {kinds: [Widget.example.com]}, strategic: {spec: {image: null, parts: [{name: b, size: null}]}}}`},
			"Widget /spec", `{"big":12345678901234567,"parts":[{"name":"b","size":null}],"ratio":1}`,
		},
		{"a map of a custom resource is deleted", []string{`{target: {kinds: [Widget]}, strategic: {spec: {$patch: replace, a: 1}}}`}, "Widget /spec", `{"a":1}`},
		{"merge", []string{`{target: {names: ["w?b"]}, merge: {spec: {template: {spec: {volumes: [{name: x}]}}, replicas: null}}}`}, "Deployment /spec/template/spec/volumes", `[{"name":"x"}]`},
		{
			"json",
			[]string{`{target: {kinds: [Deployment]}, json: [{op: add, path: /metadata/annotations, value: {}}, {op: add, path: /metadata/annotations/a~1b, value: "1"}, {op: remove, path: /spec/template/spec/containers/1}]}`},
			"Deployment /metadata/annotations", `{"a/b":"1"}`,
		},
		{"numbers of the object keep their kind", []string{`{target: {kinds: [Widget]}, json: [{op: test, path: /spec/ratio, value: 1}, {op: copy, from: /spec/big, path: /spec/huge}]}`}, "Widget /spec/huge", `12345678901234567`},
		{"json moves an object on request", []string{`{target: {kinds: [ConfigMap]}, json: [{op: replace, path: /metadata/namespace, value: shop}]}`}, "ConfigMap /metadata/namespace", `"shop"`},
		{
			"images",
			[]string{`{images: {"docker.io/": "r.example/hub/", "docker.io/acme/": "r.example/acme/", "quay.io": "r.example/quay", ghcr.io/acme/model: r.example/model}}`},
			"Deployment /spec/template/spec/containers/0/image", `"r.example/hub/library/nginx:1.27"`,
		},
		{"images with a digest", []string{`{images: {"quay.io": "r.example/quay"}}`}, "Deployment /spec/template/spec/containers/1/image", `"r.example/quay/acme/side@sha256:0000"`},
		{"images of init containers", []string{`{images: {busybox: r.example/bb}}`}, "Deployment /spec/template/spec/initContainers/0/image", `"r.example/bb"`},
		{"images of volumes", []string{`{images: {"ghcr.io/": "r.example/"}}`}, "Deployment /spec/template/spec/volumes/1/image/reference", `"r.example/acme/model:1"`},
		{"images of cron jobs", []string{`{images: {"docker.io/": "r.example/hub/"}}`}, "CronJob /spec/jobTemplate/spec/template/spec/containers/0/image", `"r.example/hub/acme/job"`},
		{"images of custom resources stay", []string{`{images: {nginx: r.example/nginx}}`}, "Widget /spec/image", `"nginx"`},
		{"what is so already is no fault", []string{`{images: {"docker.io/library/": "r.example/"}}`, `{images: {"docker.io/library/": "r.example/"}}`}, "Deployment /spec/template/spec/containers/0/image", `"r.example/nginx:1.27"`},
		{"a later patch sees what an earlier one made", []string{`{target: {kinds: [Deployment]}, merge: {metadata: {labels: {tier: front}}}}`, `{target: {labels: {tier: "*"}}, merge: {spec: {replicas: 7}}}`}, "Deployment /spec/replicas", `7`},
		{"a target by the namespace of the release", []string{`{target: {kinds: [Deployment, ConfigMap], namespaces: [shop]}, merge: {metadata: {labels: {x: "y"}}}}`}, "Deployment /metadata/labels/x", `"y"`},
		{"and not by another", []string{`{target: {namespaces: [shop]}, merge: {metadata: {labels: {x: "y"}}}}`}, "ConfigMap /metadata/labels", `none`},
		{"an optional patch may match nothing", []string{`{target: {kinds: [Ingress]}, optional: true, merge: {spec: {}}}`, `{images: {gcr.io: x.example}, optional: true}`}, "Deployment /spec/replicas", `2`},
		{"a field that is there and should not be can go", []string{`{target: {kinds: [ConfigMap]}, json: [{op: add, path: /spec, value: {}}]}`, `{target: {kinds: [ConfigMap]}, strategic: {spec: null}}`}, "ConfigMap /spec", `none`},
	} {
		t.Run(test.name, func(t *testing.T) {
			objs := objects(t, shop)
			before := asYAML(t, objs)
			out, err := PatchRelease(eu, release(t, test.patches...), objs)
			if err != nil {
				t.Fatal(faultText(t, err))
			}
			if asYAML(t, objs) != before {
				t.Error("the given objects are modified")
			}
			kind, pointer, _ := strings.Cut(test.show, " ")
			got := "none"
			for _, o := range out {
				if o.GetKind() == kind {
					d := &document{root: o.Object}
					if v, p := d.get(pointer); p == nil {
						got = text(t, v)
					}
				}
			}
			if got != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.show, got, test.want)
			}
		})
	}
}

// Objects without changes are returned as they were, in the same order and with
// their source.
func TestReleaseLeavesTheRest(t *testing.T) {
	objs := objects(t, shop)
	out, err := PatchRelease(eu, release(t, `{target: {kinds: [CronJob, ConfigMap]}, strategic: {metadata: {annotations: {a: b}}}}`), objs)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		changed := o.GetKind() == "CronJob" || o.GetKind() == "ConfigMap"
		if (o.Unstructured == objs[i].Unstructured) == changed || o.GetName() != objs[i].GetName() || o.Template != "templates/all.yaml" || o.Release != web {
			t.Errorf("%d: %s", i, text(t, o.Object))
		}
	}
	if out, err := PatchRelease(eu, web, objs); err != nil || !reflect.DeepEqual(out, objs) {
		t.Errorf("without patches: %v, %v", out, err)
	}
	if out, err := PatchRelease(eu, release(t, `{optional: true, merge: {a: 1}}`), nil); err != nil || len(out) != 0 {
		t.Errorf("without objects: %v, %v", out, err)
	}
}

// Objects that one patch changed share nothing with each other or with the
// patch.
func TestReleaseSharesNothing(t *testing.T) {
	r := release(t, `{target: {kinds: [Deployment, CronJob]}, strategic: {metadata: {annotations: {a: b}}}}`)
	out, err := PatchRelease(eu, r, objects(t, shop))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		o.SetAnnotations(map[string]string{"a": o.GetName()})
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "a")
	}
	again, err := PatchRelease(eu, r, objects(t, shop))
	if err != nil {
		t.Fatal(err)
	}
	if got := again[0].GetAnnotations()["a"]; got != "b" {
		t.Errorf("the patch is modified: %q", got)
	}
}

// A faultTest has patches for the objects of shop, and their faults.
type faultTest struct {
	name    string
	patches []string
	want    string
}

// testFaults uses the version of Kubernetes in the faults.
func testFaults(t *testing.T, tests []faultTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := *eu
			if strings.Contains(test.want, "Kubernetes 1.33") {
				c.KubeVersion = "1.33"
			}
			out, err := PatchRelease(&c, release(t, test.patches...), objects(t, shop))
			if got := "\n" + faultText(t, err); got != test.want || out != nil {
				t.Errorf("faults:%s\nwant:%s", got, test.want)
			}
		})
	}
}

func TestReleaseFaults(t *testing.T) {
	testFaults(t, []faultTest{
		{"what a patch broke says no more", []string{`{target: {kinds: [Deployment]}, strategic: {sepc: {}}}`, `{target: {kinds: [Deployment]}, json: [{op: remove, path: /nothing}]}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.strategic.sepc: Deployment.apps web: no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean spec?
`},
		{"another object", []string{
			`{target: {kinds: [Deployment, CronJob]}, strategic: {metadata: {name: web}, spec: {}}}`,
			`{target: {kinds: [ConfigMap]}, merge: {metadata: {namespace: null}}}`,
			`{target: {kinds: [Widget]}, json: [{op: replace, path: /metadata, value: {name: x}}]}`,
			`{target: {kinds: [Secret]}, json: [{op: replace, path: "", value: 1}]}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0: CronJob.batch nightly: would turn it into another object, with metadata.name "web" instead of "nightly" [FL1512]
    hint: remove metadata.name and select the object in target, or change it with json: [{op: "add", path: "/metadata/name", value: ...}]
fleet.cue:11:2: releases."my-web".patches.p1: ConfigMap other/settings: would turn it into another object, with metadata.namespace none instead of "other" [FL1512]
    hint: remove metadata.namespace and select the object in target, or change it with json: [{op: "add", path: "/metadata/namespace", value: ...}]
fleet.cue:12:2: releases."my-web".patches.p2: Widget.example.com wheel: would turn it into another object, with metadata.name "x" instead of "wheel" [FL1512]
    hint: remove metadata.name and select the object in target, or change it with json: [{op: "add", path: "/metadata/name", value: ...}]
fleet.cue:13:2: releases."my-web".patches.p3.json: Secret keys: replaces the object with a number [FL1512]
    hint: replace a field of it
`},
	})
}

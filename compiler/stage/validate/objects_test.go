package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

var (
	web = &fleet.Release{Name: "web", Namespace: "front", Pos: diag.Pos{File: "web.cue", Line: 3, Col: 1}}
	api = &fleet.Release{Name: "api", Namespace: "back", Pos: diag.Pos{File: "api.cue", Line: 7, Col: 2}}
)

// cluster returns a cluster of a Kubernetes version.
func cluster(version string) *fleet.Cluster {
	return &fleet.Cluster{ID: "prod/eu", KubeVersion: version, KubePos: diag.Pos{File: "cluster.cue", Line: 1, Col: 1}}
}

// objects returns the objects of a release, given as YAML documents. Those of
// web come from a template, others from CUE.
func objects(t testing.TB, r *fleet.Release, text string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatal(err)
		}
		o := fleet.Object{Unstructured: &unstructured.Unstructured{Object: m}, Release: r, Pos: r.Pos}
		if r == web {
			o.Template = "web/templates/all.yaml"
		}
		out = append(out, o)
	}
	return out
}

// faults returns the faults of an error as text.
func faults(t testing.TB, err error) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, err, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormFaults(t *testing.T) {
	const from = " (release web, web/templates/all.yaml) [FL1603]\n"
	for _, tt := range []struct{ name, object, want string }{
		{"empty", `{}`, "object: the object is empty" + from + "    hint: leave it out\n"},
		{"null", `null`, "object: the object is empty" + from + "    hint: leave it out\n"},
		{
			"no version", "{kind: ServiceAccount, metadata: {name: a}}",
			"ServiceAccount a: apiVersion is missing" + from + "    hint: set it\n",
		},
		{
			"empty version", "{apiVersion: '', kind: ServiceAccount, metadata: {name: a}}",
			"ServiceAccount a: apiVersion is empty" + from + "    hint: set it\n",
		},
		{
			"version a number", "{apiVersion: 1, kind: ServiceAccount, metadata: {name: a}}",
			"ServiceAccount a: apiVersion is a number, not a string" + from + "    hint: put it in quotes\n",
		},
		{
			"version of three parts", "{apiVersion: a/b/c, kind: ServiceAccount, metadata: {name: a}}",
			`ServiceAccount a: apiVersion "a/b/c" is neither version nor group/version` + from + "    hint: write it as v1 or apps/v1\n",
		},
		{
			"version with an empty group", "{apiVersion: /v1, kind: ServiceAccount, metadata: {name: a}}",
			`ServiceAccount a: apiVersion "/v1" is neither version nor group/version` + from + "    hint: write it as v1 or apps/v1\n",
		},
		{
			"no kind", "{apiVersion: v1, metadata: {name: a}}",
			"object a: kind is missing" + from + "    hint: set it\n",
		},
		{
			"kind a list", "{apiVersion: v1, kind: [ServiceAccount], metadata: {name: a}}",
			"object a: kind is a list, not a string" + from + "    hint: write it as one text, in YAML as a block after |\n",
		},
		{
			"kind a path", "{apiVersion: v1, kind: ../ServiceAccount, metadata: {name: a}}",
			`../ServiceAccount a: kind "../ServiceAccount" must be a word of letters, digits and -` + from + "    hint: write it as Deployment\n",
		},
		{
			"no metadata", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}",
			"Role.rbac.authorization.k8s.io: metadata.name is missing" + from + "    hint: set it\n",
		},
		{
			"a list without items", "{apiVersion: v1, kind: List}",
			"List: items is missing" + from + "    hint: write the objects into items, or leave the List out\n",
		},
		{
			"metadata a string", "{apiVersion: v1, kind: ServiceAccount, metadata: name}",
			"ServiceAccount: metadata is a string, not a map" + from + "    hint: set metadata.name\n",
		},
		{
			"no name", "{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: x}}",
			"ServiceAccount: metadata.name is missing" + from + "    hint: set it\n",
		},
		{
			"name a bool", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: true}}",
			"ServiceAccount: metadata.name is a bool, not a string" + from + "    hint: put it in quotes\n",
		},
		{
			"name a number", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: 8080}}",
			"ServiceAccount: metadata.name is a number, not a string" + from + "    hint: put it in quotes\n",
		},
		{
			"generated name", "{apiVersion: v1, kind: ServiceAccount, metadata: {generateName: a-}}",
			"ServiceAccount: metadata.generateName is set instead of metadata.name" + from +
				"    hint: set metadata.name: the objects of a bundle have fixed names, so that two bundles can be compared\n",
		},
		{
			"namespace a map", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: {}}}",
			"ServiceAccount a: metadata.namespace is a map, not a string" + from + "    hint: write it as one text, in YAML as a block after |\n",
		},
		{
			"labels a list", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, labels: [x]}}",
			"ServiceAccount a: metadata.labels is a list, not a map" + from + "    hint: write it as key: value\n",
		},
		{
			"label a number", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, labels: {z: z, version: 1.2}}}",
			`ServiceAccount a: metadata.labels has a number under "version", not a string` + from + "    hint: put it in quotes\n",
		},
		{
			"annotation a bool", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: {inject: false}}}",
			`ServiceAccount a: metadata.annotations has a bool under "inject", not a string` + from + "    hint: put it in quotes\n",
		},
		{
			"several", "{apiVersion: v1, metadata: {labels: {b: {}, a: []}}}",
			"object: kind is missing" + from + "    hint: set it\n" +
				`web.cue:3:1: object: metadata.labels has a list under "a", not a string` + from + "    hint: write it as one text, in YAML as a block after |\n" +
				`web.cue:3:1: object: metadata.labels has a map under "b", not a string` + from + "    hint: write it as one text, in YAML as a block after |\n" +
				"web.cue:3:1: object: metadata.name is missing" + from + "    hint: set it\n",
		},
		{
			"unprintable", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: "a\x1b[31m\u202E"}}`,
			"ServiceAccount front/a\uFFFD[31m\uFFFD: metadata.name \"a\uFFFD[31m\uFFFD\" is not a valid name of a ServiceAccount: it must be " + subdomain + from,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := faults(t, checked(cluster("1.36"), objects(t, web, tt.object)))
			got = strings.ReplaceAll(got, "    in prod/eu\n", "")
			if want := "web.cue:3:1: " + tt.want; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFormPasses(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: null, labels: null, annotations: {a: null, b: c}}}",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, generateName: a-, namespace: ''}}",
	} {
		if err := checked(cluster("1.36"), objects(t, web, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNamespace(t *testing.T) {
	objs := objects(t, web, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: null, namespace: null}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: other}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: none}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: own, namespace: other}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: odd, namespace: Ill/egal}}
---
{apiVersion: example.com/v1, kind: Thing, metadata: {name: none}}
---
{apiVersion: example.com/v1, kind: Global, metadata: {name: own, namespace: other}}
---
{apiVersion: example.com/v1, kind: Declared, metadata: {name: own, namespace: other}}
`)
	objs[1].SetName("null")
	objs = append(objs, objects(t, api, crd("things", "Thing", "Namespaced")+"\n---\n"+crd("globals", "Global", "Cluster"))...)
	c := cluster("1.36.2")
	c.APIs = []fleet.API{{APIVersion: "example.com/v1", Kind: "Declared"}}
	if err := checked(c, objs); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ConfigMap front/none", "ConfigMap front/null", "ConfigMap other/own",
		"ClusterRole.rbac.authorization.k8s.io none", "ClusterRole.rbac.authorization.k8s.io own", "ClusterRole.rbac.authorization.k8s.io odd",
		"Thing.example.com front/none", "Global.example.com own", "Declared.example.com own",
	}
	for i, w := range want {
		if got := objs[i].ID(); got != w {
			t.Errorf("object %d is %s, want %s", i, got, w)
		}
	}
	if meta := objs[4].Object["metadata"].(map[string]any); len(meta) != 1 {
		t.Errorf("the metadata of a cluster-scoped object is %v", meta)
	}
}

func TestNamespaceFaults(t *testing.T) {
	objs := objects(t, web, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: ../up}}\n---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: b}}")
	odd := &fleet.Release{Name: "odd", Namespace: "a.b", Pos: diag.Pos{File: "odd.cue", Line: 1, Col: 1}}
	objs = append(objs, objects(t, odd, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}\n---\n"+
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: b, namespace: a.b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: c}}")...)
	want := `odd.cue:1:1: releases.odd.namespace: "a.b" is not a valid namespace: it must be ` + label + ` [FL1114]
    in prod/eu
web.cue:3:1: ServiceAccount ../up/a: metadata.namespace "../up" is not a valid namespace: it must be ` + label + ` (release web, web/templates/all.yaml) [FL1603]
    in prod/eu
`
	if got := faults(t, checked(cluster("1.36"), objs)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestVersionFaults(t *testing.T) {
	for _, version := range []string{"1.28.3", "1.38", "2.30", "", "latest"} {
		t.Run(version, func(t *testing.T) {
			// Faults about kinds do not hide other faults.
			objs := objects(t, web, "{apiVersion: example.com/v1, kind: Any, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ServiceAccount, metadata: {}}")
			want := `cluster.cue:1:1: cluster.kubernetes: the kinds of Kubernetes "` + version + `" are not known [FL1112]
    hint: use a version from 1.29 to 1.37
    in prod/eu
web.cue:3:1: ServiceAccount: metadata.name is missing (release web, web/templates/all.yaml) [FL1603]
    hint: set it
    in prod/eu
`
			if got := faults(t, checked(cluster(version), objs)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	if err := checked(cluster("1.29"), nil); err != nil {
		t.Error(err)
	}
	o := fleet.Object{Release: web}
	if err := checked(cluster("1.29"), []fleet.Object{o}); err == nil || !strings.Contains(err.Error(), "the object is empty") {
		t.Errorf("an object without content: %v", err)
	}
}

// checked checks objects as those of one cluster and as shared objects, and wants
// equal results.
func checked(c *fleet.Cluster, objs []fleet.Object) error {
	shared := slices.Clone(objs)
	for i := range shared {
		shared[i].Shared = true
	}
	alone := (&Checker{}).Objects(c, objs)
	var k Checker
	for range 2 {
		again := slices.Clone(shared)
		if err := k.Objects(c, again); fmt.Sprint(err) != fmt.Sprint(alone) {
			return fmt.Errorf("shared, it says\n%w\nand otherwise\n%w", err, alone)
		}
		for i := range again {
			if !reflect.DeepEqual(again[i].Unstructured, objs[i].Unstructured) {
				return fmt.Errorf("%s: shared, it becomes\n%v\nand otherwise\n%v", objs[i].ID(), again[i].Unstructured, objs[i].Unstructured)
			}
		}
	}
	return alone
}

// FuzzObjects tests that no objects cause a panic, and that valid names and
// namespaces cannot leave a directory.
func FuzzObjects(f *testing.F) {
	for _, text := range []string{
		`[{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}]`,
		`[{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": "a"}, null, 3, [], {"metadata": {"name": 3, "labels": {"a": 1}}}]`,
		`[{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "system:A", "namespace": "x"}}]`,
		`[{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.b.c"},
		   "spec": {"group": "b.c", "scope": "Cluster", "names": {"kind": "A", "plural": "as"}, "versions": [{"name": "v1", "served": true}]}},
		  {"apiVersion": "b.c/v1", "kind": "A", "metadata": {"name": "x", "namespace": "../y"}}]`,
		`[{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"versions": [3], "names": []}}]`,
		`[{"apiVersion": "certificates.k8s.io/v1", "kind": "ClusterTrustBundle", "metadata": {"name": "a:b:c"}, "spec": {"signerName": "a/b"}}]`,
		`[{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1."}, "spec": {"version": "v1"}}]`,
		`[{"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "::1"}}]`,
		`[{"apiVersion": "coordination.k8s.io/v1alpha2", "kind": "LeaseCandidate", "metadata": {"name": "A_b"}}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var list []any
		if json.Unmarshal(text, &list) != nil {
			return
		}
		var objs []fleet.Object
		for _, v := range list {
			m, _ := v.(map[string]any)
			objs = append(objs, fleet.Object{Unstructured: &unstructured.Unstructured{Object: m}, Release: web})
		}
		err := checked(cluster("1.36"), objs)
		if err != nil {
			if _, ok := errors.AsType[diag.List](err); !ok {
				t.Fatalf("not a list of faults: %v", err)
			}
			return
		}
		for _, o := range objs {
			name, ns := o.GetName(), o.GetNamespace()
			bad := name == "" || name == "." || name == ".." || strings.ContainsAny(name+ns, "/%\x00\n")
			// The names of a few kinds may be any segment of a path: a..b is
			// one.
			free := map[string]bool{
				"Role": true, "ClusterRole": true, "RoleBinding": true, "ClusterRoleBinding": true,
				"PodDisruptionBudget": true, "CertificateSigningRequest": true, "Event": true, "LeaseCandidate": true,
			}
			if bad || strings.Contains(ns, "..") || strings.Contains(name, "..") && !free[o.GetKind()] {
				t.Fatalf("%q passes in namespace %q: %s", name, ns, text)
			}
		}
	})
}

// BenchmarkObjects checks 1,000 objects of built-in kinds with warm caches.
func BenchmarkObjects(b *testing.B) {
	docs := documents(b, "testdata/good.yaml")
	var objs []fleet.Object
	for i := range 1000 {
		o := object(decoded(b, docs[i%len(docs)]))
		if k := o.GetKind(); k == "CustomResourceDefinition" || k == "APIService" {
			continue // whose names cannot be made to differ
		}
		o.SetName(fmt.Sprintf("a%d-%s", i, strings.ReplaceAll(o.GetName(), ":", "-")))
		objs = append(objs, o)
	}
	for b.Loop() {
		if err := checked(cluster("1.36"), objs); err != nil {
			b.Fatal(err)
		}
	}
}

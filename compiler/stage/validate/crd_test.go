package validate

import (
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

var customWeb = &fleet.Release{Name: "web", Namespace: "front", Pos: diag.Pos{File: "web.cue", Line: 3, Col: 1}}

// customCluster returns a cluster of a Kubernetes version.
func customCluster(version string) *fleet.Cluster {
	return &fleet.Cluster{ID: "prod/eu", KubeVersion: version}
}

// customObjects returns the objects of the release web, written as YAML documents.
func customObjects(t testing.TB, texts ...string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	for _, text := range texts {
		for doc := range strings.SplitSeq(text, "\n---\n") {
			var m map[string]any
			if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
				t.Fatalf("%v in %s", err, doc)
			}
			out = append(out, fleet.Object{
				Unstructured: &unstructured.Unstructured{Object: m}, Release: customWeb, Pos: customWeb.Pos, Template: "web/templates/all.yaml",
			})
		}
	}
	return out
}

// widgets returns a CRD that uses every feature.
func widgets(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/crds/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// widget returns a custom resource.
func widget(spec string) string {
	return "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: front}, spec: " + spec + "}"
}

// checkCustom returns the faults of objects in a cluster of the newest version.
func checkCustom(t testing.TB, objs []fleet.Object) string {
	t.Helper()
	var k CRDChecker
	return faults(t, k.Objects(customCluster("1.37"), objs, nil))
}

// short removes the common parts of faults.
func short(faults, title string) string {
	for _, s := range []string{"web.cue:3:1: " + title + ": ", " (release web, web/templates/all.yaml)", "    in prod/eu\n"} {
		faults = strings.ReplaceAll(faults, s, "")
	}
	return strings.ReplaceAll(faults, "    hint: ", "  ")
}

// checkStyle reports faults that do not follow the rules for messages.
func checkStyle(t testing.TB, faults string) {
	t.Helper()
	for _, bad := range []string{
		"map[", "interface", "failed", "unable", "apiextensions.", "{}", "<nil>", "nil pointer", "Invalid value", " 0x", "ERROR",
		"spec.validation", "webhookClientConfig", ". (", ".; ",
	} {
		if strings.Contains(faults, bad) {
			t.Errorf("a fault has %q:\n%s", bad, faults)
		}
	}
}

func TestFault(t *testing.T) {
	got := checkCustom(t, customObjects(t, widgets(t), widget("{size: big, scale: 3, replica: 2}")))
	const from = " (release web, web/templates/all.yaml) [FL1604]\n"
	want := `web.cue:3:1: Widget.example.com front/a: spec.replica is an unknown field` + from + `    hint: did you mean replicas?
    in prod/eu
web.cue:3:1: Widget.example.com front/a: spec.scale is an unknown field` + from + `    hint: leave it out
    in prod/eu
web.cue:3:1: Widget.example.com front/a: spec.size is "big": it must be an integer` + from + `    hint: write it without quotes
    in prod/eu
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Versions that are not served, kinds without a CRD and objects without a kind
// are left to other packages.
func TestIgnoredObjects(t *testing.T) {
	objs := customObjects(
		t, widgets(t),
		"{apiVersion: example.com/v0, kind: Widget, metadata: {name: a}, spec: 3}",
		"{apiVersion: example.com/v9, kind: Widget, metadata: {name: a}, spec: 3}",
		"{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: 3}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: 3}",
		"{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: a}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: a.b, scope: X, names: {kind: A, plural: as}, versions: [{name: v1}]}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: a.b, scope: Cluster, names: {kind: A, plural: as}, versions: [v1]}}",
		"{apiVersion: a/b/c, kind: Widget}", "{kind: Widget}", "{apiVersion: 3, kind: [Widget]}", "{}", "null",
	)
	objs = append(objs, fleet.Object{Release: customWeb})
	if got := checkCustom(t, objs); got != "" {
		t.Errorf("got\n%s", got)
	}
}

// A broken CRD is reported, and objects are not validated against it.
func TestBrokenDefinition(t *testing.T) {
	broken := strings.Replace(widgets(t), "level: {type: integer", "level: {type: whole", 1)
	got := short(checkCustom(t, customObjects(t, broken, widget("{size: big}"))), "CustomResourceDefinition.apiextensions.k8s.io widgets.example.com")
	want := "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.level.type is \"whole\": it must be one of array, boolean, integer, number, object, string [FL1604]\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Known CRDs are not validated, and a CRD of the bundle replaces them.
func TestKnown(t *testing.T) {
	var k CRDChecker
	known := customObjects(t, strings.Replace(widgets(t), "storage: true", "storage: false", 1))
	for i := range known {
		known[i].Release, known[i].Template, known[i].Pos = nil, "", diag.Pos{File: "crds/widgets.yaml", Line: 2}
	}
	objs := customObjects(t, widget("{size: 1, step: 3}"))
	const step = "spec.step is 3: it must be a multiple of 5 [FL1604]\n"
	if got := short(faults(t, k.Objects(customCluster("1.37"), objs, known)), "Widget.example.com front/a"); got != step {
		t.Errorf("got\n%s\nwant\n%s", got, step)
	}
	ours := customObjects(t, strings.Replace(widgets(t), "multipleOf: 5", "multipleOf: 3", 1))
	if got := faults(t, k.Objects(customCluster("1.37"), append(ours, objs...), known)); got != "" {
		t.Errorf("the bundle's own CRD does not count first:\n%s", got)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"maxReplicas: {type: integer,", "maxReplicas: {type: integer, $ref: x,", "its schema of version v1 is not structural: OpenAPIV3Schema '$ref' is not supported [FL1604]\n"},
		{"A Widget is made up.", "a\n          $schema: x\n          x-kubernetes-list-type: [3]", "its version v1 cannot be decoded"},
	} {
		objs := customObjects(t, strings.Replace(widgets(t), tt.old, tt.new, 1))
		objs[0].Release, objs[0].Template, objs[0].Pos = nil, "", diag.Pos{File: "crds/widgets.yaml", Line: 2}
		two := customObjects(t, widget("{size: 1}"), widget("{size: 2}"))
		got := faults(t, k.Objects(customCluster("1.37"), two, objs))
		const at = "crds/widgets.yaml:2: CustomResourceDefinition.apiextensions.k8s.io widgets.example.com: "
		if !strings.HasPrefix(got, at) || !strings.Contains(got, tt.want) || strings.Count(got, at) != 1 {
			t.Errorf("got\n%s\nwant it once: %s", got, tt.want)
		}
	}
}

// Only schemas with objects are compiled, once for all clusters.
func TestLazyAndShared(t *testing.T) {
	var k CRDChecker
	for _, v := range []string{"1.36", "1.37", "1.37.2", "", "nonsense", "1.99"} {
		if err := k.Objects(customCluster(v), customObjects(t, widgets(t)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if v, s := k.crdProblems.Len(), k.schemas.Len(); v != 2 || s != 0 {
		t.Errorf("%d verdicts and %d schemas, want one for 1.36, one for all others, and none", v, s)
	}
	alpha := "{apiVersion: example.com/v1alpha1, kind: Widget, metadata: {name: a}, spec: {size: 1}}"
	// A changed description does not make a CRD different.
	again := strings.Replace(widgets(t), "How large it is.", "Its size.", 1)
	for _, text := range []string{widgets(t), again} {
		if err := k.Objects(customCluster("1.37"), customObjects(t, text, alpha, alpha), nil); err != nil {
			t.Fatal(err)
		}
	}
	if v, s := k.crdProblems.Len(), k.schemas.Len(); v != 2 || s != 1 {
		t.Errorf("%d verdicts and %d schemas", v, s)
	}
}

// Concurrent checks find the same and change nothing.
func TestConcurrent(t *testing.T) {
	objs := customObjects(t, widgets(t), widget("{size: big, ports: [{name: a, number: 22}], note: null}"), widget("{size: 1, replicas: 9, unknown: {a: 1}}"))
	before := customObjects(t, widgets(t), widget("{size: big, ports: [{name: a, number: 22}], note: null}"), widget("{size: 1, replicas: 9, unknown: {a: 1}}"))
	var k CRDChecker
	want := checkCustom(t, objs)
	got := make([]string, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = faults(t, k.Objects(customCluster("1.37"), objs, nil)) })
	}
	wg.Wait()
	for _, g := range got {
		if g != want || g == "" {
			t.Fatalf("got\n%s\nwant\n%s", g, want)
		}
	}
	if !reflect.DeepEqual(objs, before) {
		t.Error("the check changes the objects")
	}
}

package apply

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// recorded is a bundle that uses every recorded setting.
func recorded(t testing.TB) *fleet.Bundle {
	t.Helper()
	wait := false
	web := &fleet.Release{
		Name: "web", Namespace: "web", Stage: "apps", Level: 1, Delivery: fleet.ByManifests,
		Health: []fleet.HealthRule{{
			Name: "slow", Match: fleet.Selector{Kinds: []string{"Deployment"}, Labels: map[string]string{"a": "*"}}, Wait: &wait, Timeout: time.Minute,
			Ready: []fleet.HealthTest{{Type: "Ready", Status: "True", Reasons: []string{"x"}}, {Expression: "status.phase == 'Done'"}},
		}},
		Ownership: []fleet.Ownership{{
			Name: "scaled", Target: fleet.Selector{Names: []string{"w*"}}, Leave: true,
			Fields: []fleet.FieldPath{{Path: []fleet.Step{{Key: "spec"}, {Fields: map[string]string{"name": "web"}}}}},
		}},
		Replace: []fleet.Replace{{Kind: "Job.batch"}},
	}
	charted := &fleet.Release{Name: "charted", Namespace: "db", Stage: "base", Delivery: fleet.ByHelm, Values: fleet.Map(map[string]*fleet.Tree{
		"n": {Scalar: json.Number("3")}, "f": {Scalar: json.Number("0.1")}, "on": {Scalar: true}, "no": {}, "large": {Scalar: json.Number("1e+21")},
		"list": {List: []*fleet.Tree{{Scalar: "a"}, fleet.Map(nil)}}, "none": {List: []*fleet.Tree{}},
	})}
	db, none := &fleet.Release{Name: "db", Namespace: "db", Stage: "base"}, &fleet.Release{Name: "none", Namespace: "db", Stage: "base"}
	b := &fleet.Bundle{Digest: "sha256:x", Cluster: &fleet.Cluster{
		ID: "prod", Stages: []string{"base", "apps"}, Releases: []*fleet.Release{charted, db, none, web},
		Health: []fleet.HealthRule{{Name: "all", Failed: []fleet.HealthTest{{Type: "Stalled", Status: "True"}}}},
	}}
	for i, o := range []struct {
		release *fleet.Release
		text    string
	}{
		{db, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"},
		{web, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  on: \"on\"\n  n: 1\n  f: 1.5\n"},
		{db, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: c\n"},
	} {
		u, err := decodeObject(o.text)
		if err != nil {
			t.Fatal(i, err)
		}
		b.Objects, b.YAML = append(b.Objects, fleet.Object{Unstructured: u, Release: o.release}), append(b.YAML, fleet.Text{[]byte(o.text)})
	}
	hook, err := decodeObject("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: back\n  annotations: {helm.sh/hook: pre-rollback}\nspec: {backoffLimit: 1}\n")
	if err != nil {
		t.Fatal(err)
	}
	b.Hooks = []fleet.Object{{Unstructured: hook, Release: web, Unapplied: true}}
	return b
}

// recordedCharts are the charts of the releases of recorded that Helm delivers.
func recordedCharts() map[string]*fleet.Chart {
	return map[string]*fleet.Chart{"charted": {Digest: "sha256:y", Files: []fleet.File{{Name: "Chart.yaml", Data: []byte("name: x")}, {Name: "a.tgz", Data: []byte{0, 255}}}}}
}

var recordedSecrets = map[string]string{"((fleetc:db@0a))": "multi\nline"}

func encoded(t testing.TB, b *fleet.Bundle) [][]byte {
	t.Helper()
	head, texts := bundleParts(Target{Bundle: b, Charts: recordedCharts(), Secrets: recordedSecrets})
	var parts [][]byte
	for _, part := range append([]any{head}, texts...) {
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, text)
	}
	return parts
}

// A recorded bundle is read back unchanged, for the current cluster.
func TestDecodeBundle(t *testing.T) {
	b := recorded(t)
	now := &fleet.Cluster{ID: "prod", KubeContext: "c", History: 3, Stages: []string{"other"}, Health: []fleet.HealthRule{{Name: "other"}}}
	got, err := decodeBundle(Revision{Bundle: b.Digest}, encoded(t, b), now)
	if err != nil {
		t.Fatal(err)
	}
	b.Cluster.KubeContext, b.Cluster.History = "c", 3
	if !reflect.DeepEqual(got.Bundle, b) {
		t.Errorf("got\n%+v\nwant\n%+v", got.Bundle, b)
	}
	if !reflect.DeepEqual(got.Charts, recordedCharts()) {
		t.Errorf("the charts are %+v", got.Charts)
	}
	if !reflect.DeepEqual(got.Secrets, recordedSecrets) {
		t.Errorf("the secrets are %v", got.Secrets)
	}
	if !reflect.DeepEqual(digestsOf(got.Bundle), digestsOf(b)) {
		t.Error("the digests are others")
	}
}

// A malformed record is a fault.
func TestDecodeBundleFaults(t *testing.T) {
	parts := func(head string, texts ...string) [][]byte {
		out := [][]byte{[]byte(head)}
		for _, text := range texts {
			out = append(out, []byte(text))
		}
		return out
	}
	release := `"releases":[{"name":"a","namespace":"a","stage":"s"}]`
	helms := `"releases":[{"name":"a","namespace":"a","stage":"s","delivery":"helm",`
	for _, tt := range []struct {
		parts [][]byte
		want  string
	}{
		{parts(`{"format":1,"stages":["s"],` + release + `,"objects":[]}`), "number of its parts does not match its releases"},
		{parts(`{"format":1,"releases":[],"objects":[0]}`), "objects do not match its releases"},
		{parts(`{"format":1,"releases":[{"name":"a","stage":"s","level":1}],"objects":[]}`, `[]`), "a release with an invalid level"},
		{parts(`{"format":1,"releases":[{"name":"a","stage":"s","level":-1}],"objects":[]}`, `[]`), "a release with an invalid level"},
		{parts(`{"format":1,`+release+`,"objects":[-1]}`, `["x"]`), "objects do not match its releases"},
		{parts(`{"format":1,`+release+`,"objects":[0,0]}`, `["{kind: A, apiVersion: v1, metadata: {name: a}}"]`), "objects do not match its releases"},
		{parts(`{"format":1,`+release+`,"objects":[0]}`, `["- x"]`), "an invalid object"},
		{parts(`{"format":1,`+release+`,"objects":[0]}`, `{}`), "not in the format that fleetc writes"},
		{parts(`{"format":1,`+release+`,"objects":[]}`, `[]`, `[]`), "number of its parts does not match its releases"},
		{parts(`{"format":1,`+release+`,"objects":[],"hooks":[{"release":1,"object":{"kind":"A","metadata":{"name":"a"}}}]}`, `[]`), "hooks do not match its releases"},
		{parts(`{"format":1,`+release+`,"objects":[],"hooks":[{"release":0}]}`, `[]`), "hooks do not match its releases"},
		{parts(`{"format":1,`+helms+`"values":{}}],"objects":[]}`, `[]`), "release a has no chart"},
		{parts(`{"format":1,`+helms+`"values":[]}],"objects":[]}`, `[]`, `{"digest":"x"}`), "no values for it"},
		{parts(`{"format":1,`+helms+`"values":{}}],"objects":[]}`, `[]`, `[]`), "not in the format that fleetc writes"},
		{parts(`[]`), "not in the format that fleetc writes"},
		{parts(``), "not in the format that fleetc writes"},
		{parts(`{"format":1,"stages":"s"}`), "not in the format that fleetc writes"},
		{parts(`{"format":2,"stages":"s"}`), "is recorded in format 2, but this fleetc supports 1"},
	} {
		_, err := decodeBundle(Revision{}, tt.parts, &fleet.Cluster{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.parts, err, tt.want)
		}
	}
}

func FuzzDecodeBundle(f *testing.F) {
	parts := encoded(f, recorded(f))
	f.Add(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
	f.Fuzz(func(t *testing.T, head, a, b, c, d, chart []byte) {
		_, _ = decodeBundle(Revision{}, [][]byte{head, a, b, c, d, chart}, &fleet.Cluster{})
	})
}

func TestRevision(t *testing.T) {
	v := &Inventory{Bundle: "b", History: []Revision{{Number: 3, Bundle: "a"}, {Number: 4, Bundle: "c"}, {Number: 5, Bundle: "b"}, {Number: 6, Bundle: "b"}}}
	if got := v.Current(); got == nil || got.Number != 6 {
		t.Errorf("the current revision is %+v", got)
	}
	check := func(number, want int, fault string) {
		t.Helper()
		r, err := v.Revision(number)
		if r.Number != want || fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("revision %d is %+v, %v", number, r, err)
		}
	}
	check(0, 4, "") // revision 5 has the bundle that runs
	check(3, 3, "")
	check(2, 0, "revision 2 is not in the history, which has revisions 3 to 6")
	v.Bundle = "" // an apply did not finish
	if v.Current() != nil {
		t.Error("a revision is current while none is")
	}
	check(0, 6, "")
	v.Rollback = 4 // that apply was a rollback
	check(0, 4, "")
	check(3, 3, "")
	v.Rollback = 0
	v.Bundle, v.History = "b", v.History[2:]
	check(0, 0, "only the bundle")
	v.History = nil
	check(0, 0, "no history")
}

func TestCheckHistory(t *testing.T) {
	good := Revision{Number: 1, Bundle: "b", Parts: [][]string{{"bundle-00000000000000000000000000000000"}}}
	with := func(change func(*Revision)) Revision {
		r := good
		change(&r)
		return r
	}
	for _, tt := range []struct {
		history []Revision
		want    string
	}{
		{nil, ""},
		{[]Revision{good, with(func(r *Revision) { r.Number = 7 })}, ""},
		{[]Revision{good, good}, "not in order"},
		{[]Revision{with(func(r *Revision) { r.Number = 0 })}, "not in order"},
		{[]Revision{with(func(r *Revision) { r.Bundle = "" })}, "has no bundle"},
		{[]Revision{with(func(r *Revision) { r.Parts = nil })}, "has no bundle"},
		{[]Revision{with(func(r *Revision) { r.Parts = [][]string{{"kube-root"}} })}, "fleetc did not write"},
	} {
		if err := checkHistory(tt.history); (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.history, err, tt.want)
		}
	}
}

// A rollback reports lasting effects of objects that it changes, and of hooks that
// ran since the target.
func TestLastingEffects(t *testing.T) {
	object := func(apiVersion, kind string, more map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x"}}}
		for k, v := range more {
			o.Object[k] = v
		}
		return o
	}
	crd := func(versions ...any) *unstructured.Unstructured {
		var list []any
		for _, v := range versions {
			list = append(list, map[string]any{"name": v})
		}
		return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", map[string]any{
			"spec": map[string]any{"versions": list}, "status": map[string]any{"storedVersions": []any{"v1", "v2"}},
		})
	}
	item := func(a Action, release string, before, after *unstructured.Unstructured) Item {
		it := Item{Action: a, Release: release, Before: before, object: after}
		for _, o := range []*unstructured.Unstructured{before, after} {
			if o != nil {
				it.ref.GroupVersionKind, it.ID = o.GroupVersionKind(), fleet.Object{Unstructured: o}.ID()
			}
		}
		if before != nil {
			it.uid = "u"
		}
		return it
	}
	claim := object("v1", "PersistentVolumeClaim", nil)
	custom := object("example.com/v1", "Database", nil)
	plain := object("v1", "ConfigMap", nil)
	set := object("apps/v1", "StatefulSet", map[string]any{"spec": map[string]any{"volumeClaimTemplates": []any{map[string]any{}}}})
	p := &Plan{Items: []Item{
		item(Change, "a", crd("v1", "v2", "v3"), crd("v1")),
		item(Keep, "a", claim, nil),
		item(Unchanged, "quiet", claim, claim),
		item(Prune, "a", custom, nil),
		item(Prune, "a", plain, nil),
		{ID: "HelmRelease.helm.sh b/x", Release: "a", Action: Prune, ref: helmRef("b", "x"), Before: placeholder(helmRef("b", "x"), "1")},
		item(Change, "a", set, set),
	}}
	target := recorded(t)
	after := recorded(t)
	job := object("batch/v1", "Job", nil)
	job.SetAnnotations(map[string]string{fleet.HookAnnotation: "post-upgrade"})
	test := object("batch/v1", "Job", nil)
	test.SetName("test")
	test.SetAnnotations(map[string]string{fleet.HookAnnotation: "test, pre-delete"})
	for _, o := range []*unstructured.Unstructured{job, test} {
		after.Objects, after.YAML = append(after.Objects, fleet.Object{Unstructured: o, Release: after.Cluster.Releases[3]}), append(after.YAML, fleet.Text{[]byte(o.GetName())})
	}
	var got []string
	for _, l := range p.LastingEffects(target, []*fleet.Bundle{after, after}) {
		got = append(got, l.ID+": "+l.Why)
	}
	want := []string{
		"CustomResourceDefinition.apiextensions.k8s.io x: version v2 is removed, and objects are stored in it: store them in another version, and remove it from status.storedVersions",
		"CustomResourceDefinition.apiextensions.k8s.io x: version v3 is removed, and requests for it fail",
		"PersistentVolumeClaim x: data written to it stays",
		"Database.example.com x: objects that its controller created may be deleted with it",
		"HelmRelease.helm.sh b/x: Helm's history of it is deleted",
		"StatefulSet.apps x: data on its volumes stays",
		"Job.batch x: effects of this hook of release web are not undone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

package apply

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A record stays while Helm works on the release, or when the release has objects
// that fleetc does not apply.
func TestKeepReason(t *testing.T) {
	for _, test := range []struct {
		status string
		owns   []string
		want   string
	}{
		{"deployed", nil, ""},
		{"failed", nil, ""},
		{"superseded", nil, ""},
		{"deployed", []string{"ConfigMap app/more"}, "fleetc does not apply: ConfigMap app/more"},
		{"pending-install", nil, "revision 3 is pending-install"},
		{"pending-upgrade", nil, "revision 3 is pending-upgrade"},
		{"pending-rollback", nil, "revision 3 is pending-rollback"},
		{"uninstalling", nil, "revision 3 is uninstalling"},
	} {
		got := keepReason(&cluster.HelmState{Revision: 3, Status: test.status}, test.owns)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, owns %q: %q, want %q", test.status, test.owns, got, test.want)
		}
	}
}

// A record is removed only if the earlier plan removes it, in the same state.
func TestKeepRecords(t *testing.T) {
	planned := SavedPlan{Records: []SavedRecord{{"app", "app", cluster.HelmSecrets, "1"}}}
	for name, test := range map[string]struct {
		record HelmRecord
		want   RecordAction
	}{
		"the same":          {HelmRecord{Namespace: "app", Name: "app", Storage: cluster.HelmSecrets, state: "1"}, RemoveRecord},
		"written since":     {HelmRecord{Namespace: "app", Name: "app", Storage: cluster.HelmSecrets, state: "2"}, KeepRecord},
		"another name":      {HelmRecord{Namespace: "app", Name: "web", Storage: cluster.HelmSecrets, state: "1"}, KeepRecord},
		"another namespace": {HelmRecord{Namespace: "web", Name: "app", Storage: cluster.HelmSecrets, state: "1"}, KeepRecord},
		"another storage":   {HelmRecord{Namespace: "app", Name: "app", Storage: cluster.HelmConfigMaps, state: "1"}, KeepRecord},
	} {
		test.record.Action = RemoveRecord
		p := &Plan{HelmRecords: []HelmRecord{test.record}}
		p.KeepRecords(planned)
		if got := p.HelmRecords[0]; got.Action != test.want || (got.Reason == "") != (got.Action == RemoveRecord) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	kept := &Plan{HelmRecords: []HelmRecord{{Namespace: "app", Name: "app", Storage: cluster.HelmSecrets, state: "1", Action: KeepRecord}}}
	if kept.KeepRecords(planned); kept.removesHelmRecords() || kept.savedRecords() != nil {
		t.Error("a record that is kept is removed")
	}
}

// A record is removed only if it is as it was planned, and still to be removed. Otherwise
// neither it nor the marks of its objects are.
func TestConfirm(t *testing.T) {
	for name, test := range map[string]struct {
		now        HelmRecord
		wantReason string
	}{
		"the same":      {HelmRecord{state: "1", Action: RemoveRecord}, ""},
		"written since": {HelmRecord{state: "2", Action: RemoveRecord}, "Helm has written it since the plan was made"},
		"in use":        {HelmRecord{state: "1", Action: KeepRecord, Reason: "revision 3 is pending-upgrade"}, "revision 3 is pending-upgrade"},
	} {
		planned := HelmRecord{state: "1", Action: RemoveRecord}
		test.now.applied, test.now.records = []cluster.Ref{{}}, []cluster.HelmRecord{{}}
		marked, records := planned.confirm(&test.now)
		if (len(marked) == 0) != (test.wantReason != "") || (len(records) == 0) != (test.wantReason != "") {
			t.Errorf("%s: %v, %v", name, marked, records)
		}
		if kept := planned.Action == KeepRecord; kept != (test.wantReason != "") || !strings.HasPrefix(planned.Reason, test.wantReason) {
			t.Errorf("%s: %+v", name, planned)
		}
	}
}

// A plan that only removes a record is not up to date.
func TestRemovesHelmRecords(t *testing.T) {
	p := &Plan{inventory: &Inventory{}, next: &Inventory{}, HelmRecords: []HelmRecord{{Action: KeepRecord}}}
	if !p.IsUpToDate() || !p.IsApplied() {
		t.Error("a record that is kept is something to do")
	}
	p.HelmRecords[0].Action = RemoveRecord
	if p.IsUpToDate() || !p.IsApplied() {
		t.Error("a record that is removed is nothing to do")
	}
}

// Applied and pruned objects count as fleetc's; objects that are left to another
// tool do not.
func TestAppliedObjects(t *testing.T) {
	ref := func(name string) cluster.Ref {
		return cluster.Ref{GroupVersionKind: secretRef("").GroupVersionKind, Name: name}
	}
	o := &unstructured.Unstructured{}
	p := &Plan{next: &Inventory{Objects: []Entry{{Version: "v1", Kind: "Secret", Name: "out-of-scope"}}}, Items: []Item{
		{ID: idOf(ref("bundle")), object: o, Action: Unchanged},
		{ID: idOf(ref("hook")), object: o, Action: Hook, hook: &hook{}},
		{ID: idOf(ref("pruned")), Action: Prune},
		{ID: idOf(ref("lost")), Action: Keep, Owner: "Helm release web"},
		{ID: "HelmRelease", object: o, Parts: []Item{{ID: idOf(ref("part")), object: o}, {ID: idOf(ref("left")), Action: Keep}}},
	}}
	got := p.appliedObjects()
	for name, want := range map[string]bool{"bundle": true, "hook": false, "pruned": true, "lost": false, "part": true, "left": false, "out-of-scope": true} {
		if got[idOf(ref(name))] != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// Only Helm's own marks of this release are removed.
func TestMarksOfRelease(t *testing.T) {
	const annotations = `{"meta.helm.sh/release-name":"app","meta.helm.sh/release-namespace":"apps","a":"b"}`
	const label = `{"app.kubernetes.io/managed-by":"Helm","c":"d"}`
	all := []string{helmRelease, helmNamespace}
	for name, test := range map[string]struct {
		labels, annotations, own    string
		wantLabels, wantAnnotations []string
	}{
		"all":                        {label, annotations, `{}`, []string{managedByLabel}, all},
		"the bundle sets the label":  {label, annotations, `{"f:metadata":{"f:labels":{"f:app.kubernetes.io/managed-by":{}}}}`, nil, all},
		"the bundle sets annotation": {label, annotations, `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`, []string{managedByLabel}, []string{helmNamespace}},
		"another manager":            {`{"app.kubernetes.io/managed-by":"kapp"}`, annotations, `{}`, nil, all},
		"another release":            {label, `{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"apps"}`, `{}`, nil, nil},
		"no release":                 {label, `{}`, `{}`, nil, nil},
	} {
		r := &HelmRecord{Namespace: "apps", Name: "app"}
		labels, notes := r.marksOfRelease(marked(t, test.labels, test.annotations, map[string]string{"fleetc": test.own}))
		if !slices.Equal(labels, test.wantLabels) || !slices.Equal(notes, test.wantAnnotations) {
			t.Errorf("%s: labels %q, annotations %q", name, labels, notes)
		}
	}
}

func TestFlattenLists(t *testing.T) {
	list := decode[map[string]any](t, `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}]}`)
	single := decode[map[string]any](t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"c"}}`)
	var names []string
	for _, o := range flattenLists([]*unstructured.Unstructured{{Object: list}, {Object: single}}) {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	if want := []string{"ConfigMap a", "ConfigMap b", "Secret c"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

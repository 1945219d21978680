package deliver

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// liveMap returns a ConfigMap of a cluster with data.
func liveMap(data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "namespace": "web"}, "data": data,
	}}
}

// ofDrift returns rules as rules of drift.ignore.
func ofDrift(rules []fleet.IgnoreRule) []fleet.IgnoreRule {
	for i := range rules {
		rules[i].Of = fleet.OfDrift
	}
	return rules
}

// TestLiveChangesIgnore checks that rules hide changed fields of a running cluster, but
// never objects of other tools. Only rules of drift.ignore hide fields in conflict.
func TestLiveChangesIgnore(t *testing.T) {
	before, after := liveMap(map[string]any{"a": "1", "b": "1"}), liveMap(map[string]any{"a": "2", "b": "2"})
	rule := func(paths ...string) []fleet.IgnoreRule {
		r := fleet.IgnoreRule{Name: "r", Match: fleet.Selector{Kinds: []string{"ConfigMap"}, Releases: []string{"web"}}}
		for _, p := range paths {
			path, ok := fleet.ParseSteps(p)
			if !ok {
				t.Fatal(p)
			}
			r.Fields = append(r.Fields, fleet.FieldPath{Path: path})
		}
		return []fleet.IgnoreRule{r}
	}
	conflict := []cluster.Field{{Path: ".data.a", Manager: "kubectl"}}
	for name, test := range map[string]struct {
		object        apply.ObjectDiff
		rules         []fleet.IgnoreRule
		shown, hidden string
	}{
		"no rule":          {apply.ObjectDiff{Finding: apply.Changed, Before: before, After: after}, nil, "changed data.a data.b", ""},
		"some":             {apply.ObjectDiff{Finding: apply.Changed, Before: before, After: after}, rule("data.b"), "changed data.a", "changed data.b"},
		"all":              {apply.ObjectDiff{Finding: apply.Changed, Before: before, After: after}, rule("data"), "", "changed data.a data.b"},
		"in conflict":      {apply.ObjectDiff{Finding: apply.InConflict, Before: before, After: after, Fields: conflict}, rule("data.a"), "conflict data.a(kubectl) data.b", ""},
		"one of both":      {apply.ObjectDiff{Finding: apply.InConflict, Before: before, After: after, Fields: conflict}, rule("data"), "conflict data.a(kubectl)", "conflict data.b"},
		"ignored drift":    {apply.ObjectDiff{Finding: apply.InConflict, Before: before, After: after, Fields: conflict}, ofDrift(rule("data.a")), "changed data.b", "conflict data.a"},
		"all drift":        {apply.ObjectDiff{Finding: apply.InConflict, Before: before, After: after, Fields: conflict}, ofDrift(rule("data")), "", "conflict data.a data.b"},
		"drift by others":  {apply.ObjectDiff{Finding: apply.InConflict, Why: "kubectl created it", Before: before, After: after}, ofDrift(rule("data")), "conflict", "conflict data.a data.b"},
		"made by others":   {apply.ObjectDiff{Finding: apply.InConflict, Why: "kubectl created it", Before: before, After: after}, rule("data"), "conflict", "conflict data.a data.b"},
		"missing":          {apply.ObjectDiff{Finding: apply.Missing, After: after}, rule("data"), "missing ", ""},
		"orphaned":         {apply.ObjectDiff{Finding: apply.Orphaned, Before: before}, rule("data"), "orphaned ", ""},
		"unknown":          {apply.ObjectDiff{Finding: apply.Unknown}, rule("data"), "unknown", ""},
		"a metadata field": {apply.ObjectDiff{Finding: apply.Changed, Before: before, After: after}, rule("metadata.labels"), "changed data.a data.b", ""},
	} {
		test.object.ID, test.object.Release = "ConfigMap web/web", "web"
		shown, hidden := LiveChanges(&apply.Comparison{Objects: []apply.ObjectDiff{test.object}}, nil, test.rules)
		if got := changesText(shown); got != test.shown {
			t.Errorf("%s: shows %q, want %q", name, got, test.shown)
		}
		if got := changesText(hidden); got != test.hidden {
			t.Errorf("%s: ignores %q, want %q", name, got, test.hidden)
		}
		for _, c := range shown {
			for _, f := range c.Fields {
				if f.Ignored != (diff.IgnoreReason{}) {
					t.Errorf("%s: %s is shown as ignored", name, f.Path)
				}
			}
		}
	}
}

// changesText returns the reasons and paths of changes in one line.
func changesText(changes []diff.Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Live.Reason)
		for _, f := range c.Fields {
			text := f.Path
			if f.Manager != "" {
				text += "(" + f.Manager + ")"
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, " ")
}

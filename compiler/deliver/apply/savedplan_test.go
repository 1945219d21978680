package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// savedTestPlan returns a plan that changes one object, creates one and runs an action.
func savedTestPlan(t *testing.T) *Plan {
	t.Helper()
	live := &unstructured.Unstructured{Object: decode[map[string]any](t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"1"},"data":{"a":"b"}}`)}
	return &Plan{
		Cluster: "prod/eu", UID: "uid-eu", Bundle: "sha256:1", Server: "https://eu",
		Items: []Item{
			{ID: "ConfigMap a", Action: Change, Before: live},
			{ID: "ConfigMap b", Action: Create},
			{ID: "ConfigMap c", Action: Unchanged},
		},
		Actions: []PlannedAction{{Action: fleet.Action{Name: "look"}}},
	}
}

// A saved plan is applied only to its cluster, with its bundle, and while all is as it
// was planned.
func TestCheckSavedPlan(t *testing.T) {
	for name, test := range map[string]struct {
		change func(p *Plan)
		want   string // of the fault; empty for none
	}{
		"the same":         {func(*Plan) {}, ""},
		"another cluster":  {func(p *Plan) { p.Cluster = "prod/us" }, `the plan is for cluster "prod/eu"`},
		"another server":   {func(p *Plan) { p.UID = "uid-us" }, "the plan is for a different cluster than https://eu"},
		"another bundle":   {func(p *Plan) { p.Bundle = "sha256:2" }, "the bundle of this cluster has changed"},
		"another hook":     {func(p *Plan) { p.hooksDigest = "sha256:3" }, "the deletion hooks of this cluster have changed"},
		"another action":   {func(p *Plan) { p.Items[0].Action = Prune }, "ConfigMap a: it differs from the plan"},
		"a changed object": {func(p *Plan) { p.Items[0].Before.SetLabels(map[string]string{"a": "b"}) }, "ConfigMap a: it was changed since the plan was made"},
		"an object more":   {func(p *Plan) { p.Items[2].Action = Change }, "ConfigMap c: it differs from the plan: the action was none"},
		"an object less":   {func(p *Plan) { p.Items[1].Action = Unchanged }, "ConfigMap b: it differs from the plan: the action was create, and now it is none"},
		"more is deleted":  {func(p *Plan) { p.Items[0].Cascade = &Cascade{uids: []string{"2"}} }, "ConfigMap a: "},
		"a changed action": {func(p *Plan) { p.Actions[0].Stage = "first" }, "it was changed since the plan was made"},
		"no action":        {func(p *Plan) { p.Actions = nil }, "it is in the plan, but would not run now"},
		"another name":     {func(p *Plan) { p.Actions[0].Name = "other" }, "it is not in the plan"},
	} {
		saved, now := savedTestPlan(t).Saved(), savedTestPlan(t)
		test.change(now)
		err := saved.Check(now)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

package kube

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func kinds(names ...string) fleet.Selector { return fleet.Selector{Kinds: names} }

func expr(texts ...string) (out []fleet.HealthTest) {
	for _, t := range texts {
		out = append(out, fleet.HealthTest{Expression: t})
	}
	return out
}

func mustCompile(t *testing.T, c *fleet.Cluster) *HealthRules {
	t.Helper()
	r, err := CompileHealthRules(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRuleConditions(t *testing.T) {
	r := mustCompile(t, &fleet.Cluster{Health: []fleet.HealthRule{{
		Name: "w", Match: kinds("Widget.example.com"),
		Ready:       []fleet.HealthTest{{Type: "Synced", Status: "True"}, {Type: "Ready", Status: "True"}},
		Progressing: []fleet.HealthTest{{Type: "Upgrading", Status: "True"}},
		Failed:      []fleet.HealthTest{{Type: "Ready", Status: "False", Reasons: []string{"Lost", "Gone"}}, {Type: "Broken", Status: "Unknown"}},
	}}})
	check(t, r, customHead, []sample{
		{"no status", "", HealthInProgress, "it has no status yet"},
		{"no conditions", "status: {x: 1}", HealthInProgress, "it has no condition Synced, Ready yet"},
		{"not seen", "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}, {type: Synced, status: 'True'}]}", HealthInProgress, "its controller has seen generation 2, and the last is 3"},
		{"one", "status: {conditions: [{type: Synced, status: 'True'}]}", HealthInProgress, "it has no condition Ready yet"},
		{"the other is false", "status: {conditions: [{type: Synced, status: 'True'}, {type: Ready, status: 'False', reason: Wait, message: m}]}", HealthInProgress, "condition Ready is False: Wait: m"},
		{"both", "status: {conditions: [{type: Synced, status: 'True', observedGeneration: 3}, {type: Ready, status: 'True'}]}", HealthReady, "condition Synced is True"},
		{"both, one of an older generation", "status: {conditions: [{type: Synced, status: 'True'}, {type: Ready, status: 'True', observedGeneration: 2}]}", HealthInProgress, "condition Ready does not reflect the last generation yet"},
		{"progressing comes first", "status: {conditions: [{type: Upgrading, status: 'True', reason: v2}, {type: Ready, status: 'False', reason: Lost}]}", HealthInProgress, "condition Upgrading is True: v2"},
		{"failed", "status: {conditions: [{type: Synced, status: 'True'}, {type: Ready, status: 'False', reason: Gone, message: m}]}", HealthFailed, "condition Ready is False: Gone: m"},
		{"failed in another way", "status: {conditions: [{type: Synced, status: 'True'}, {type: Ready, status: 'True'}, {type: Broken, status: Unknown}]}", HealthFailed, "condition Broken is Unknown"},
		{"no reason", "status: {conditions: [{type: Ready, status: 'False'}]}", HealthInProgress, "condition Ready is False"},
		{"nonsense", "status: {conditions: 5}", HealthInProgress, "its rule cannot be evaluated yet: got 'types.Int', expected iterable type"},
	})
}

func TestRuleExpressions(t *testing.T) {
	r := mustCompile(t, &fleet.Cluster{Health: []fleet.HealthRule{{
		Name: "w", Match: kinds("Widget.example.com"),
		Ready:  expr("status.phase == 'Running'", "status.replicas >= spec.replicas"),
		Failed: expr("status.phase == 'Failed'"),
	}}})
	const head = customHead + "spec: {replicas: 2}\n"
	check(t, r, head, []sample{
		{"no status", "", HealthInProgress, "it has no status yet"},
		{"a field is missing", "status: {replicas: 1}", HealthInProgress, "its rule cannot be evaluated yet: no such key: phase"},
		{"failed", "status: {phase: Failed}", HealthFailed, "the tests of its rule hold: status.phase == 'Failed'"},
		{"one of two", "status: {phase: Running, replicas: 1}", HealthInProgress, "the tests of its rule do not hold yet: status.phase == 'Running', status.replicas >= spec.replicas"},
		{"what it says itself", "status: {phase: Running, replicas: 1, conditions: [{type: Ready, status: 'False', reason: NoDisk}]}", HealthInProgress, "condition Ready is False: NoDisk"},
		{"ready", "status: {phase: Running, replicas: 2.0}", HealthReady, "the tests of its rule hold: status.phase == 'Running', status.replicas >= spec.replicas"},
	})
	check(t, mustCompile(t, &fleet.Cluster{Health: []fleet.HealthRule{{Name: "w", Match: kinds("Widget.example.com"), Ready: expr("status.x")}}}), head, []sample{
		{"true", "status: {x: true}", HealthReady, "the tests of its rule hold: status.x"},
		{"a text", "status: {x: 'true'}", HealthInProgress, "its rule cannot be evaluated yet: the expression is neither true nor false"},
	})
	// The cost limit ends long evaluations.
	long := "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, status.x))))))"
	check(t, mustCompile(t, &fleet.Cluster{Health: []fleet.HealthRule{{Name: "w", Match: kinds("Widget.example.com"), Ready: expr(long)}}}), head, []sample{
		{"too long", "status: {x: true}", HealthInProgress, "its rule cannot be evaluated yet: operation cancelled: actual cost limit exceeded"},
	})
}

// The most specific of several rules decides.
func TestRuleOrder(t *testing.T) {
	yes, no := true, false
	app := &fleet.Release{Name: "app", Health: []fleet.HealthRule{
		{Name: "slow", Match: kinds("Job.batch"), Timeout: time.Hour},
		{Name: "wait", Match: fleet.Selector{Names: []string{"important"}}, Wait: &yes},
		{Name: "w", Match: kinds("Widget.example.com"), Ready: expr("status.app")},
	}}
	other := &fleet.Release{Name: "other"}
	r := mustCompile(t, &fleet.Cluster{
		Releases: []*fleet.Release{app, other},
		Health: []fleet.HealthRule{
			{Name: "all", Match: kinds("Widget.example.com"), Ready: expr("status.all"), Timeout: time.Minute},
			{Name: "jobs", Match: kinds("Job"), Wait: &no, Timeout: time.Second},
			{Name: "z-one", Match: fleet.Selector{Names: []string{"w-*"}}, Ready: expr("status.one")},
		},
	})
	for _, test := range []struct {
		release      *fleet.Release
		object, want string
		timeout      time.Duration
	}{
		{other, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {all: true}}", "the tests of its rule hold: status.all", time.Minute},
		{other, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w-1}, status: {one: true}}", "the tests of its rule hold: status.one", time.Minute},
		{app, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w-1}, status: {app: true}}", "the tests of its rule hold: status.app", time.Minute},
		{nil, "{apiVersion: batch/v1, kind: Job, metadata: {name: a}}", "it exists, and its rule says not to wait", time.Second},
		{app, "{apiVersion: batch/v1, kind: Job, metadata: {name: a}}", "it exists, and its rule says not to wait", time.Hour},
		{app, "{apiVersion: batch/v1, kind: Job, metadata: {name: important}}", "it has not started", time.Hour},
		{app, "{apiVersion: batch/v1, kind: Job, metadata: {name: important, deletionTimestamp: x}}", "it is being deleted", time.Hour},
		{app, "{apiVersion: batch/v1, kind: Job, metadata: {name: important, generation: 2}, spec: {suspend: true}, status: {observedGeneration: 1}}", "it is suspended", time.Hour},
		{app, "{apiVersion: v1, kind: Pod, metadata: {name: a}}", "it has not started", 0},
	} {
		o := fleet.Object{Unstructured: parseObject(t, test.object), Release: test.release}
		if got := r.Judge(o); got.Reason != test.want {
			t.Errorf("%s: %s, want %s", test.object, got.Reason, test.want)
		}
		if got, _ := r.Timeout(o); got != test.timeout {
			t.Errorf("%s: timeout %s, want %s", test.object, got, test.timeout)
		}
	}
}

func TestExpressions(t *testing.T) {
	got := healthRuleExpressions(fleet.HealthRule{
		Ready:  []fleet.HealthTest{{Type: "Ready", Status: "True"}, {Expression: "a || b"}},
		Failed: []fleet.HealthTest{{Type: `R"`, Status: "False", Reasons: []string{"x", "y"}}},
	})
	want := HealthExpressions{
		Current: `has(status.conditions) && status.conditions.exists(c, c.type == "Ready" && c.status == "True" && ` +
			`(!has(c.observedGeneration) || c.observedGeneration == metadata.generation)) && (a || b)`,
		Failed: `has(status.conditions) && status.conditions.exists(c, c.type == "R\"" && c.status == "False" && ` +
			`has(c.reason) && c.reason in ["x", "y"] && (!has(c.observedGeneration) || c.observedGeneration == metadata.generation))`,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestCheck(t *testing.T) {
	pos := diag.Pos{File: "f.cue", Line: 3, Col: 1}
	at := diag.Pos{File: "f.cue", Line: 4, Col: 2}
	no := false
	rule := func(name string, change func(h *fleet.HealthRule)) fleet.HealthRule {
		h := fleet.HealthRule{Name: name, Match: kinds(name), Pos: pos, Wait: &no}
		change(&h)
		return h
	}
	ready := func(text string) func(*fleet.HealthRule) {
		return func(h *fleet.HealthRule) { h.Ready = []fleet.HealthTest{{Expression: text, Pos: at}} }
	}
	nothing := func(*fleet.HealthRule) {}
	for _, test := range []struct {
		rule fleet.HealthRule
		want string
	}{
		{rule("Deployment.apps", nothing), ""},
		{rule("Deployment", nothing), ""},
		{rule("Widget.example.com", nothing), ""},
		{rule("Deploymnt", nothing), `f.cue:3:1: health.Deploymnt: Kubernetes has no kind Deploymnt [FL1606]
    hint: did you mean Deployment?
    in c
`},
		{rule("Ingress.extensions", nothing), `f.cue:3:1: health."Ingress.extensions": Kubernetes has no kind Ingress.extensions [FL1606]
    hint: did you mean Ingress.networking.k8s.io?
    in c
`},
		{rule("Widget", nothing), `f.cue:3:1: health.Widget: Kubernetes has no kind Widget [FL1606]
    hint: write a kind of your own with its API group, as in Certificate.cert-manager.io
    in c
`},
		{rule("StatefulSets.apps", nothing), `f.cue:3:1: health."StatefulSets.apps": Kubernetes has no kind StatefulSets.apps [FL1606]
    hint: did you mean StatefulSet.apps?
    in c
`},
		{rule("Pod", func(h *fleet.HealthRule) { h.Wait = nil }), `f.cue:3:1: health.Pod: the rule has no effect [FL1606]
    hint: set ready, wait or timeout
    in c
`},
		{rule("Pod", func(h *fleet.HealthRule) { h.Failed = expr("true") }), `f.cue:3:1: health.Pod: the rule has no tests for ready [FL1606]
    hint: set ready
    in c
`},
		{rule("Pod", ready("statu.phase == 'x'")), `f.cue:4:2: health.Pod.ready.0: undeclared reference to 'statu' (at 1:1 of the expression) [FL1606]
    hint: did you mean status?
    in c
`},
		{rule("Pod", ready("self.x")), `f.cue:4:2: health.Pod.ready.0: undeclared reference to 'self' (at 1:1 of the expression) [FL1606]
    hint: write fields of the object, which begin with apiVersion, kind, metadata, spec, status, data
    in c
`},
		{rule("Pod", ready("status.phase = 'x'")), `f.cue:4:2: health.Pod.ready.0: Syntax error: token recognition error at: '= ' (at 1:14 of the expression) [FL1606]
    hint: write a test that is true or false, as in status.phase == 'Running'
    in c
`},
		{rule("Pod", ready("1 + 1")), `f.cue:4:2: health.Pod.ready.0: the expression must be a bool, but has type int [FL1606]
    hint: write a test that is true or false, as in status.phase == 'Running'
    in c
`},
		{rule("Pod", ready("kind + 1 == 2")), `f.cue:4:2: health.Pod.ready.0: found no matching overload for '_+_' applied to '(string, int)' (at 1:6 of the expression) [FL1606]
    hint: write a test that is true or false, as in status.phase == 'Running'
    in c
`},
		{rule("Pod", ready(strings.Repeat("(", 12000))), `f.cue:4:2: health.Pod.ready.0: expression code point size exceeds limit: size: 12000, limit 10000 [FL1606]
    hint: write a test that is true or false, as in status.phase == 'Running'
    in c
`},
		{rule("Pod", func(h *fleet.HealthRule) {
			h.Ready = []fleet.HealthTest{{Pos: at}, {Type: "Ready", Status: "True", Expression: "true", Pos: at}}
		}), `f.cue:4:2: health.Pod.ready.0: a test must have either a condition type or an expression [FL1606]
    hint: write {type: "Ready"}, or {expression: "status.phase == 'Running'"}
    in c
f.cue:4:2: health.Pod.ready.1: a test must have either a condition type or an expression [FL1606]
    hint: write {type: "Ready"}, or {expression: "status.phase == 'Running'"}
    in c
`},
	} {
		for _, c := range []*fleet.Cluster{
			{ID: "c", Health: []fleet.HealthRule{test.rule}},
			{ID: "c", Releases: []*fleet.Release{{Name: "app", Health: []fleet.HealthRule{test.rule}}}},
		} {
			var b bytes.Buffer
			if err := diag.WriteText(&b, CheckHealthRules(c), nil); err != nil {
				t.Fatal(err)
			}
			want := test.want
			if len(c.Releases) > 0 {
				want = strings.ReplaceAll(want, ": health.", ": releases.app.health.")
			}
			if b.String() != want {
				t.Errorf("got\n%swant\n%s", b.String(), want)
			}
		}
	}
}

package e2e

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// drift --fix restores what drifted and nothing else: not ignored objects, and not a cluster
// in which an apply is due. The cluster then runs its bundle, and no hook has run again.
func TestDriftFix(t *testing.T) {
	p := newWeb(t)
	p.write("environments/hook.cue", hookJob)
	p.write("environments/drift.cue", `package fleet

drift: ignore: "scale": {match: kinds: ["Deployment"], fields: ["spec.replicas"], reason: "a load test"}
releases: web: objects: more: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "more", data: {colour: "blue", size: "1"}}
`)
	p.fleetc("drift", "--fix", "--yes").exits(p, 2).says(p, `the cluster does not run the current bundle of the fleet, so --fix cannot restore its objects \[FL2117\]$`, "run fleetc apply")
	if w, _ := p.writes("one", 0); len(w) > 0 {
		t.Errorf("a refused fix writes %q", w)
	}
	p.fleetc("apply", "--yes").ok(p)
	_, mark := p.writes("one", 0)
	p.fleetc("drift", "--fix", "--yes").ok(p).says(p, "^no drift in 1 cluster; |^no drift in 1 cluster$")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a fix of nothing writes %q", w)
	}
	for _, change := range [][]string{
		{"delete", "secret", "web"},
		{"patch", "configmap", "web", "--type=merge", "-p", `{"data": {"colour": "red"}}`},
		{"patch", "configmap", "more", "--type=json", "-p", `[{"op": "remove", "path": "/data/size"}]`},
		{"scale", "deployment", "web", "--replicas=3"},
	} {
		p.kubectl("one", append([]string{"-n", "web"}, change...)...)
	}
	_, mark = p.writes("one", 0)
	p.fleetc("drift", "--fix", "--dry-run").exits(p, 2).says(p, `\+ Secret web/web`, `other managers own fields of it: data.colour \(kubectl-patch\)`)
	p.fleetc("drift", "--fix", "--dry-run", "--force-conflicts").exits(p, 1).says(p, `\+ Secret web/web`, `~ data.colour`, `\+ data.size`)
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a dry run writes %q", w)
	}
	d := p.fleetc("drift", "--fix", "--yes", "--force-conflicts").ok(p).says(p, "^dev/one: applied: 1 created, 2 changed, 0 pruned")
	if strings.Contains(d.stdout+d.stderr, "Deployment") || strings.Contains(d.stdout+d.stderr, "hunter2") {
		t.Errorf("it shows an ignored object or a secret:\n%s%s", d.stdout, d.stderr)
	}
	w, mark := p.writes("one", mark)
	for _, request := range withoutOwn(w) {
		if !strings.Contains(request, "/configmaps/") && !strings.Contains(request, "/secrets/web") {
			t.Errorf("it sends %s", request)
		}
	}
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"); got != "3" {
		t.Errorf("the ignored field is %s", got)
	}
	p.fleetc("drift").ok(p).says(p, "^no drift in 1 cluster; 1 difference ignored by rules$")
	p.fleetc("status").ok(p).says(p, `^dev/one +up to date +1 `)
	if got := p.fleetc("apply", "--dry-run"); !strings.Contains(got.stdout+got.stderr, "Deployment.apps web/web") {
		t.Errorf("an apply restores the ignored field as before:\n%s%s", got.stdout, got.stderr)
	}
	// An orphaned object is not deleted: it may be the only copy.
	p.kubectl("one", "-n", "default", "create", "configmap", "lost")
	p.kubectl("one", "-n", "default", "label", "configmap", "lost", "fleetc.dev/release=web")
	p.kubectl("one", "-n", "default", "annotate", "configmap", "lost", "fleetc.dev/fleet=example.com/infra")
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.fleetc("drift", "--fix", "--yes").exits(p, 1).says(p, "^1 difference is not fixed: ", "1 created, 0 changed, 0 pruned")
	p.kubectl("one", "-n", "default", "get", "configmap", "lost")
	// When the fleet has changed, an apply is due.
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	_, mark = p.writes("one", mark)
	p.fleetc("drift", "--fix", "--yes").exits(p, 2).says(p, "does not run the current bundle of the fleet")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused fix writes %q", w)
	}
}

// A cluster that cannot be checked is not written to, and does not prevent the fix of others.
func TestDriftFixOthers(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	if err := p.clusters["two"].Kill(); err != nil {
		t.Fatal(err)
	}
	p.fleetc("drift", "--fix", "--yes").exits(p, 2).says(p, "^dev/one: applied: 1 created", "dev/two")
	p.kubectl("one", "-n", "web", "get", "configmap", "web")
}

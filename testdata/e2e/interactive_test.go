package e2e

import (
	"strings"
	"testing"
)

// --force-conflicts takes only the fields of the given object, release or manager.
func TestForceSelection(t *testing.T) {
	p := newWeb(t)
	p.write("environments/other.cue", `package fleet

releases: other: {
	namespace: "web"
	objects: one: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "other", data: size: "1"}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	byHand := func() {
		p.kubectl("one", "-n", "web", "patch", "deployment", "web", "--field-manager=kubectl-edit", "-p", `{"spec":{"replicas":5}}`)
		p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--field-manager=robot", "-p", `{"data":{"colour":"red"}}`)
		p.kubectl("one", "-n", "web", "patch", "configmap", "other", "--field-manager=kubectl-edit", "-p", `{"data":{"size":"2"}}`)
	}
	got := func() string {
		return p.kubectl("one", "-n", "web", "get", "deployment/web", "configmap/web", "configmap/other", "-o", "jsonpath={.items[*]['spec.replicas','data']}")
	}
	byHand()
	conflicts := func(d result, want ...string) {
		t.Helper()
		d.exits(p, 2)
		for _, id := range []string{"Deployment.apps web/web", "ConfigMap web/web", "ConfigMap web/other"} {
			wants := strings.Contains(strings.Join(want, ","), id)
			if strings.Contains(d.stderr, id+": other managers own fields of it") != wants {
				t.Errorf("%s: a conflict of %s is wanted: %v\n%s", d.command, id, wants, d.stderr)
			}
		}
	}
	conflicts(p.fleetc("apply", "--yes"), "Deployment.apps web/web", "ConfigMap web/web", "ConfigMap web/other")
	conflicts(p.fleetc("apply", "--yes", "--force-conflicts=release:other"), "Deployment.apps web/web", "ConfigMap web/web")
	conflicts(p.fleetc("apply", "--yes", "--force-conflicts=manager:kubectl-edit"), "ConfigMap web/web")
	conflicts(p.fleetc("apply", "--yes", "--force-conflicts=object:ConfigMap web/web"), "Deployment.apps web/web", "ConfigMap web/other")
	p.fleetc("apply", "--yes", "--force-conflicts=release:othr").exits(p, 2).says(p, "--force-conflicts=release:othr: no plan has this release", `did you mean other`)
	p.fleetc("apply", "--yes", "--force-conflicts=everything").exits(p, 2).says(p, `--force-conflicts does not accept "everything"`, "release:NAME")
	if now := got(); now != `5 {"colour":"red"} {"size":"2"}` {
		t.Errorf("a refused apply writes: %s", now)
	}
	p.fleetc("apply", "--yes", "--force-conflicts=release:other,object:ConfigMap web/web", "--force-conflicts=manager:kubectl-edit").ok(p).says(p, "0 created, 3 changed")
	if now := got(); now != `2 {"colour":"blue"} {"size":"1"}` {
		t.Errorf("after the apply there is %s", now)
	}

	// A saved plan is applied unchanged.
	byHand()
	p.fleetc("apply", "--plan", "plan.json", "--force-conflicts=release:web", "--release", "web").ok(p)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").ok(p).says(p, "0 created, 2 changed")
	if now := got(); now != `2 {"colour":"blue"} {"size":"2"}` {
		t.Errorf("after the plan there is %s", now)
	}
}

// --strict reverts manual changes in objects that fleetc applies, even of fields
// that the bundle does not have. Fields of controllers stay.
func TestStrict(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "web")
	p.kubectl("one", "label", "namespace", "web", "team=a")
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("apply", "--dry-run", "--strict").ok(p)
	p.kubectl("one", "-n", "web", "set", "env", "deployment/web", "DEBUG=1")
	p.kubectl("one", "-n", "web", "patch", "deployment", "web", "--field-manager=node-fetch", "-p",
		`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:1"}]}}}}`)
	p.kubectl("one", "-n", "web", "annotate", "--field-manager=vpa-updater", "deployment", "web", "vpa=seen")
	p.kubectl("one", "-n", "web", "rollout", "restart", "deployment/web")
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--field-manager=k9s", "-p", `{"data":{"colour":"red","extra":"x"}}`)
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--field-manager=robot", "-p", `{"data":{"robot":"y"}}`)
	current := func() string {
		return p.kubectl("one", "-n", "web", "get", "deployment/web", "configmap/web", "-o",
			`jsonpath={.items[0].spec.template.spec.containers[*].name} {.items[0].spec.template.spec.containers[0].env} {.items[0].metadata.annotations.vpa} {.items[1].data}`)
	}
	_, mark := p.writes("one", 0)
	p.fleetc("diff", "--strict", "--against", "../out").exits(p, 2).says(p, "pass --live")
	p.fleetc("diff", "--live").exits(p, 1).lacks(p, "DEBUG", "side", "extra")
	p.fleetc("diff", "--live", "--strict").exits(p, 1).says(p, "DEBUG", "side", "data.extra", "data.colour").lacks(p, "restartedAt", "vpa", "data.robot")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("diff writes %q", w)
	}
	p.fleetc("apply", "--plan", "plan.json", "--strict").ok(p).says(p, "takes over ConfigMap web/web from k9s: removes data.extra", "takes over Deployment.apps web/web from node-fetch: removes .*containers.name=side.")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").ok(p).says(p, "0 created, 2 changed")
	if got := current(); got != `web  seen {"colour":"blue","robot":"y"}` {
		t.Errorf("after the apply there is %s", got)
	}
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", `jsonpath={.spec.template.metadata.annotations.kubectl\.kubernetes\.io/restartedAt}`); got == "" {
		t.Error("the annotation of the restart is gone, so that pods restart again")
	}
	if got := p.kubectl("one", "get", "namespace", "web", "-o", "jsonpath={.metadata.labels.team}"); got != "a" {
		t.Error("the label of a namespace that fleetc did not make is gone")
	}
	p.fleetc("apply", "--yes", "--strict").ok(p).says(p, "nothing was written")
	p.fleetc("diff", "--live", "--strict").ok(p)
}

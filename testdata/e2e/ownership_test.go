package e2e

import (
	"testing"
)

// A field that the release leaves to others is applied at the creation of the
// object, and stays with a manager that takes it.
func TestOwnershipLeave(t *testing.T) {
	p := newWeb(t)
	p.write("environments/leave.cue", `package fleet

releases: web: ownership: scaled: {
	target: kinds: ["Deployment"]
	fields: ["spec.replicas", "spec.template.spec.containers[name=web].image"]
	leave: true
}
`)
	replicas := func() string {
		return p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}")
	}
	p.fleetc("apply", "--yes").ok(p)
	if got := replicas(); got != "2" {
		t.Errorf("%s replicas are made", got)
	}
	// Until another manager takes it, it follows the fleet.
	p.edit("environments/web.cue", "replicas: 2", "replicas: 3")
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed")
	if got := replicas(); got != "3" {
		t.Errorf("%s replicas, want 3", got)
	}
	p.kubectl("one", "-n", "web", "scale", "deployment", "web", "--replicas=5")
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").ok(p).says(p, "runs its bundle") // fleetc lost the field, and leaves it
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("apply writes %q", w)
	}
	p.edit("environments/web.cue", `labels: app: "web"`, `labels: {app: "web", tier: "front"}`)
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	// It may change between a plan and its apply.
	p.kubectl("one", "-n", "web", "scale", "deployment", "web", "--replicas=4")
	p.fleetc("apply", "--yes", "--from-plan", "plan.json").ok(p).says(p, "1 changed")
	if got := replicas(); got != "4" {
		t.Errorf("%s replicas, want those of the other", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.kubectl("one", "-n", "web", "set", "image", "deployment/web", "web=example.com/web:hot")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "example.com/web:hot" {
		t.Errorf("the image is %s", got)
	}
	// Other fields still conflict.
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"data":{"colour":"green"}}`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `other managers own fields of it: data.colour \(kubectl-patch\)`, "ownership")
}

// A field that the release takes is reverted, and the plan says so. Other fields
// still conflict.
func TestOwnershipTake(t *testing.T) {
	p := newWeb(t)
	p.write("environments/take.cue", `package fleet

releases: web: ownership: scaled: {
	target: kinds: ["Deployment"]
	fields: ["spec.replicas"]
	take: true
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "scale", "deployment", "web", "--replicas=5")
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `Deployment.apps web/web takes fields of other managers: spec.replicas \(kubectl\)`, "spec.replicas: 5 -> 2")
	p.kubectl("one", "-n", "web", "set", "image", "deployment/web", "web=example.com/web:hot")
	_, mark := p.writes("one", 0)
	d := p.fleetc("apply", "--yes").exits(p, 2).says(p, `other managers own fields of it: spec.template.spec.containers\[name=web\].image \(kubectl-set\)`)
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("a refused apply writes %q", w)
	}
	_ = d
	p.edit("environments/take.cue", `"spec.replicas"`, `"spec.replicas", "spec.template.spec.containers[name=web]"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed")
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"); got != "2 example.com/web:1" {
		t.Errorf("the deployment has %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// An object is recreated for a changed immutable field only when its release allows
// that for its kind.
func TestReplace(t *testing.T) {
	p := newWeb(t)
	p.write("environments/replace.cue", "package fleet\n\nreleases: web: replace: [\"Deployment.apps\"]\n")
	p.fleetc("apply", "--yes").ok(p)
	uid := func() string {
		return p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.metadata.uid}")
	}
	before := uid()
	p.edit("environments/web.cue", `app: "web"`, `app: "other"`)
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `replaces Deployment.apps web/web, which is deleted and recreated: spec.selector: field is immutable`,
		`~ spec.selector.matchLabels.app: web -> other`)
	p.fleetc("apply", "--dry-run", "-o", "json").exits(p, 1).says(p, `"action": "replace"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "replaced Deployment.apps web/web", "0 created, 0 changed, 0 pruned; 1 replaced")
	if uid() == before {
		t.Error("the deployment is the one that was there")
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	// A saved plan for another object fails.
	p.edit("environments/web.cue", `app: "other"`, `app: "third"`)
	p.fleetc("apply", "--plan", "plan.json").ok(p)
	p.kubectl("one", "-n", "web", "delete", "deployment", "web")
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").exits(p, 2).says(p, "the action was replace, and now it is create")
	p.fleetc("apply", "--yes").ok(p).says(p, "1 created")
	// An object with the keep annotation is kept.
	p.edit("environments/web.cue", `metadata: name: "web"
			spec: {`, `metadata: {name: "web", annotations: "fleetc.dev/prune": "never"}
			spec: {`)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `app: "third"`, `app: "fourth"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "spec.selector: field is immutable", "remove fleetc.dev/prune: never, so that fleetc may recreate it")
}

package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// --lock-timeout waits for another apply, names it, ends with the timeout or an
// interrupt, and continues when the lease is released or has expired.
func TestLockTimeout(t *testing.T) {
	p := newWeb(t)
	p.edit("environments/web.cue", runs, stuck)
	first := p.begin("apply", "--yes")
	first.readUntil("waits for Deployment.apps web/web", 1)
	const since = `[0-9-]+T[0-9:]+Z`
	holder := fmt.Sprintf(`.*\(pid %d, [0-9a-f]+\)`, first.Process.Pid)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, holder+" is applying to this cluster, since "+since+` \[FL2105\]$`, "pass --lock-timeout to make fleetc wait")
	began := time.Now()
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--lock-timeout", "7s").exits(p, 2).says(p, "^dev/one: waits for the lease of "+holder+", held since "+since, holder+" is applying to this cluster, since "+since+"; fleetc has waited for 7s", "longer --lock-timeout")
	if took := time.Since(began); took < 7*time.Second {
		t.Errorf("it waited for %s only", took)
	}

	interrupted := p.begin("apply", "--yes", "--lock-timeout", "10m")
	interrupted.readUntil("waits for the lease", 1)
	began = time.Now()
	if err := interrupted.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	interrupted.end().exits(p, 2).says(p, `^interrupted \[FL3109\]$`)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("an interrupt ended the wait after %s", took)
	}

	p.edit("environments/web.cue", stuck, runs)
	next := p.begin("apply", "--yes", "--lock-timeout", "10m")
	next.readUntil("waits for the lease", 1)
	if err := first.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	first.end().exits(p, 2)
	next.end().ok(p).says(p, "^dev/one: applied: ")

	// The holder dies during the wait.
	p.edit("environments/web.cue", runs, stuck)
	dies := p.begin("apply", "--yes")
	dies.readUntil("waits for Deployment.apps web/web", 1)
	p.edit("environments/web.cue", stuck, runs)
	last := p.begin("apply", "--yes", "--lock-timeout", "10m")
	last.readUntil("waits for the lease", 1)
	if err := dies.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	dies.end()
	last.end().ok(p).says(p, "^dev/one: applied: ")
}

// An apply of older files says so, and does not undo an apply that ended after it was planned.
func TestOlderFiles(t *testing.T) {
	p := newWeb(t)
	p.git("init", "--quiet", "--initial-branch=main")
	older := p.commit()
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", runs, stuck)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.edit("environments/web.cue", "replicas: 2", "replicas: 1")
	newer := p.commit()
	first := p.begin("apply", "--yes")
	first.readUntil("waits for Deployment.apps web/web", 1)
	p.git("checkout", "--quiet", older)
	second := p.begin("apply", "--yes", "--lock-timeout", "10m")
	second.readUntil("waits for the lease", 1)
	p.kubectl("one", "-n", "web", "annotate", "pods", "--all", "fleetc.test/stuck-")
	first.end().ok(p).says(p, "this is revision 2$")
	const behind = ` from .*, which the history of these files does not contain`
	second.end().exits(p, 2).says(p, `^since the plan was made, the cluster got revision 2 of commit `+newer[:12]+behind+` \[FL2112\]$`, "pull the changes, and run the command again")
	if got := p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data.colour}"); got != "red" {
		t.Errorf("the older apply has written: the colour is %s", got)
	}

	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `^dev/one: has revision 2 of commit `+newer[:12]+behind+`: pull the changes, or the apply may undo them$`)
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 3$")
	p.git("checkout", "--quiet", "main")
	p.edit("environments/web.cue", stuck, runs)
	p.fleetc("apply", "--dry-run").exits(p, 1).lacks(p, "the history of these files")
}

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

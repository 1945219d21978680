package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// numberedRelease is a release with a range of ConfigMaps that contain the round.
func numberedRelease(from, to, round int) string {
	var b strings.Builder
	b.WriteString("package fleet\n\nreleases: numbered: {\n\tnamespace: \"web\"\n\tstage: \"apps\"\n\tobjects: {\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "\t\tc%03d: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"n-%03d\", data: round: \"%d\"}\n", i, i, round)
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

// After an apply is killed at any moment, the next one converges, prunes leftovers,
// and is then up to date.
func TestKill(t *testing.T) {
	p := newWeb(t)
	p.write("environments/numbered.cue", numberedRelease(0, 30, 0))
	p.fleetc("apply", "--yes").ok(p)
	random := rand.New(rand.NewPCG(7, 7))
	takes := time.Second // duration of an apply; known after the first
	for round := 1; round <= (kills(t, 12)+3)/4*4; round++ {
		// A third of the objects is pruned, a third changes, and a third is
		// created. Each apply has a different bundle.
		from := round * 10
		p.write("environments/numbered.cue", numberedRelease(from, from+30, round))
		apply := []string{"apply", "--yes", "--prune-limit", "100"}
		if round%4 == 1 {
			// In the middle: much is written, and the apply waits for an object
			// that never becomes ready.
			p.edit("environments/web.cue", runs, stuck)
			r := p.begin(apply...)
			r.readUntil("waits for Deployment.apps web/web", 1)
			r.kill(0)
			p.edit("environments/web.cue", stuck, runs)
		} else {
			p.begin(apply...).kill(time.Duration(random.Int64N(int64(takes))))
		}
		if round%4 != 0 {
			continue // killed repeatedly, each time with a different bundle
		}
		began := time.Now()
		p.fleetc(apply...).ok(p)
		takes = time.Since(began)
		p.checkNumbered(from, from+30, round)
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	}
}

// The lease of a killed apply expires after its duration.
func TestKilledLease(t *testing.T) {
	p := newWeb(t)
	p.edit("environments/web.cue", runs, stuck)
	r := p.begin("apply", "--yes")
	r.readUntil("waits for Deployment.apps web/web", 1)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.end()
	p.edit("environments/web.cue", stuck, runs)
	p.fleetc("apply", "--yes").ok(p).says(p, fmt.Sprintf(`^dev/one: waits for the lease of .*\(pid %d, `, r.Process.Pid), "^dev/one: applied: ")
}

// checkNumbered requires the ConfigMaps of the range, and no others.
func (p *place) checkNumbered(from, to, round int) {
	p.Helper()
	got := strings.Fields(p.kubectl("one", "-n", "web", "get", "configmaps", "-o", "jsonpath={range .items[*]}{.metadata.name}={.data.round} {end}"))
	got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "n-") })
	var want []string
	for i := from; i < to; i++ {
		want = append(want, fmt.Sprintf("n-%03d=%d", i, round))
	}
	if !slices.Equal(got, want) {
		p.Errorf("there is %q, want %q", got, want)
	}
}

// An apply continues when the API server is paused, or killed and restarted.
func TestOutage(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	c := p.clusters["one"]
	for round, outage := range []func() error{c.Pause, c.Kill} {
		p.write("environments/numbered.cue", numberedRelease(round*200, round*200+200, round))
		r := p.begin("apply", "--yes", "--prune-limit", "500")
		r.readUntil("created", 20)
		if err := outage(); err != nil {
			t.Fatal(err)
		}
		r.readAll()
		time.Sleep(time.Second) // the outage
		if err := c.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := r.end().ok(p)
		if n := strings.Count(d.stderr, "created"); n != 200 {
			t.Errorf("round %d: %d objects were created", round, n)
		}
		for line := range strings.Lines(d.stderr) {
			if !strings.HasPrefix(line, "dev/one: ") {
				t.Errorf("round %d: a library says %s", round, line)
			}
		}
		p.checkNumbered(round*200, round*200+200, round)
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	}
}

// An apply ends well when the program that simulates its nodes crashes, and the log
// reports that it is started again.
func TestSimulatorCrash(t *testing.T) {
	p := newWeb(t)
	p.edit("environments/web.cue", runs, stuck)
	r := p.begin("apply", "--yes")
	r.readUntil("waits for Deployment.apps web/web", 1)
	p.waitFor("both pods to be stuck", func() bool {
		reasons := p.kubectl("one", "-n", "web", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}")
		return reasons == "ImagePullBackOff ImagePullBackOff"
	})
	c := p.clusters["one"]
	if err := c.CrashSimulator(); err != nil {
		t.Fatal(err)
	}
	// Only a new simulator makes the pods ready.
	p.kubectl("one", "-n", "web", "annotate", "pods", "-l", "app=web", "fleetc.test/stuck-")
	r.end().ok(p).says(p, "^dev/one: stage apps is healthy")
	text, err := os.ReadFile(messages.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("kwok of %s ended (signal: killed) and is started again\n", c.Name); strings.Count(string(text), want) != 1 {
		t.Errorf("the log does not have %q once:\n%s", want, text)
	}
}

// Two applies to one cluster do not interleave: the second names the first, or runs
// after it. An interrupted apply releases the lease.
func TestTwoApplies(t *testing.T) {
	p := newWeb(t)
	// An object that never becomes ready keeps the first apply waiting.
	p.edit("environments/web.cue", runs, stuck)
	first := p.begin("apply", "--yes")
	first.readUntil("waits for Deployment.apps web/web", 1)
	_, mark := p.writes("one", 0)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes").exits(p, 2).says(p, fmt.Sprintf(`@%s \(pid %d, [0-9a-f]+\) is applying to this cluster`, host, first.Process.Pid))
	w, _ := p.writes("one", mark)
	for _, r := range w {
		if !strings.HasPrefix(r, "update /apis/coordination.k8s.io/v1/namespaces/fleetc-system/leases/apply") {
			t.Errorf("while another has the lease, apply writes %q", r)
		}
	}
	if err := first.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	first.end().exits(p, 2).says(p, "interrupted")
	p.edit("environments/web.cue", stuck, runs)
	d := p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: applied")
	if strings.Contains(d.stderr, "waits for the lease") {
		t.Errorf("the lease was not given back:\n%s", d.stderr)
	}
}

// When one of several clusters is down, the others are applied, and the summary and
// the status report it.
func TestClusterDown(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two", Version: "1.34"}, clusters.Spec{Name: "three", Version: "1.36"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	if err := p.clusters["two"].Kill(); err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "^dev/one: applied: 4 created", "^dev/three: applied: 4 created", "^dev/two: unreachable, nothing was written", "refuses connections", "in dev/two")
	if err := p.clusters["two"].Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes", "-o", "json").ok(p).says(p, `"status": "unchanged"`, `"status": "applied"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/two: runs its bundle")
}

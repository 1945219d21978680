package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// A balancer is a load balancer with an API. It has the weight of a cluster, and
// knows whether fleetc had written to the web release before a request changed the
// weight.
type balancer struct {
	*httptest.Server
	mu       sync.Mutex
	weight   string
	requests []string // requests that change something
	gets     int      // number of other requests
	written  func() int
}

const token = "Bearer lb-s3cret"

func newBalancer(t *testing.T) *balancer {
	b := &balancer{weight: "100", written: func() int { return 0 }}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if r.URL.Path != "/clusters/one" || r.Header.Get("Authorization") != token {
			http.Error(w, "not you with "+r.Header.Get("Authorization"), http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			b.requests = append(b.requests, fmt.Sprintf("%s, %d written", body, b.written()))
			b.weight = strings.TrimSuffix(strings.TrimPrefix(string(body), `{"weight":`), "}")
			return
		}
		b.gets++
		fmt.Fprintf(w, `{"name":"one","weight":%s}`, b.weight)
	}))
	t.Cleanup(b.Close)
	return b
}

// requestCount returns the number of requests.
func (b *balancer) requestCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gets + len(b.requests)
}

// takeChanges returns the changes since the last call.
func (b *balancer) takeChanges() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := b.requests
	b.requests = nil
	return took
}

func (b *balancer) hasWeight(weight string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.weight == weight
}

// switchActions are the actions that take a cluster out of the balancer during the
// stage apps.
func (b *balancer) switchActions() string {
	return strings.ReplaceAll(`package fleet

import "github.com/fleetc/fleetc/schema"

#Balancer: schema.#HTTPRequest & {
	url: "URL/clusters/\(cluster.name)"
	secretHeaders: Authorization: "LB_TOKEN"
}
actions: drain: {
	at:    "before"
	stage: "apps"
	http: #Balancer & {method: "PUT", json: weight: 0}
	verify: http: #Balancer & {contains: "\"weight\":0}"}
	undo: http: #Balancer & {method: "PUT", json: weight: 100}
}
actions: fill: {
	at:    "after"
	stage: "apps"
	http: #Balancer & {method: "PUT", json: weight: 100}
	verify: http: #Balancer & {contains: "\"weight\":100}"}
}
`, "URL", b.URL)
}

// newBalanced returns a cluster behind a balancer, with the fleet web, not applied.
func newBalanced(t *testing.T) (*place, *balancer) {
	t.Helper()
	p, b := newWeb(t), newBalancer(t)
	p.write("environments/balancer.cue", b.switchActions())
	b.written = func() int {
		all, err := p.clusters["one"].Requests()
		if err != nil {
			t.Error(err)
		}
		n := 0
		for _, r := range all {
			if r.Writes() && strings.HasPrefix(r.UserAgent, "fleetc/") && strings.Contains(r.URI, "/namespaces/web/") {
				n++
			}
		}
		return n
	}
	return p, b
}

func (p *place) checkEqual(what string, got, want []string) {
	p.Helper()
	if !slices.Equal(got, want) {
		p.Errorf("%s: %q, want %q", what, got, want)
	}
}

const (
	runs  = `metadata: labels: app: "web"`
	stuck = `metadata: {labels: app: "web", annotations: "fleetc.test/stuck": "ImagePullBackOff"}`

	// stuckFor is a timeout after which stuck pods have reported their problem,
	// even on a busy machine.
	stuckFor = "20s"
)

// A load balancer sends no traffic to a cluster during an upgrade, and sends it
// again when the upgrade fails.
func TestBalancer(t *testing.T) {
	p, b := newBalanced(t)
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p,
		"^dev/one: runs action drain before stage apps: PUT "+b.URL+"/clusters/one$", "^dev/one: runs action fill after stage apps: PUT ")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "balancer.cue:[0-9:]+: action drain: the environment variable LB_TOKEN is not set", "^dev/one: refused, nothing was written")
	if w, _ := p.writes("one", 0); len(w) > 0 || b.requestCount() > 0 {
		t.Errorf("an apply that is refused writes %q", w)
	}
	p.env = []string{"LB_TOKEN=Bearer wrong"}
	d := p.fleetc("apply", "--yes").exits(p, 2).says(p, "action drain: PUT "+b.URL+`/clusters/one returned 403 Forbidden \[FL2110\]$`, "action drain: it could not be undone: PUT", "actions: 1 not undone")
	if strings.Contains(d.stdout+d.stderr, "wrong") {
		t.Errorf("a secret is shown:\n%s%s", d.stdout, d.stderr)
	}

	p.env = []string{"LB_TOKEN=" + token}
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: runs action drain \\(PUT ", "^dev/one: applied: 3 created, 0 changed, 0 pruned; actions: 2 done")
	p.checkEqual("at the first apply", b.takeChanges(), []string{`{"weight":0}, 0 written`, `{"weight":100}, 3 written`})

	// An up-to-date apply sends no request.
	_, mark := p.writes("one", 0)
	before := b.requestCount()
	if d := p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written"); strings.Contains(d.stdout, "action") {
		t.Errorf("there is nothing to do, and it says\n%s", d.stdout)
	}
	p.fleetc("apply", "--dry-run").ok(p)
	if w, _ := p.writes("one", mark); len(w) > 0 || b.requestCount() != before {
		t.Errorf("a second apply writes %q", w)
	}

	// A stuck rollout.
	p.edit("environments/web.cue", runs, stuck)
	d = p.fleetc("apply", "--yes", "--timeout", stuckFor).exits(p, 2).says(p, "Deployment.apps web/web: .*ImagePullBackOff", "^dev/one: undoes action drain \\(PUT ", "actions: 1 undone")
	p.checkEqual("at a stuck rollout", b.takeChanges(), []string{`{"weight":0}, 3 written`, `{"weight":100}, 4 written`})
	if strings.Contains(d.stdout+d.stderr, "s3cret") {
		t.Errorf("a secret is shown:\n%s%s", d.stdout, d.stderr)
	}
	// An action whose verify task succeeds is skipped.
	b.weight = "0"
	p.edit("environments/web.cue", stuck, runs)
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: skips action drain \\(it has already run\\)$", "actions: 1 done, 1 skipped")
	p.checkEqual("when it is drained already", b.takeChanges(), []string{`{"weight":100}, 5 written`})
}

// An interrupted apply undoes its actions. A killed one does not, and the next
// apply resumes.
func TestActionInterrupted(t *testing.T) {
	p, b := newBalanced(t)
	p.env = []string{"LB_TOKEN=" + token}
	p.edit("environments/web.cue", runs, stuck)
	drained := func() *runningCommand {
		r := p.begin("apply", "--yes")
		p.waitFor("the cluster to be drained", func() bool { return b.hasWeight("0") })
		return r
	}
	r := drained()
	if err := r.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if r.end().exits(p, 2).says(p, "undoes action drain", "interrupted"); !b.hasWeight("100") {
		t.Error("the interrupted apply did not undo its actions")
	}
	if drained().kill(0); !b.hasWeight("0") {
		t.Error("the killed apply undid its actions")
	}
	b.takeChanges()
	p.edit("environments/web.cue", stuck, runs)
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: skips action drain \\(it has already run\\)$")
	if took := b.takeChanges(); len(took) != 1 || !b.hasWeight("100") {
		t.Errorf("after a kill: %q", took)
	}
}

// commands are commands that log their run, and fail when a file says so.
const commands = `package fleet

releases: web: actions: {
	a: {at: "before", exec: ["./log", "a"], undo: exec: ["./log", "undo-a"]}
	b: {at: "before", exec: ["./log", "b"], undo: exec: ["./log", "undo-b"]}
	c: {at: "after", exec: ["./log", "c"], environment: ["GREETING"], undo: exec: ["./log", "undo-c"]}
}
`

const logScript = `#!/bin/sh
echo "$1 $FLEETC_CLUSTER $FLEETC_STAGE $FLEETC_RELEASE $GREETING$SECRET" >>log.txt
if test -e "fail-$1"; then echo "cannot $1"; exit 1; fi
`

// Commands run when they are allowed. Actions are undone in reverse order, even
// when an undo fails, and run again in the next apply.
func TestActionExec(t *testing.T) {
	p := newWeb(t)
	p.write("environments/commands.cue", commands)
	p.write("log", logScript)
	if err := os.Chmod(filepath.Join(p.dir, "log"), 0o755); err != nil {
		t.Fatal(err)
	}
	ran := func() []string {
		data, _ := os.ReadFile(filepath.Join(p.dir, "log.txt"))
		_ = os.Remove(filepath.Join(p.dir, "log.txt"))
		var lines []string
		for line := range strings.Lines(string(data)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	p.env = []string{"GREETING=hello", "SECRET=hunter2"}
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "commands.cue:[0-9:]+: action web/a: it runs a command, which is not allowed", "hint: review the command, then pass --allow-exec")
	if w, _ := p.writes("one", 0); len(w) > 0 || len(ran()) > 0 {
		t.Errorf("an apply that is refused writes %q", w)
	}

	// The action after the release fails, and so does an undo.
	p.write("fail-c", "")
	p.write("fail-undo-b", "")
	p.fleetc("apply", "--yes", "--allow-exec").exits(p, 2).says(p,
		"action web/c: ./log c: exit status 1: cannot c", "action web/b: it could not be undone: ./log undo-b: exit status 1: cannot undo-b",
		"^dev/one: cannot undo action web/b \\(./log undo-b: exit status 1: cannot undo-b\\)", "4 created, 0 changed, 0 pruned; actions: 2 undone, 1 not undone")
	line := func(name string) string { return name + " dev/one apps web" }
	p.checkEqual("at the first apply", ran(), []string{line("a"), line("b"), line("c") + " hello", line("undo-c") + " hello", line("undo-b"), line("undo-a")})

	// The objects are up to date, but the release is not complete.
	for _, name := range []string{"fail-c", "fail-undo-b"} {
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.fleetc("apply", "--yes", "--allow-exec").ok(p).says(p, "^dev/one: applied: 0 created, 0 changed, 0 pruned; actions: 3 done")
	p.checkEqual("at the second apply", ran(), []string{line("a"), line("b"), line("c") + " hello"})
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	// Changes of other releases do not run the actions; a partial apply of the
	// release does.
	p.write("environments/other.cue", "package fleet\n\nreleases: other: {namespace: \"web\", stage: \"apps\", objects: c: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"other\"}}\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "1 created")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes", "--release", "other").ok(p).says(p, "nothing was written")
	p.fleetc("apply", "--yes", "--allow-exec", "--release", "web").ok(p).says(p, "1 changed, 0 pruned; actions: 3 done")
	p.checkEqual("of one release", ran(), []string{line("a"), line("b"), line("c") + " hello"})
}

// After the lease is lost, no action runs and none is undone, since the new holder
// may rely on them.
func TestActionWithoutLease(t *testing.T) {
	p := newWeb(t)
	p.write("environments/wait.cue", `package fleet

actions: wait: {
	at:    "before"
	stage: "apps"
	exec: ["sh", "-c", "touch waits; until test -e goes-on; do sleep 0.2; done"]
	undo: exec: ["touch", "undone"]
}
actions: write: {at: "before", stage: "apps", exec: ["touch", "written"]}
`)
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(p.dir, name))
		return err == nil
	}
	ended := make(chan result)
	go func() { ended <- p.end(p.command("apply", "--yes", "--allow-exec")) }()
	p.waitFor("the action to run", func() bool { return there("waits") })
	p.kubectl("one", "-n", "fleetc-system", "patch", "lease", "apply", "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody else"}}`)
	p.waitFor("the lease to be lost", func() bool {
		all, err := p.clusters["one"].Requests()
		if err != nil {
			t.Fatal(err)
		}
		refused := slices.IndexFunc(all, func(r clusters.Request) bool {
			return r.Verb == "update" && r.Status == http.StatusConflict && strings.Contains(r.URI, "/leases/apply")
		})
		return refused >= 0 && slices.ContainsFunc(all[refused:], func(r clusters.Request) bool { return r.Verb == "get" && strings.Contains(r.URI, "/leases/apply") })
	})
	p.write("goes-on", "")
	d := <-ended
	d.exits(p, 2).says(p, "somebody else took the lease of this cluster", "action wait: it could not be undone: somebody else took the lease of this cluster", "actions: 1 not undone")
	if there("written") || there("undone") {
		t.Errorf("without the lease, it goes on:\n%s", d.stderr)
	}
}

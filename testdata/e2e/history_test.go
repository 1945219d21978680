package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// git runs git in the fleet.
func (p *place) git(args ...string) string {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git", append([]string{"-c", "user.name=me", "-c", "user.email=me@example.com"}, args...)...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits all files of the fleet and returns the commit.
func (p *place) commit() string {
	p.Helper()
	p.git("add", "--all")
	p.git("commit", "--quiet", "--allow-empty", "--message=x")
	return p.git("rev-parse", "HEAD")
}

type revision struct {
	Revision                         int
	Current, Dirty                   bool
	Time, By, Commit, Bundle, Tool   string
	What                             string
	RollbackTo                       int
	Created, Changed, Pruned, Number int
}

// history returns the revisions of the cluster one, the newest first.
func (p *place) history() []revision {
	p.Helper()
	var out struct {
		Clusters []struct {
			ID        string
			Revisions []revision
			Faults    []string
		}
	}
	if err := json.Unmarshal([]byte(p.fleetc("history", "-o", "json").ok(p).stdout), &out); err != nil || len(out.Clusters) != 1 {
		p.Fatalf("%v, %+v", err, out)
	}
	return out.Clusters[0].Revisions
}

// objects returns all objects of the kinds in these tests without server-side
// fields, by ID.
func (p *place) objects() map[string]any {
	p.Helper()
	var list struct{ Items []json.RawMessage }
	text := p.kubectl("one", "get", "namespaces,configmaps,secrets,deployments,jobs,crd", "-A", "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		p.Fatal(err)
	}
	out := map[string]any{}
	for _, item := range list.Items {
		o := declared(p.T, string(item))
		meta := o["metadata"].(map[string]any)
		if meta["namespace"] != "fleetc-system" {
			delete(meta, "managedFields")
			out[fmt.Sprint(o["kind"], " ", meta["namespace"], "/", meta["name"])] = o
		}
	}
	return out
}

const extra = `package fleet

releases: extra: {
	namespace: "web"
	stage:     "apps"
	objects: {
		new:  {apiVersion: "v1", kind: "ConfigMap", metadata: name: "new"}
		hook: {
			apiVersion: "batch/v1"
			kind:       "Job"
			metadata: {name: "hook", annotations: {"helm.sh/hook": "post-install,post-upgrade", "helm.sh/hook-delete-policy": "hook-succeeded"}}
			spec: template: spec: {restartPolicy: "Never", containers: [{name: "hook", image: "example.com/hook:1"}]}
		}
	}
}
`

// The history records applies with their commits. A rollback restores exactly the
// recorded objects, and is recorded itself.
func TestHistory(t *testing.T) {
	p := newWeb(t)
	p.git("init", "--quiet", "--initial-branch=main")
	p.write("environments/numbered.cue", numberedRelease(0, 4, 1))
	first := p.commit()
	p.fleetc("history").ok(p).says(p, `^dev/one +- +-`)
	p.fleetc("status").exits(p, 1).says(p, `^dev/one +never applied`)
	p.fleetc("rollback", "dev/one", "--yes").exits(p, 2).says(p, "the cluster has no history")
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: applied: 8 created, 0 changed, 0 pruned; this is revision 1$")
	a := p.objects()
	p.fleetc("status", "--health").ok(p).says(p, `^dev/one +up to date +1 +\S+Z +\S+@\S+ +`+first[:12]+` `, "^dev/one: all objects are ready")

	// B changes, adds and removes objects; some of its files are not committed.
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.edit("environments/web.cue", "hunter2", "hunter3")
	p.edit("environments/web.cue", "replicas: 2", "replicas: 3")
	p.write("environments/numbered.cue", numberedRelease(2, 6, 1))
	p.write("environments/extra.cue", extra)
	p.fleetc("status").exits(p, 1).says(p, `^dev/one +behind +1 `)
	p.git("add", "environments/web.cue")
	p.git("commit", "--quiet", "--message=x")
	second := p.git("rev-parse", "HEAD")
	p.fleetc("apply", "--yes").ok(p).says(p, "3 created, 3 changed, 2 pruned; 1 hook run; this is revision 2$")
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.fleetc("apply", "--yes", "--release", "extra").ok(p).says(p, "nothing was written")
	p.fleetc("history").ok(p).says(p, `^dev/one +2\* .* `+second[:12]+`\+ .*devel +apply +3 created, 3 changed, 2 pruned +once$`, `^dev/one +1 .* `+first[:12]+` .*devel +apply +8 created, 0 changed, 0 pruned +once$`)
	h := p.history()
	if len(h) != 2 || h[0].Commit != second || !h[0].Dirty || !h[0].Current || h[1].Commit != first || h[1].Dirty || h[1].Current || !strings.HasPrefix(h[0].Bundle, "sha256:") || h[0].Bundle == h[1].Bundle {
		t.Errorf("the history is %+v", h)
	}
	if _, err := time.Parse(time.RFC3339, h[0].Time); err != nil {
		t.Error(err)
	}

	// Nothing is written without confirmation, and Secrets are hidden.
	d := p.fleetc("rollback", "dev/one", "--dry-run").exits(p, 1).says(p, "^dev/one: goes back to revision 1: apply by ", `- ConfigMap web/new`, `\+ ConfigMap web/n-000`,
		"^dev/one: cannot undo Job.batch web/hook: effects of this hook of release extra are not undone")
	if strings.Contains(d.stdout+d.stderr, "hunter") {
		t.Errorf("a secret is shown:\n%s%s", d.stdout, d.stderr)
	}
	p.fleetc("rollback", "dev/one").exits(p, 2).says(p, "rollback asks before it writes")
	p.fleetc("rollback", "dev/one", "--to", "7", "--yes").exits(p, 2).says(p, `revision 7 is not in the history, which has revisions 1 to 2 \[FL2114\]$`)
	p.fleetc("rollback", "dev", "--to", "0", "--yes").exits(p, 2).says(p, "--to takes the number of a revision")
	p.fleetc("rollback", "dev/two", "--yes").exits(p, 2).says(p, "no cluster matches dev/two")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("%q was written without confirmation", w)
	}

	// The fleet does not have to compile.
	p.write("environments/broken.cue", "package fleet\n\nreleases: web: objects: config: data: colour: 7\n")
	p.fleetc("history").ok(p)
	p.fleetc("status").exits(p, 2).says(p, `^dev/one +applied +2 `, "^dev/one: does not compile", "set to two different values")
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "2 created, 3 changed, 3 pruned; this is revision 3$", "a rollback does not change the fleet's files: the next apply applies them$")
	if b := p.objects(); !reflect.DeepEqual(a, b) {
		t.Errorf("the cluster has\n%v\nand had\n%v", b, a)
	}
	if h = p.history(); len(h) != 2 || h[0].What != "rollback" || h[0].RollbackTo != 1 || h[0].Bundle == h[1].Bundle || h[0].Commit != first || !h[0].Current {
		t.Errorf("the history is %+v", h)
	}
	p.fleetc("rollback", "dev/one", "--to", "1", "--yes").ok(p).says(p, "nothing was written")
	p.fleetc("status", "--no-compile").ok(p).says(p, `^dev/one +applied +3 `)
	if err := os.Remove(filepath.Join(p.dir, "environments/broken.cue")); err != nil {
		t.Fatal(err)
	}
	p.fleetc("status").exits(p, 1).says(p, `^dev/one +behind +3 `)
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 4$")
	p.fleetc("status").ok(p).says(p, `^dev/one +up to date +4 `)
	// The default is the newest revision with a different bundle.
	p.fleetc("rollback", "dev/one", "--dry-run").exits(p, 1).says(p, "goes back to revision 3: rollback to 1")
}

// Status explains unhealthy clusters, and JSON has the same information.
func TestStatus(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes", "-o", "json").ok(p).says(p, `^      "status": "applied"`, `^      "revision": 1,`)
	p.fleetc("apply", "--yes", "-o", "json").ok(p).says(p, `^      "status": "unchanged"`, `^      "revision": 1,`)
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.fleetc("status").ok(p)
	p.fleetc("status", "--health").exits(p, 1).says(p, "^dev/one +up to date", "^dev/one: ConfigMap web/web is missing: it does not exist")
	p.fleetc("status", "--health", "-o", "json").exits(p, 1).says(p, `"state": "up to date"`, `"id": "ConfigMap web/web"`, `"running": \{`, `"compiled": "sha256:`)
	hold := func(holder string) {
		p.Helper()
		p.kubectl("one", "-n", "fleetc-system", "patch", "lease", "apply", "--type=merge", "-p",
			`{"spec":{"holderIdentity":"`+holder+`","renewTime":"2199-01-01T00:00:00.000000Z"}}`)
	}
	hold("ann@work (pid 1)")
	p.fleetc("status").ok(p).says(p, `^dev/one: ann@work \(pid 1\) applies to it$`)
	p.fleetc("status", "-o", "json").ok(p).says(p, `"applying": "ann@work \(pid 1\)"`)
	hold("")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("rollback", "dev/one", "--yes", "-o", "json").ok(p).says(p, `^      "revision": 3,`, `^      "rollbackTo": 1,`)
	// The inventory of another cluster is rejected.
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	p.kubectlInput("one", secretOf(t, inventorySecret, map[string][]byte{"data": []byte("x")}), "create", "-f", "-")
	p.fleetc("status").exits(p, 2).says(p, "^dev/one +refused +-", "the inventory in fleetc-system cannot be used")
	p.kubectl("one", "-n", "fleetc-system", "delete", "secret", inventorySecret)
	p.fleetc("status", "--no-compile").exits(p, 1).says(p, "^dev/one +never applied")
	// Without the inventory, nothing references the bundles.
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 1$")
	if got := p.chunks(); len(got) != 3 {
		t.Errorf("there are %q", got)
	}
}

// chunks returns the names of the Secrets with bundles.
func (p *place) chunks() []string {
	p.Helper()
	names := strings.Fields(p.kubectl("one", "-n", "fleetc-system", "get", "secrets", "-o", "jsonpath={.items[*].metadata.name}"))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "bundle-") })
}

// A cluster keeps the configured number of revisions, and only the Secrets that
// they need. Unchanged releases share Secrets.
func TestHistoryLimit(t *testing.T) {
	p := newWeb(t)
	p.edit("environments/dev/one/cluster.cue", "cluster: {", "cluster: {history: 3, ")
	for i := range 5 {
		p.write("environments/numbered.cue", numberedRelease(0, 1, i))
		p.fleetc("apply", "--yes").ok(p).says(p, fmt.Sprintf("this is revision %d$", i+1))
	}
	h := p.history()
	if len(h) != 3 || h[0].Revision != 5 || h[2].Revision != 3 {
		t.Errorf("the history is %+v", h)
	}
	// The head, space, web, and three times numbered.
	if got := p.chunks(); len(got) != 1+2+3 {
		t.Errorf("there are %q", got)
	}
	p.fleetc("rollback", "dev/one", "--to", "2", "--yes").exits(p, 2).says(p, "revision 2 is not in the history, which has revisions 3 to 5")
	p.fleetc("rollback", "dev/one", "--to", "3", "--yes").ok(p).says(p, "1 changed, 0 pruned; this is revision 6$")
	p.checkNumbered(0, 1, 2)
	if got := p.chunks(); len(got) != 1+2+3 {
		t.Errorf("there are %q", got)
	}

	// A partial apply adds no revision.
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes", "--release", "web").ok(p).says(p, "0 created, 1 changed, 0 pruned$")
	p.fleetc("status").exits(p, 1).says(p, `^dev/one +unfinished +6 `, "ran revision 6 last")
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "goes back to revision 6", "1 changed, 0 pruned; this is revision 6$")
}

// Revisions are complete: neither a kill at any moment nor changed Secrets lead to
// a partial bundle.
func TestHistoryKilled(t *testing.T) {
	p := newWeb(t)
	p.write("environments/numbered.cue", numberedRelease(0, 3, 0))
	p.fleetc("apply", "--yes").ok(p)
	random := rand.New(rand.NewPCG(9, 9))
	// The revision is written after the last stage is healthy, some time before the
	// end.
	const last = "stage apps is healthy"
	takes := 50 * time.Millisecond // duration of the last part; known after the first
	for round := 1; round <= 20; round++ {
		p.write("environments/numbered.cue", numberedRelease(0, 3, round))
		switch round % 4 {
		case 1: // before the record, waiting for an object that never becomes ready
			p.edit("environments/web.cue", runs, stuck)
			r := p.begin("apply", "--yes")
			r.readUntil("waits for Deployment.apps web/web", 1)
			r.kill(0)
			p.edit("environments/web.cue", stuck, runs)
		case 0: // after the record
			r := p.begin("apply", "--yes")
			r.readUntil(last, 1)
			began := time.Now()
			r.end().ok(p)
			takes = time.Since(began)
		default:
			r := p.begin("apply", "--yes")
			r.readUntil(last, 1)
			r.kill(time.Duration(random.Int64N(int64(takes))))
		}
		h := p.history()
		recorded := h[0].Current
		t.Logf("round %d: what was applied is recorded: %t", round, recorded)
		if recorded && round%4 == 1 || !recorded && round%4 == 0 {
			t.Errorf("round %d: it is recorded: %t", round, recorded)
		}
		for i, r := range h {
			if r.Revision != h[0].Revision-i {
				t.Errorf("the history is %+v", h)
			}
		}
		if round%4 == 0 {
			p.fleetc("status").ok(p)
			p.checkNumbered(0, 3, round)
			p.checkRevisions()
		}
	}
}

// checkRevisions requires that every revision is readable, and that there are no
// unused chunks after an apply with changes.
func (p *place) checkRevisions() {
	p.Helper()
	p.edit("environments/web.cue", "example.com/web:1", "example.com/web:11")
	p.fleetc("apply", "--yes").ok(p)
	h := p.history()
	for _, r := range h[1:] {
		p.fleetc("rollback", "dev/one", "--dry-run", "--to", fmt.Sprint(r.Revision)).exits(p, 1)
	}
	p.edit("environments/web.cue", "example.com/web:11", "example.com/web:1")
	bundles := map[string]bool{}
	for _, r := range h {
		bundles[r.Bundle] = true
	}
	// One head; space; one or two of web; one of numbered per round.
	if got := p.chunks(); len(got) > 1+1+len(bundles)+8 {
		p.Errorf("%d Secrets for %d revisions", len(got), len(h))
	}
}

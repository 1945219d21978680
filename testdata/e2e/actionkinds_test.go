package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// migration is a Job before a release, with a Job that undoes it.
const migration = `package fleet

releases: web: actions: migrate: {
	at:      "before"
	timeout: "1m"
	job: spec: {
		backoffLimit: 0
		template: {
			metadata: annotations: {}
			spec: {restartPolicy: "Never", containers: [{name: "migrate", image: "example.com/migrate:1"}]}
		}
	}
	undo: job: spec: template: spec: {restartPolicy: "Never", containers: [{name: "migrate", image: "example.com/migrate:0"}]}
}
`

// jobRequests returns the requests of fleetc for Jobs and Deployments since the
// mark.
func (p *place) jobRequests(since int) (requests []string, mark int) {
	all, mark := p.writes("one", since)
	for _, r := range withoutOwn(all) {
		if strings.Contains(r, "/jobs/") || strings.Contains(r, "/deployments/") {
			requests = append(requests, regexp.MustCompile(`/apis/.*/(jobs|deployments)/`).ReplaceAllString(r, "$1/"))
		}
	}
	return requests, mark
}

// A Job runs before the release that needs it, and is deleted afterwards. A failed
// Job stays and is recreated by the next run. The undo Job runs when the release
// does not become healthy.
func TestActionJob(t *testing.T) {
	p := newWeb(t)
	p.write("environments/migration.cue", migration)
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: runs action web/migrate before release web: a Job$", "^dev/one: is ready: Job.batch web/fleetc-migrate-", "actions: 1 done")
	requests, mark := p.jobRequests(0)
	if len(requests) != 3 || !strings.HasPrefix(requests[0], "patch jobs/fleetc-migrate-") || !strings.HasPrefix(requests[1], "delete jobs/fleetc-migrate-") || requests[2] != "patch deployments/web 201" {
		t.Errorf("the first apply does %q", requests)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")

	p.edit("environments/migration.cue", "annotations: {}", `annotations: "fleetc.test/fail": "true"`)
	p.edit("environments/web.cue", `example.com/web:1`, `example.com/web:2`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "migration.cue:[0-9:]+: action web/migrate: Job.batch web/fleetc-migrate-[0-9a-f]+: ", "^dev/one: undoes action web/migrate \\(a Job\\)", "actions: 1 undone")
	requests, mark = p.jobRequests(mark)
	if len(requests) != 3 || !strings.HasPrefix(requests[0], "patch jobs/") || !strings.HasPrefix(requests[1], "patch jobs/") || !strings.HasPrefix(requests[2], "delete jobs/") {
		t.Errorf("an apply whose Job fails does %q", requests)
	}
	if got := p.kubectl("one", "-n", "web", "get", "jobs", "-o", "jsonpath={range .items[*]}{.spec.activeDeadlineSeconds} {.status.failed}{end}"); got != "60 1" {
		t.Errorf("the Job that failed is %q", got)
	}

	p.edit("environments/migration.cue", `annotations: "fleetc.test/fail": "true"`, "annotations: {}")
	p.edit("environments/web.cue", runs, stuck)
	p.fleetc("apply", "--yes", "--timeout", stuckFor).exits(p, 2).says(p, "Deployment.apps web/web: .*ImagePullBackOff", "actions: 1 undone")
	requests, _ = p.jobRequests(mark)
	if len(requests) != 6 || !strings.HasPrefix(requests[0], "delete jobs/") || requests[3] != "patch deployments/web 200" || !strings.HasPrefix(requests[4], "patch jobs/") {
		t.Errorf("an apply whose Deployment is stuck does %q", requests)
	}
	if got := p.kubectl("one", "-n", "web", "get", "jobs", "-o", "name"); got != "" {
		t.Errorf("it leaves %s", got)
	}
}

// The plan finds Jobs that the cluster rejects, Jobs of other owners, and missing
// namespaces and rights.
func TestActionJobRefused(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/migration.cue", migration)
	p.edit("environments/web.cue", `example.com/web:1`, `example.com/web:2`)
	name := regexp.MustCompile(`fleetc-migrate-[0-9a-f]+`).FindString(p.fleetc("apply", "--yes").ok(p).stderr)
	_, mark := p.writes("one", 0)

	p.edit("environments/web.cue", `example.com/web:2`, `example.com/web:3`)
	p.kubectlInput("one", "{apiVersion: batch/v1, kind: Job, metadata: {namespace: web, name: "+name+"}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: x}]}}}}", "create", "-f", "-")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "action web/migrate: Job web/"+name+" exists, and fleetc did not create it for this action")
	p.kubectl("one", "-n", "web", "delete", "job", name)
	p.edit("environments/migration.cue", `restartPolicy: "Never"`, `restartPolicy: "Always"`)
	p.fleetc("apply", "--dry-run").exits(p, 2).says(p, "action web/migrate: its Job is refused: .*restartPolicy")
	p.edit("environments/migration.cue", `restartPolicy: "Always"`, `restartPolicy: "Never"`)
	p.edit("environments/migration.cue", "\tjob: spec: {", "\tjob: metadata: namespace: \"nowhere\"\n\tjob: spec: {")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "action web/migrate: its Job is in the namespace nowhere, which does not exist")
	p.write("environments/later.cue", `package fleet

releases: nowhere: {namespace: "nowhere", stage: "apps", objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "nowhere"}}
actions: early: {at: "before", stage: "apps", job: {metadata: namespace: "nowhere", spec: template: spec: {restartPolicy: "Never", containers: [{name: "x", image: "x"}]}}}
`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "action early: its Job is in the namespace nowhere, which comes later, with release nowhere of stage apps")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("applies that are refused write %q", w)
	}
	p.edit("environments/later.cue", `"before"`, `"after"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "actions: 2 done")
}

// Manual actions need a flag; otherwise nothing is written. A saved plan lists its
// actions.
func TestActionManual(t *testing.T) {
	p := newWeb(t)
	p.write("environments/dashboards.cue", "package fleet\n\nactions: dashboards: {at: \"before\", stage: \"apps\", manual: \"the dashboards of \\(cluster.name) are green\"}\n")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "action dashboards: a user must approve it: the dashboards of one are green", "hint: run fleetc on a terminal, or pass --approve dashboards")
	p.fleetc("apply", "--yes", "--approve", "dashboard").exits(p, 2).says(p, `unknown manual action "dashboard"`, "hint: did you mean dashboards")
	p.fleetc("apply", "--plan", "plan.json").ok(p).says(p, "^dev/one: runs action dashboards before stage apps: the dashboards of one are green$")
	if w, _ := p.writes("one", 0); len(w) > 0 {
		t.Errorf("applies that are refused write %q", w)
	}

	// An action that is not in the plan, or has changed since, does not run.
	p.edit("environments/dashboards.cue", "green", "red")
	p.fleetc("apply", "--yes", "--approve", "dashboards", "--from-plan", "plan.json").exits(p, 2).says(p, "action dashboards: it was changed since the plan was made")
	p.edit("environments/dashboards.cue", "red", "green")
	p.write("environments/smuggled.cue", "package fleet\n\nactions: smuggled: {at: \"after\", stage: \"apps\", exec: [\"touch\", \"smuggled\"]}\n")
	p.fleetc("apply", "--yes", "--approve", "dashboards", "--allow-exec", "--from-plan", "plan.json").exits(p, 2).says(p, "action smuggled: it is not in the plan")
	if w, _ := p.writes("one", 0); len(w) > 0 {
		t.Errorf("applies that are refused write %q", w)
	}
	if err := os.Remove(filepath.Join(p.dir, "environments/smuggled.cue")); err != nil {
		t.Fatal(err)
	}
	d := p.fleetc("apply", "--yes", "--approve", "dashboards", "--from-plan", "plan.json", "-o", "json").ok(p)
	var report struct {
		Clusters []struct{ Actions []map[string]string }
	}
	if err := json.Unmarshal([]byte(d.stdout), &report); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": "dashboards", "stage": "apps", "at": "before", "does": "the dashboards of one are green", "outcome": "done"}
	if len(report.Clusters) != 1 || len(report.Clusters[0].Actions) != 1 || fmt.Sprint(report.Clusters[0].Actions[0]) != fmt.Sprint(want) {
		t.Errorf("the report has %v", report)
	}
}

// Two clusters ask on a terminal one after the other; each gets its own answer.
func TestActionPrompt(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.write("environments/ask.cue", `package fleet

actions: ask: {at: "before", stage: "default", manual: "really?"}
releases: a: {namespace: "default", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "asked"}}
`)
	terminal, other := p.terminal()
	cmd := p.command("apply", "--yes")
	cmd.Stdin = other
	var stderr promptWriter
	stderr.to, stderr.answers = terminal, map[string]string{"dev/one: approve? [y/N] ": "yes\n", "dev/two: approve? [y/N] ": "no\n"}
	cmd.Stderr = &stderr
	_ = cmd.Run()
	stderr.mu.Lock()
	defer stderr.mu.Unlock()
	text := stderr.text.String()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(text, "action ask: it was not approved") || !strings.Contains(text, "dev/one: action ask: really?\n") {
		t.Errorf("exit status %d:\n%s", cmd.ProcessState.ExitCode(), text)
	}
	for id, want := range map[string]string{"one": "configmap/asked", "two": ""} {
		if got := p.kubectl(id, "get", "configmap", "asked", "--ignore-not-found", "-o", "name"); got != want {
			t.Errorf("%s has %q", id, got)
		}
	}
}

// promptWriter receives the output of a program, and answers its questions.
type promptWriter struct {
	mu      sync.Mutex
	text    bytes.Buffer
	to      io.Writer
	answers map[string]string
}

// Write implements io.Writer.
func (a *promptWriter) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.Write(b)
	for question, answer := range a.answers {
		if strings.HasSuffix(a.text.String(), question) {
			delete(a.answers, question)
			if _, err := io.WriteString(a.to, answer); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// terminal returns both ends of a terminal: that of the user and that of the
// program.
func (p *place) terminal() (person, program *os.File) {
	p.Helper()
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			p.Fatal(err)
		}
		p.Cleanup(func() { f.Close() })
		return f
	}
	person = open("/dev/ptmx")
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		p.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		p.Fatal(err)
	}
	return person, open(fmt.Sprintf("/dev/pts/%d", n))
}

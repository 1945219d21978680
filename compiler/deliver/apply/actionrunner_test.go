package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A balancer is a load balancer with an API: it sends a share of the traffic to a
// cluster, and reaches a new weight after some requests.
type balancer struct {
	*httptest.Server
	mu     sync.Mutex
	weight string
	target string
	delay  int // requests until the target is reached
	log    []string
	onGet  func(times int) // called with the number of GET requests
	gets   int
}

func newBalancer(t *testing.T) *balancer {
	b := &balancer{weight: "100"}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		b.log = append(b.log, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"), body))
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, "/weight", http.StatusTemporaryRedirect)
		case r.URL.Path == "/hangs":
			b.mu.Unlock()
			<-r.Context().Done()
			b.mu.Lock()
		case r.Header.Get("Authorization") != "Bearer s3cret":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "not with\n %q", r.Header.Get("Authorization"))
		case r.Method == http.MethodPut:
			b.target = string(body)
		default:
			if b.gets++; b.onGet != nil {
				b.onGet(b.gets)
			}
			if b.target != "" {
				if b.delay--; b.delay <= 0 {
					b.weight = b.target
				}
			}
			fmt.Fprintf(w, "weight=%s;", b.weight)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

// locked calls f while no request is handled; canceled requests may still be.
func (b *balancer) locked(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// requests returns the requests so far.
func (b *balancer) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.log)
}

// setWeight returns an action that sets the weight, with an undo.
func (b *balancer) setWeight(name, to, back string) fleet.Action {
	request := func(method, body, contains string) fleet.Task {
		return fleet.Task{HTTP: &fleet.HTTPRequest{
			URL: b.URL + "/weight?token=hidden", Method: method, Body: body, Contains: contains,
			SecretHeaders: map[string]string{"Authorization": "LB_TOKEN"},
		}}
	}
	return fleet.Action{
		Name: name, Pos: diag.Pos{File: "f.cue", Line: 1},
		Task: request("PUT", to, ""), Verify: request("GET", "", "weight="+to+";"), Undo: request("PUT", back, ""),
	}
}

func actionRunner() *ActionRunner {
	return &ActionRunner{OnStart: func(*fleet.Action) {}, Cluster: &fleet.Cluster{ID: "prod/eu", KubeContext: "prod-eu"}, Bundle: "sha256:0", ActionOptions: ActionOptions{Getenv: func(name string) string {
		return map[string]string{"LB_TOKEN": "Bearer s3cret", "WRONG": "Bearer wr0ng", "PATH": os.Getenv("PATH"), "HOME": "/home/x", "OTHER": "x"}[name]
	}}}
}

// corrected is the hint for failed actions.
const corrected = "    hint: correct the cause, then run the command again\n"

func text(t *testing.T, err error, replace ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := diag.WriteText(&b, err, nil); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(replace...).Replace(b.String())
}

// TestDrainAndRestore takes a cluster out of a load balancer, and puts it back.
func TestDrainAndRestore(t *testing.T) {
	b := newBalancer(t)
	b.locked(func() { b.delay = 2 })
	r := actionRunner()
	drain, half := b.setWeight("drain", "0", "100"), b.setWeight("half", "50", "0")
	for _, step := range []struct {
		action fleet.Action
		want   ActionOutcome
	}{{drain, ActionDone}, {drain, ActionSkipped}, {half, ActionDone}} {
		if got, err := r.Run(t.Context(), &step.action); err != nil || got != step.want {
			t.Fatalf("%s: %s, %v", step.action.Name, got, err)
		}
	}
	b.locked(func() { b.log = nil })
	if err := r.Undo(t.Context(), &drain); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(b.requests(), "\n"), "PUT /weight Bearer s3cret 100"; got != want {
		t.Errorf("undone by\n%s\nwant\n%s", got, want)
	}
}

func TestRequestFaults(t *testing.T) {
	b := newBalancer(t)
	r := actionRunner()
	get := func(path string, change func(*fleet.HTTPRequest)) fleet.Action {
		q := &fleet.HTTPRequest{URL: b.URL + path, Method: "GET", SecretHeaders: map[string]string{"Authorization": "LB_TOKEN"}}
		change(q)
		return fleet.Action{Name: "x", Pos: diag.Pos{File: "f.cue", Line: 1}, Task: fleet.Task{HTTP: q}}
	}
	same := func(*fleet.HTTPRequest) {}
	for _, test := range []struct {
		name   string
		action fleet.Action
		want   string
	}{
		{"forbidden, and the secret comes back", get("/weight", func(q *fleet.HTTPRequest) { q.SecretHeaders["Authorization"] = "WRONG" }), "f.cue:1: action x: GET URL/weight returned 403 Forbidden [FL2110]\n" + corrected},
		{"forbidden, without a secret", get("/weight", func(q *fleet.HTTPRequest) { q.SecretHeaders = nil }), "f.cue:1: action x: GET URL/weight returned 403 Forbidden: not with \"\" [FL2110]\n" + corrected},
		{"forbidden, as is expected", get("/weight", func(q *fleet.HTTPRequest) { q.SecretHeaders, q.Status = nil, []int{401, 403} }), ""},
		{"another status", get("/weight", func(q *fleet.HTTPRequest) { q.Status = []int{201} }), "f.cue:1: action x: GET URL/weight returned 200 OK [FL2110]\n" + corrected},
		{"another text", get("/weight", func(q *fleet.HTTPRequest) { q.Contains = "weight=1;" }), "f.cue:1: action x: GET URL/weight returned a response without \"weight=1;\" [FL2110]\n" + corrected},
		{"elsewhere", get("/away?token=abc", same), "f.cue:1: action x: GET URL/away returned 307 Temporary Redirect [FL2110]\n" + corrected},
		{"no URL", get("/%zz?token=abc", same), "f.cue:1: action x: invalid URL [FL2110]\n" + corrected},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := r.Run(t.Context(), &test.action)
			if got := text(t, err, b.URL, "URL"); got != test.want {
				t.Errorf("got  %swant %s", got, test.want)
			}
		})
	}
	slow := get("/hangs", same)
	slow.Timeout = 50 * time.Millisecond
	if _, err := r.Run(t.Context(), &slow); !strings.Contains(text(t, err), "it timed out after 50ms") {
		t.Error(err)
	}
	b.Close()
	never := b.setWeight("x", "0", "100")
	if err := r.Undo(t.Context(), &never); !strings.Contains(text(t, err), "action x: PUT") {
		t.Error(err)
	}
}

// An action that is not verified within its timeout has failed.
func TestVerify(t *testing.T) {
	b := newBalancer(t)
	b.locked(func() { b.delay = 1 << 30 })
	drain := b.setWeight("drain", "0", "100")
	drain.Timeout = 3 * time.Second
	outcome, err := actionRunner().Run(t.Context(), &drain)
	if got, want := text(t, err, b.URL, "URL"), "f.cue:1: action drain: it timed out after 3s: it ran, but its verify task did not succeed: GET URL/weight returned a response without \"weight=0;\" [FL2110]\n    hint: correct the cause or raise the timeout of the action, then run the command again\n"; outcome != ActionFailed || got != want {
		t.Errorf("%s: %q", outcome, got)
	}
	if got := strings.Join(b.requests()[:3], "\n"); got != "GET /weight Bearer s3cret \nPUT /weight Bearer s3cret 0\nGET /weight Bearer s3cret " {
		t.Error(got)
	}
	// An interruption during verification is a failure.
	ctx, cancel := context.WithCancelCause(t.Context())
	b.locked(func() {
		b.gets, b.onGet = 0, func(times int) {
			if times == 3 { // one before the task, two after it
				cancel(errStopped)
			}
		}
	})
	drain.Timeout = 0
	if outcome, err := actionRunner().Run(ctx, &drain); outcome != ActionFailed || !errors.Is(err, errStopped) {
		t.Error(outcome, err)
	}
	// The action does not start when its first verification times out.
	hangs := fleet.Action{Name: "x", Timeout: 50 * time.Millisecond, Task: drain.Task, Verify: fleet.Task{HTTP: &fleet.HTTPRequest{Method: "GET", URL: b.URL + "/hangs"}}}
	b.locked(func() { b.log = nil })
	if outcome, err := actionRunner().Run(t.Context(), &hangs); outcome != ActionRefused || !strings.Contains(text(t, err), "its verify task did not finish") || len(b.requests()) > 1 {
		t.Error(outcome, err, b.requests())
	}
}

var errStopped = errors.New("somebody stopped it")

func TestExec(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("switch", "echo moved >>log\necho to \"$1\" with $LB_TOKEN >&2\nexit $2\n")
	r := actionRunner()
	r.Dir, r.AllowExec = dir, true
	r.Hide = strings.NewReplacer("Bearer s3cret", "(hidden)").Replace
	run := func(a fleet.Action) string {
		outcome, err := r.Run(t.Context(), &a)
		return string(outcome) + strings.TrimRight(text(t, err, ": action", " action", corrected, ""), "\n")
	}
	good := fleet.Action{Name: "x", Task: fleet.Task{Exec: []string{"./switch", "a b", "0"}}, Verify: fleet.Task{Exec: []string{"test", "-e", "log"}}}
	if got := run(good); got != "done" {
		t.Error(got)
	}
	if got := run(good); got != "skipped" {
		t.Error(got)
	}
	bad := fleet.Action{Name: "x", Task: fleet.Task{Exec: []string{"./switch", "\x1b[0m", "3"}}, Environment: []string{"LB_TOKEN"}}
	if got := run(bad); got != "failed action x: ./switch \uFFFD[0m 3: exit status 3: to \uFFFD[0m with (hidden) [FL2110]" {
		t.Error(got)
	}
	bad.Task.Exec = []string{"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1"}
	if got := run(bad); !strings.HasSuffix(got, "x the end [FL2110]") || len(got) > 2*diag.MaxText {
		t.Error(got)
	}
	write("env", "env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^PATH= -e ^OLDPWD= | sort >env.txt\n")
	if got := run(fleet.Action{Name: "x", Release: "web", Stage: "apps", Task: fleet.Task{Exec: []string{"./env"}}, Environment: []string{"OTHER"}}); got != "done" {
		t.Error(got)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env.txt"))
	if want := "FLEETC_ACTION=web/x\nFLEETC_BUNDLE=sha256:0\nFLEETC_CLUSTER=prod/eu\nFLEETC_CONTEXT=prod-eu\nFLEETC_RELEASE=web\nFLEETC_STAGE=apps\nHOME=/home/x\nOTHER=x\n"; err != nil || string(env) != want {
		t.Errorf("%v: the environment is\n%s", err, env)
	}
	if got := run(fleet.Action{Name: "x", Task: fleet.Task{Exec: []string{"no-such-command-here"}}}); !strings.Contains(got, "executable file not found") {
		t.Error(got)
	}
	r.AllowExec = false
	if got := run(good); got != "failed action x: commands are not allowed [FL2110]" {
		t.Error(got)
	}
}

// A timeout ends a command with all processes that it started, and so does the end
// of a command that leaves processes running.
func TestExecKillsProcesses(t *testing.T) {
	r := actionRunner()
	r.Dir, r.AllowExec = t.TempDir(), true
	for name, test := range map[string]struct{ script, want string }{
		"out of time": {"sleep 100 & echo $! >pid; wait", "it timed out after 1s"},
		"left behind": {"sleep 100 & echo $! >pid", "it has ended, but processes that it started are still running"},
	} {
		t.Run(name, func(t *testing.T) {
			a := fleet.Action{Name: "x", Timeout: time.Second, Task: fleet.Task{Exec: []string{"sh", "-c", test.script}}}
			if name == "left behind" {
				a.Timeout = time.Minute
			}
			if _, err := r.Run(t.Context(), &a); !strings.Contains(text(t, err), test.want) {
				t.Error(err)
			}
			data, err := os.ReadFile(filepath.Join(r.Dir, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); isRunning(pid); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("what the command started goes on")
				}
			}
		})
	}
}

// isRunning reports whether a process exists and has not ended.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestManual(t *testing.T) {
	a := fleet.Action{Name: "ask", Task: fleet.Task{Manual: "the dashboards are green"}}
	answer := func(ok bool, err error) func(context.Context, string, *fleet.Action) (bool, error) {
		return func(_ context.Context, cluster string, got *fleet.Action) (bool, error) {
			if got.Name != a.Name || cluster != "prod/eu" {
				t.Errorf("asked for %s of %s", got.Name, cluster)
			}
			return ok, err
		}
	}
	for _, test := range []struct {
		options ActionOptions
		want    string
	}{
		{ActionOptions{}, "refused action ask: no user can approve it [FL3006]\n    hint: run fleetc on a terminal, or pass --approve ask\n"},
		{ActionOptions{Approved: []string{"other", "ask"}}, "done"},
		{ActionOptions{Ask: answer(true, nil)}, "done"},
		{ActionOptions{Ask: answer(false, nil)}, "refused action ask: it was not approved [FL3006]\n    hint: run the command again to approve it\n"},
		{ActionOptions{Ask: answer(false, &diag.Diag{Msg: "there was no answer", Hint: "answer"})}, "refused action ask: there was no answer [FL2110]\n    hint: answer\n"},
		{ActionOptions{Ask: answer(false, io.EOF)}, "refused action ask: EOF [FL2110]\n" + corrected},
	} {
		r := actionRunner()
		r.ActionOptions = test.options
		outcome, err := r.Run(t.Context(), &a)
		if got := string(outcome) + text(t, err, ": action", " action"); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestJob(t *testing.T) {
	var ran []bool
	r := ActionRunner{OnStart: func(*fleet.Action) {}, Job: func(_ context.Context, a *fleet.Action, undo bool, timeout time.Duration) error {
		if timeout != time.Hour {
			t.Errorf("%s has %s", a.Name, timeout)
		}
		if ran = append(ran, undo); len(ran) > 1 {
			return &diag.Diag{Path: "Job.batch n/x", Msg: "it failed\n    an event", Hint: "look"}
		}
		return nil
	}}
	a := fleet.Action{Name: "j", Timeout: time.Hour, Task: fleet.Task{Job: map[string]any{"kind": "Job"}}, Undo: fleet.Task{Job: map[string]any{"kind": "Job"}}}
	if outcome, err := r.Run(t.Context(), &a); outcome != ActionDone || err != nil {
		t.Error(outcome, err)
	}
	if _, err := r.Run(t.Context(), &a); text(t, err, ": action", "action") != "action j: Job.batch n/x: it failed [FL2110]\n        an event\n    hint: look\n" {
		t.Errorf("%q", text(t, err))
	}
	if err := r.Undo(t.Context(), &a); text(t, err, ": action", "action") != "action j: Job.batch n/x: it failed [FL2110]\n        an event\n    hint: look\n" {
		t.Errorf("%q", text(t, err))
	}
	if !slices.Equal(ran, []bool{false, false, true}) {
		t.Error(ran)
	}
}

func TestCheck(t *testing.T) {
	at := diag.Pos{File: "f.cue", Line: 2}
	all := []fleet.Action{
		{Name: "run", Pos: at, Task: fleet.Task{Exec: []string{"x"}}, Undo: fleet.Task{Exec: []string{"y"}}, Environment: []string{"NOT_SET"}},
		{Name: "undo", Pos: at, Task: fleet.Task{Job: map[string]any{}}, Undo: fleet.Task{Exec: []string{"y"}}},
		{Name: "call", Release: "web", Pos: at, Task: fleet.Task{HTTP: &fleet.HTTPRequest{SecretHeaders: map[string]string{"A": "NOT_SET", "B": "LB_TOKEN"}}}},
		{Name: "ask", Release: "web", Pos: at, Task: fleet.Task{Manual: "really\n?"}},
	}
	check := func(o ActionOptions) error {
		var faults diag.List
		for _, a := range all {
			faults.Add(o.Check(&a))
		}
		return faults.Err()
	}
	want := "f.cue:2: action run: it runs a command, which is not allowed [FL3006]\n    hint: review the command, then pass --allow-exec\n" +
		"f.cue:2: action run: the environment variable NOT_SET is not set [FL3003]\n    hint: set it\n" +
		"f.cue:2: action undo: it runs a command, which is not allowed [FL3006]\n    hint: review the command, then pass --allow-exec\n" +
		"f.cue:2: action web/ask: a user must approve it: really ? [FL3006]\n    hint: run fleetc on a terminal, or pass --approve web/ask\n" +
		"f.cue:2: action web/call: the environment variable NOT_SET is not set [FL3003]\n    hint: set it\n"
	if got := text(t, check(actionRunner().ActionOptions)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	o := ActionOptions{AllowExec: true, Approved: []string{"web/ask"}, Getenv: func(string) string { return "a bc" }}
	if err := check(o); err != nil {
		t.Error(err)
	}
	if got := o.Secrets(&all[0]); !slices.Equal(got, []string{"a bc", "a", "bc"}) {
		t.Errorf("secrets: %q", got)
	}
}

func TestDescribe(t *testing.T) {
	for want, s := range map[string]fleet.Task{
		"PUT https://lb.example.com/a": {HTTP: &fleet.HTTPRequest{Method: "PUT", URL: "https://lb.example.com/a?token=hidden#x"}},
		"./x a":                        {Exec: []string{"./x", "a"}},
		"a Job":                        {Job: map[string]any{}},
		"really?":                      {Manual: "really?"},
	} {
		if got := DescribeTask(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shared has the clusters blue and green of the built version, and old of an older
// version. Tests use their own namespaces.
var shared *Fleet

const oldVersion = "1.34"

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		orphan()
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	f, err := Start(context.Background(), os.Stderr, Spec{Name: "blue"}, Spec{Name: "green"}, Spec{Name: "old", Version: oldVersion})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = f
	code := m.Run()
	broken := f.Err()
	err = errors.Join(broken, f.Stop(code != 0 || broken != nil))
	if left := processes(f.Dir); left != nil {
		err = errors.Join(err, fmt.Errorf("processes are left: %q", left))
	}
	if code == 0 && exists(f.Dir) {
		err = errors.Join(err, fmt.Errorf("%s is left", f.Dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the logs of the clusters are in", f.Dir)
	}
	return code
}

// processes returns the command lines that name the directory, as those of all
// processes of a fleet do.
func processes(dir string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), dir+"/") {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// kubectl runs kubectl against a cluster of the shared fleet.
func kubectl(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := shared.Kubectl(t.Context(), append([]string{"--context", c.Context}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// waitFor waits for a condition with kubectl wait.
func waitFor(t *testing.T, c *Cluster, namespace, condition, what string) {
	t.Helper()
	kubectl(t, c, "-n", namespace, "wait", "--timeout=2m", "--for="+condition, what)
}

// On every cluster, old and new, objects behave as in a real one, and only pods
// with the annotations fail.
func TestWorkloads(t *testing.T) {
	for _, c := range shared.Clusters() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			const ns = "workloads"
			kubectl(t, c, "create", "namespace", ns)
			kubectl(t, c, "-n", ns, "apply", "--server-side", "-f", "testdata/workloads.yaml")
			waitFor(t, c, ns, "condition=Available", "deployment/web")
			waitFor(t, c, ns, "condition=Complete", "job/migrate")
			waitFor(t, c, ns, "condition=Failed", "job/broken")
			waitFor(t, c, ns, "jsonpath={.status.readyReplicas}=2", "statefulset/store")
			waitFor(t, c, ns, "jsonpath={.status.phase}=Bound", "pvc/data-store-0")
			waitFor(t, c, ns, "jsonpath={.status.numberReady}=2", "daemonset/agent")
			waitFor(t, c, ns, "jsonpath={.status.phase}=Succeeded", "pod/hook")
			waitFor(t, c, ns, "jsonpath={.status.loadBalancer.ingress[0].ip}=192.0.2.1", "service/front")
			waitFor(t, c, ns, `jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=ProgressDeadlineExceeded`, "deployment/stuck")
			reason := kubectl(t, c, "-n", ns, "get", "pods", "-l", "app=stuck", "-o", "jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}")
			if reason != "ImagePullBackOff" {
				t.Errorf("the stuck pod waits for %q", reason)
			}
			// It is stuck as long as it has the annotation.
			kubectl(t, c, "-n", ns, "annotate", "pods", "-l", "app=stuck", "fleetc.test/stuck-")
			waitFor(t, c, ns, "condition=Available", "deployment/stuck")
		})
	}
}

// The older cluster has the APIs of its version.
func TestVersions(t *testing.T) {
	for name, want := range map[string]bool{"blue": true, "green": true, "old": false} {
		c := shared.Cluster(name)
		out := kubectl(t, c, "api-versions")
		if got := strings.Contains(out, "storagemigration.k8s.io/v1\n"); got != want {
			t.Errorf("%s has storagemigration.k8s.io/v1: %t, not %t", name, got, want)
		}
		out = kubectl(t, c, "get", "--raw", "/version")
		if got := strings.Contains(out, `"emulationMinor": "34"`); got == want {
			t.Errorf("%s is of version %s", name, out)
		}
	}
}

// A killed cluster refuses connections, does not affect others, and keeps its data.
func TestKill(t *testing.T) {
	c, other := shared.Cluster("blue"), shared.Cluster("green")
	kubectl(t, c, "create", "namespace", "before-kill")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if out, err := shared.Kubectl(t.Context(), "--context", c.Context, "get", "nodes"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a killed cluster answers %q, %v", out, err)
	}
	kubectl(t, other, "get", "nodes")
	rollOut(t, c, "after-kill")
	kubectl(t, c, "get", "namespace", "before-kill")
}

// A paused cluster does not answer, and continues after Resume.
func TestPause(t *testing.T) {
	c, other := shared.Cluster("old"), shared.Cluster("green")
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if out, err := shared.Kubectl(t.Context(), "--context", c.Context, "--request-timeout=1s", "get", "nodes"); err == nil || strings.Contains(err.Error(), "refused") {
		t.Errorf("a paused cluster answers %q, %v", out, err)
	}
	kubectl(t, other, "get", "nodes")
	rollOut(t, c, "after-pause")
}

// rollOut resumes the cluster and rolls out a Deployment.
func rollOut(t *testing.T, c *Cluster, namespace string) {
	t.Helper()
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "create", "namespace", namespace)
	kubectl(t, c, "-n", namespace, "create", "deployment", "web", "--image=web")
	waitFor(t, c, namespace, "condition=Available", "deployment/web")
}

// A user has the rights that RBAC grants.
func TestUser(t *testing.T) {
	c := shared.Cluster("green")
	file, err := c.User("jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	get := func() error {
		_, err := shared.Kubectl(t.Context(), "--kubeconfig", file, "get", "nodes")
		return err
	}
	if err := get(); err == nil || !strings.Contains(err.Error(), `User "jane" cannot list resource "nodes"`) {
		t.Errorf("jane may not list nodes, and got %v", err)
	}
	kubectl(t, c, "create", "clusterrole", "reader", "--verb=get,list", "--resource=nodes")
	kubectl(t, c, "create", "clusterrolebinding", "readers", "--clusterrole=reader", "--group=readers")
	deadline := time.Now().Add(time.Minute) // the server sees new roles after a delay
	for err = get(); err != nil && time.Now().Before(deadline); err = get() {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Error(err)
	}
}

// Requests returns writes, and marks dry runs.
func TestRequests(t *testing.T) {
	c := shared.Cluster("green")
	writes := func() (found []string) {
		all, err := c.Requests()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if r.Writes() && strings.Contains(r.URI, "/counted/") {
				path, _, _ := strings.Cut(r.URI, "?")
				found = append(found, fmt.Sprint(r.Verb, " ", path, " ", r.Status, " ", r.User))
			}
		}
		return found
	}
	kubectl(t, c, "create", "namespace", "counted")
	kubectl(t, c, "-n", "counted", "create", "configmap", "a", "--dry-run=server")
	kubectl(t, c, "-n", "counted", "get", "configmap")
	if got := writes(); got != nil {
		t.Errorf("nothing was written, and there are %q", got)
	}
	kubectl(t, c, "-n", "counted", "create", "configmap", "a")
	kubectl(t, c, "-n", "counted", "delete", "configmap", "a")
	want := "create /api/v1/namespaces/counted/configmaps 201 admin, delete /api/v1/namespaces/counted/configmaps/a 200 admin"
	if got := strings.Join(writes(), ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An invalid spec is rejected before anything starts.
func TestAddRefuses(t *testing.T) {
	for _, test := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "blue"}, "two clusters are blue"},
		{Spec{Name: "other", Context: "green"}, "two clusters are other (context green)"},
		{Spec{Name: "../up"}, "not a valid name of a cluster"},
		{Spec{Name: "a b"}, "not a valid name of a cluster"},
		{Spec{}, "not a valid name of a cluster"},
		{Spec{Name: "ancient", Version: "1.33"}, `behaves as 1.34 to 1.37, not as "1.33"`},
		{Spec{Name: "new", Version: "1.38"}, `not as "1.38"`},
		{Spec{Name: "odd", Version: "37"}, `not as "37"`},
	} {
		if err := shared.Add(t.Context(), test.spec); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, not %s", test.spec, err, test.want)
		}
	}
	if n := len(shared.Clusters()); n != 3 {
		t.Errorf("%d clusters", n)
	}
}

// A taken port is recognized by the server's message.
func TestPortTaken(t *testing.T) {
	c := shared.Cluster("green")
	p, err := shared.startProgram("second", filepath.Join(t.TempDir(), "log"), "kube-apiserver", c.serverFlags())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Errorf("two servers have one port")
	}
	if !p.portTaken() {
		t.Errorf("not the port: %s", p.tail())
	}
	if err := errors.Join(p.kill()); err != nil {
		t.Error(err)
	}
}

// A part that ends unexpectedly is named, with its log.
func TestPartEnds(t *testing.T) {
	f, err := Start(t.Context(), os.Stderr, Spec{Name: "prod/eu", Context: "eu", Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Cluster("prod/eu")
	p := c.parts["kube-scheduler"]
	if err := syscall.Kill(p.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	for _, err := range []error{f.Err(), c.Err(), c.Kill(), c.Pause(), c.Resume(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "kube-scheduler of prod/eu ended: signal: killed\n") {
			t.Errorf("got %v", err)
		}
	}
	if err := f.Stop(true); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(f.Dir)
	if !exists(filepath.Join(c.Dir, "kube-scheduler.log")) || exists(c.Kubeconfig) || exists(filepath.Join(c.Dir, "ca.crt")) {
		t.Errorf("of %s not the logs alone are kept", f.Dir)
	}
	if left := processes(f.Dir); left != nil {
		t.Errorf("processes are left: %q", left)
	}
}

// A crashed simulator is started again and reported; one that crashes repeatedly is an
// error, and one that was killed with its cluster stays dead.
func TestSimulatorCrashes(t *testing.T) {
	var log strings.Builder
	f, err := Start(t.Context(), &log, Spec{Name: "eu", Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Cluster("eu")
	current := func() *process {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.parts[simulator]
	}
	for round := range maxRestarts + 1 {
		p := current()
		if err := c.CrashSimulator(); err != nil {
			t.Fatal(err)
		}
		if round == maxRestarts {
			break
		}
		if err := Poll(t.Context(), "kwok runs again", c.Err, func(context.Context) error {
			if current() == p {
				return errors.New("not yet")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "kwok of eu ended: signal: killed\n") {
		t.Errorf("got %v", err)
	}
	if got := strings.Count(log.String(), "kwok of eu ended (signal: killed) and is started again\n"); got != maxRestarts {
		t.Errorf("%d restarts are reported: %s", got, log.String())
	}
	c.mu.Lock()
	c.restarts = 0
	c.mu.Unlock()
	if err := f.Stop(false); err != nil {
		t.Fatal(err)
	}
	if left := processes(f.Dir); left != nil {
		t.Errorf("processes are left: %q", left)
	}
}

const orphanEnv = "FLEETC_CLUSTERS_ORPHAN"

// orphan is run in another process, which starts a cluster and is then killed.
func orphan() {
	f, err := Start(context.Background(), os.Stderr, Spec{Name: "orphan"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(f.Dir)
	select {}
}

// No process outlives a killed parent, and the next fleet removes its files.
func TestKilled(t *testing.T) {
	tmp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), orphanEnv+"=1", "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	_, scanned := fmt.Fscanln(out, &dir)
	running := processes(dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if scanned != nil || len(running) != 5 {
		t.Fatalf("%v, running: %q", scanned, running)
	}
	deadline := time.Now().Add(time.Minute)
	for processes(dir) != nil && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if left := processes(dir); left != nil {
		t.Errorf("processes are left: %q", left)
	}
	if !exists(dir) {
		t.Fatalf("%s is gone already", dir)
	}
	if err := sweep(tmp); err != nil || exists(dir) {
		t.Errorf("%s is not swept: %v", dir, err)
	}
	if err := sweep(filepath.Dir(shared.Dir)); err != nil || !exists(shared.Dir) {
		t.Errorf("a running fleet is swept, %v", err)
	}
}

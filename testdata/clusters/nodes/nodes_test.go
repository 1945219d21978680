// Package nodes tests the real nodes of clusters.
package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

const orphanEnv = "FLEETC_CLUSTERS_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		orphan()
	}
	os.Exit(m.Run())
}

// web is a Deployment on a real node, with a volume and an init container, and a
// DaemonSet on all others.
const web = `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: page}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {fleetc.test/node: real}
      tolerations: [{key: fleetc.test/node, operator: Exists}]
      terminationGracePeriodSeconds: 1
      volumes: [{name: page, persistentVolumeClaim: {claimName: page}}]
      initContainers:
      - {name: page, image: 'fleetc.test/busybox:1', command: [sh, -c, 'echo hello >/page/index.html; echo written'], volumeMounts: [{name: page, mountPath: /page}]}
      containers:
      - name: web
        image: fleetc.test/busybox:1
        command: [httpd, -f, -p, "8080", -h, /page]
        volumeMounts: [{name: page, mountPath: /page}]
        readinessProbe: {httpGet: {path: /index.html, port: 8080}, periodSeconds: 1}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: played}
spec:
  selector: {matchLabels: {app: played}}
  template: {metadata: {labels: {app: played}}, spec: {containers: [{name: app, image: example.com/app}]}}
`

// A real node runs containers next to simulated nodes: they pass their probes, have logs, and
// accept connections from the machine and its API server, which they reach, too. They restart after a crash of the cluster, and the
// cluster leaves nothing behind.
func TestNode(t *testing.T) {
	f, err := clusters.Start(t.Context(), os.Stderr, clusters.Spec{Name: "eu", Nodes: 1, RealNodes: 1, SimulateOperators: true})
	if err != nil {
		t.Fatal(err)
	}
	var traces []trace
	defer func() {
		if err := f.Stop(t.Failed()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("the logs are in", f.Dir)
		}
		awaitGone(t, "after the end", traces)
	}()
	kubectl := func(input string, args ...string) string {
		t.Helper()
		out, err := f.KubectlInput(t.Context(), input, append([]string{"--context", "eu"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	check := func() {
		t.Helper()
		kubectl("", "wait", "--timeout=2m", "--for=condition=Available", "deployment/web")
		if got := kubectl("", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}"); got != "real-1" {
			t.Errorf("the pods are on %q", got)
		}
		if got := get(t, "http://"+kubectl("", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}")+":8080"); got != "hello\n" {
			t.Errorf("the pod answers %q", got)
		}
		if got := kubectl("", "exec", "deployment/web", "--", "sh", "-c", askServer); !strings.Contains(got, "HTTP/1.0 400 Bad Request") {
			t.Errorf("the API server answers %q", got)
		}
		if got := kubectl("", "get", "--raw", "/api/v1/namespaces/default/services/web:8080/proxy/"); got != "hello\n" {
			t.Errorf("the Service answers %q", got)
		}
	}
	find := func() {
		t.Helper()
		traces = tracesOf(f.Dir, kubectl("", "get", "node", "real-1", "-o", address))
	}
	kubectl(web, "apply", "--server-side", "-f", "-")
	check()
	if got := kubectl("", "logs", "deployment/web", "-c", "page"); got != "written\n" {
		t.Errorf("the log is %q", got)
	}
	if got := kubectl("", "exec", "deployment/web", "--", "cat", "/page/index.html"); got != "hello\n" {
		t.Errorf("the page is %q", got)
	}
	kubectl("", "wait", "--timeout=2m", "--for=jsonpath={.status.numberReady}=1", "daemonset/played")

	find()
	kept := slices.DeleteFunc(slices.Clone(traces), func(t trace) bool { return isEtcd(t.path) })
	c := f.Cluster("eu")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "after Kill", kept)
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubectl("", "delete", "pods", "-l", "app=web")
	check()
	find()
}

// askServer connects to the API server in a pod, which refuses a request without TLS. TLS
// of busybox does not know the keys of its certificate.
const askServer = "wget -O - http://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/ 2>&1 || true"

// address is the output of kubectl for the address of a node.
const address = `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`

// isEtcd reports whether a process is the etcd of the fleet, which outlives clusters.
func isEtcd(process string) bool {
	name, _ := os.ReadFile(process + "/comm")
	return string(name) == "etcd\n"
}

// get returns a page.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A trace is something that a node leaves on the machine while it runs. Other nodes may
// have the same path later.
type trace struct{ path, identity string }

// tracesOf returns the link, the cgroups and the processes of the nodes of a fleet with
// the directory; the first node has the address.
func tracesOf(dir, address string) []trace {
	number := strings.Split(strings.TrimSpace(address), ".")[2]
	paths := []string{"/sys/class/net/fleetc-" + number}
	for _, pattern := range []string{"/sys/fs/cgroup/fleetc-" + number, "/sys/fs/cgroup/*/fleetc-" + number} {
		cgroups, _ := filepath.Glob(pattern)
		paths = append(paths, cgroups...)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		command, _ := os.ReadFile(process + "/cmdline") // the process may have ended
		cgroup, _ := os.ReadFile(process + "/cgroup")
		if strings.Contains(string(command), dir+"/") || strings.Contains(string(cgroup), "/fleetc-"+number+"/") {
			paths = append(paths, process)
		}
	}
	var all []trace
	for _, path := range paths {
		if id := identity(path); id != "" {
			all = append(all, trace{path, id})
		}
	}
	return all
}

// identity returns the start time of a process, the inode of other files, and "" when
// the path does not exist.
func identity(path string) string {
	if strings.HasPrefix(path, "/proc/") {
		text, _ := os.ReadFile(path + "/stat") // empty after the end of the process
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 20 || fields[0] == "Z" {
			return ""
		}
		return fields[19]
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino)
}

// awaitGone waits until nothing is left of a node: the kernel removes links after their
// processes.
func awaitGone(t *testing.T, when string, traces []trace) {
	t.Helper()
	if len(traces) < 10 {
		t.Errorf("the node has only %v", traces)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(traces), func(t trace) bool { return identity(t.path) != t.identity })
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s there are %v", when, left)
		}
	}
}

// orphan is run in another process, which starts a cluster and is then killed.
func orphan() {
	f, err := clusters.Start(context.Background(), os.Stderr, clusters.Spec{Name: "orphan", RealNodes: 1})
	if err == nil {
		_, err = f.Kubectl(context.Background(), "--context", "orphan", "run", "web", "--image", clusters.Busybox, "--", "httpd", "-f")
	}
	if err == nil {
		_, err = f.Kubectl(context.Background(), "--context", "orphan", "wait", "--timeout=2m", "--for=condition=Ready", "pod/web")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ip, err := f.Kubectl(context.Background(), "--context", "orphan", "get", "node", "real-1", "-o", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(f.Dir, ip)
	select {}
}

// A killed process leaves only its files and empty cgroups; the next one removes both.
func TestNodeKilled(t *testing.T) {
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
	var dir, ip string
	if _, err := fmt.Fscanln(out, &dir, &ip); err != nil {
		t.Fatal(errors.Join(err, cmd.Process.Kill(), cmd.Wait()))
	}
	traces := tracesOf(dir, ip)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	t.Setenv("TMPDIR", tmp)
	f, err := clusters.Start(t.Context(), os.Stderr, clusters.Spec{Name: "next", RealNodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(false); err != nil {
		t.Error(err)
	}
	awaitGone(t, "after the next run", traces)
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("there is %q", left)
	}
}

// The error for a machine that cannot run real nodes names everything that is missing.
func TestNodesUnsupported(t *testing.T) {
	f, err := clusters.Start(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop(false)
	t.Setenv("PATH", t.TempDir())
	err = f.Add(t.Context(), clusters.Spec{Name: "eu", RealNodes: 1})
	if err == nil {
		t.Fatal("it starts")
	}
	for _, want := range []string{"this machine cannot run real nodes:\n", "\n  the program containerd is not in the PATH\n", "\n  the program busybox ", "apt-get install containerd "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

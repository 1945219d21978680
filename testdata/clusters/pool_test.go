package clusters

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// poolTest is a fleet with a pool.
type poolTest struct {
	*testing.T
	fleet *Fleet
	pool  *Pool
	log   strings.Builder
}

func newPoolTest(t *testing.T) *poolTest {
	l := &poolTest{T: t, fleet: Test(t)}
	l.fleet.log = &lockedWriter{w: &l.log}
	l.pool = NewPool(l.fleet, Spec{Name: "lent", Nodes: 1}, 1)
	return l
}

func (l *poolTest) borrow() *Cluster {
	l.Helper()
	got, err := l.pool.Borrow(l.Context(), 1)
	if err != nil {
		l.Fatal(err)
	}
	return got[0]
}

func (l *poolTest) kubectl(c *Cluster, args ...string) string {
	l.Helper()
	out, err := l.fleet.Kubectl(l.Context(), append([]string{"--context", c.Context}, args...)...)
	if err != nil {
		l.Fatal(err)
	}
	return out
}

// state returns the objects of all kinds with their labels and contents, without nodes,
// leases and events, which change by themselves.
func (l *poolTest) state(c *Cluster) string {
	l.Helper()
	var kinds []string
	for kind := range strings.FieldsSeq(l.kubectl(c, "api-resources", "--verbs=list", "-o", "name")) {
		if kind != "nodes" && !strings.HasPrefix(kind, "leases.") && !strings.HasPrefix(kind, "events") && !strings.HasPrefix(kind, "componentstatuses") {
			kinds = append(kinds, kind)
		}
	}
	const template = `{range .items[*]}{.kind} {.metadata.namespace} {.metadata.name} {.metadata.uid} {.metadata.labels} {.metadata.finalizers} {.spec} {.status} {.data} {.rules} {.value}{"\n"}{end}`
	return l.kubectl(c, "get", "-A", strings.Join(kinds, ","), "-o", "jsonpath="+template)
}

// run creates objects of which each is work for another controller, and waits for them.
func (l *poolTest) run(c *Cluster) {
	l.Helper()
	l.kubectl(c, "create", "namespace", "workloads")
	l.kubectl(c, "-n", "workloads", "apply", "--server-side", "-f", "testdata/workloads.yaml")
	for _, condition := range []string{
		"condition=Available deployment/web", "condition=Complete job/migrate", "condition=Failed job/broken",
		"jsonpath={.status.readyReplicas}=2 statefulset/store", "jsonpath={.status.phase}=Bound pvc/data-store-0",
		"jsonpath={.status.numberReady}=1 daemonset/agent", "jsonpath={.status.loadBalancer.ingress[0].ip}=192.0.2.1 service/front",
	} {
		what, object, _ := strings.Cut(condition, " ")
		l.kubectl(c, "-n", "workloads", "wait", "--timeout=2m", "--for="+what, object)
	}
}

// createWidget creates a CRD and an object with a finalizer, whose size is of the type.
func (l *poolTest) createWidget(c *Cluster, kind, size, invalid string) {
	l.Helper()
	crd, err := os.ReadFile("testdata/widgets.yaml")
	if err != nil {
		l.Fatal(err)
	}
	apply := func(text string) error {
		_, err := l.fleet.KubectlInput(l.Context(), text, "--context", c.Context, "apply", "--server-side", "-f", "-")
		return err
	}
	if err := apply(strings.ReplaceAll(string(crd), "TYPE", kind)); err != nil {
		l.Fatal(err)
	}
	l.kubectl(c, "wait", "--timeout=2m", "--for=condition=Established", "crd/widgets.example.com")
	const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, finalizers: [example.com/stays]}\nsize: "
	if err := Poll(l.Context(), "widgets are served", c.Err, func(context.Context) error { return apply(widget + size) }); err != nil {
		l.Fatal(err)
	}
	if err := apply(widget + invalid); err == nil || !strings.Contains(err.Error(), ".size") {
		l.Errorf("%s can be the size of a widget, which is a %s: %v", invalid, kind, err)
	}
}

// A returned cluster is as it was before: nothing that a test created, changed or deleted
// is left, no request is counted, and all controllers work.
func TestPool(t *testing.T) {
	l := newPoolTest(t)
	c := l.borrow()
	before := l.state(c)
	l.run(c)
	l.kubectl(c, "create", "clusterrole", "reader", "--verb=get", "--resource=nodes")
	l.kubectl(c, "label", "namespace", "default", "a=b")
	l.kubectl(c, "-n", "kube-system", "patch", "serviceaccount", "default", "-p", `{"metadata": {"finalizers": ["example.com/stays"]}}`)
	l.kubectl(c, "-n", "kube-system", "create", "configmap", "stays", "--from-literal=a=b")
	l.kubectl(c, "-n", "kube-system", "patch", "configmap", "stays", "-p", `{"metadata": {"finalizers": ["example.com/stays"]}}`)
	l.kubectl(c, "delete", "storageclass", "gp3")
	l.kubectl(c, "cordon", "node-1")
	l.createWidget(c, "string", "large", "1")
	l.pool.Return(c)
	if again := l.borrow(); again != c {
		t.Fatalf("%s is lent after %s was returned: %s", again.Name, c.Name, l.log.String())
	}
	if all, err := c.Requests(); err != nil || len(all) > 0 {
		t.Errorf("after the reset, there are requests: %v, %v", all, err)
	}
	if after := l.state(c); after != before {
		t.Errorf("after the reset, the cluster has\n%s\nbefore\n%s", after, before)
	}
	l.run(c)
	l.createWidget(c, "integer", "1", "large")
}

// A cluster ends instead of being reset when something may be left in the memory of its
// programs, even if the test deleted its objects, or when programs were stopped.
func TestPoolReplaces(t *testing.T) {
	l := newPoolTest(t)
	c := l.borrow()
	l.kubectl(c, "create", "quota", "memory", "--hard=memory=1Gi", "--dry-run=server")
	if err := c.resettable(); err != nil {
		t.Error(err)
	}
	l.kubectl(c, "create", "quota", "memory", "--hard=memory=1Gi")
	l.kubectl(c, "delete", "quota", "memory")
	l.pool.Return(c)
	other := l.borrow()
	if got, want := l.log.String(), fmt.Sprintf("%s is not used again: a test sent create /api/v1/namespaces/default/resourcequotas\n", c.Name); got != want || other == c {
		t.Errorf("%s is lent after %s, and the log is %q, want %q", other.Name, c.Name, got, want)
	}
	for name, stop := range map[string]func() error{
		"pause": other.Pause, "crash": other.CrashSimulator, "kill": other.Kill,
	} {
		other.stopped = false
		if err := other.resettable(); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := other.resettable(); err == nil || !strings.Contains(err.Error(), "stopped") {
			t.Errorf("after %s, the cluster can be reset: %v", name, err)
		}
		if err := other.Resume(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.pool.Wait(); err != nil {
		t.Error(err)
	}
}

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// driftRoles returns the ServiceAccount and the roles of docs/drift.md.
func (p *place) driftRoles() string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(top, "docs/drift.md"))
	if err != nil {
		p.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "```yaml\n")
	roles, _, ok := strings.Cut(rest, "```")
	if !ok {
		p.Fatal("docs/drift.md has no roles")
	}
	return roles
}

// driftReader creates the ServiceAccount of docs/drift.md with its roles, and returns a
// kubeconfig that reads its token from a file.
func (p *place) driftReader(ids ...string) (kubeconfig string, token func(id string) string) {
	p.Helper()
	roles := p.driftRoles()
	text, err := os.ReadFile(shared.Kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	kubeconfig = filepath.Join(p.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		p.Fatal(err)
	}
	token = func(id string) string { return kubeconfig + "." + id }
	for _, id := range ids {
		p.kubectlInput(id, roles, "apply", "-f", "-")
		p.waitForRight(id, driftUser, "get", "secrets", "--namespace=fleetc-system")
		p.waitForRight(id, driftUser, "list", "deployments.apps", "--namespace=web")
		for _, args := range [][]string{
			{"config", "set", "users.drift-" + id + ".tokenFile", token(id)},
			{"config", "set-context", p.clusters[id].Context, "--user=drift-" + id},
		} {
			if _, err := shared.Kubectl(p.Context(), append([]string{"--kubeconfig", kubeconfig}, args...)...); err != nil {
				p.Fatal(err)
			}
		}
	}
	return kubeconfig, token
}

const driftUser = "system:serviceaccount:fleetc-system:fleetc-drift"

// newToken writes a token of the ServiceAccount into a file.
func (p *place) newToken(id, file string) {
	p.Helper()
	text := p.kubectl(id, "-n", "fleetc-system", "create", "token", "fleetc-drift")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// serveDrift starts drift --serve and returns its URL, and a function that ends it as
// Kubernetes does and returns its log.
func (p *place) serveDrift(args ...string) (url string, stop func() string) {
	p.Helper()
	address := freeAddress(p.T)
	log, err := os.Create(filepath.Join(p.TempDir(), "log"))
	if err != nil {
		p.Fatal(err)
	}
	cmd := p.command(append([]string{"drift", "--serve", address}, args...)...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = cmd.Process.Kill() })
	return "http://" + address, func() string {
		p.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			p.Fatal(err)
		}
		err := cmd.Wait()
		text, _ := os.ReadFile(log.Name())
		if err != nil {
			p.Errorf("it ends with %v:\n%s", err, text)
		}
		return string(text)
	}
}

// waitForMetric waits until a page of metrics has a line.
func (p *place) waitForMetric(url string, lines ...string) {
	p.Helper()
	for _, line := range lines {
		p.waitFor(line, func() bool {
			text, _ := get(url + "/metrics")
			return strings.Contains(text, line+"\n")
		})
	}
}

// The server finds drift, commits and rotated tokens, and survives a cluster that does
// not answer. The rights of the docs are enough, and it only reads.
func TestDriftServe(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.git("init", "--quiet", "--initial-branch=main")
	first := p.commit()
	p.fleetc("apply", "--yes").ok(p)
	kubeconfig, token := p.driftReader("one", "two")
	p.newToken("one", token("one"))
	if err := os.WriteFile(token("two"), []byte("expired"), 0o600); err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(t.TempDir(), "infra.git")
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--bare", p.dir, repository).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	url, stop := p.serveDrift("--interval", "1s", "--git", repository, "--branch", "main", "--kubeconfig", kubeconfig)
	p.waitFor("readiness", func() bool { text, _ := get(url + "/readyz"); return text == "ok\n" })
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/one"} 1`, `fleetc_drift_check_success{cluster="dev/two"} 0`, "fleetc_drift_load_success 1")
	text, err := get(url + "/metrics")
	if err != nil || !strings.Contains(text, `fleetc_bundle_info{cluster="dev/one",commit="`+first+`",digest="`) || strings.Contains(text, "fleetc_drift_objects") || strings.Contains(text, "hunter2") {
		t.Errorf("%v\n%s", err, text)
	}
	// A token that rotates is read again.
	p.newToken("two", token("two"))
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/two"} 1`)
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.waitForMetric(url, `fleetc_drift_objects{cluster="dev/one",reason="missing",release="web"} 1`)
	// A cluster that does not answer does not hide the others. Its counts stay.
	p.kubectl("two", "-n", "web", "delete", "secret", "web")
	p.waitForMetric(url, `fleetc_drift_objects{cluster="dev/two",reason="missing",release="web"} 1`)
	if err := p.clusters["two"].Kill(); err != nil {
		t.Fatal(err)
	}
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/two"} 0`)
	p.fleetc("apply", "--yes", "dev/one").ok(p)
	p.waitFor("the drift of one to end", func() bool {
		text, _ := get(url + "/metrics")
		return !strings.Contains(text, `fleetc_drift_objects{cluster="dev/one"`) && strings.Contains(text, `fleetc_drift_objects{cluster="dev/two",reason="missing",release="web"} 1`)
	})
	// A commit is the new fleet, and a broken one is not drift.
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.commit()
	p.git("push", "--quiet", repository, "HEAD:main")
	p.waitForMetric(url, `fleetc_drift_objects{cluster="dev/one",reason="changed",release="web"} 1`)
	p.write("environments/broken.cue", "package flet\n")
	p.commit()
	p.git("push", "--quiet", repository, "HEAD:main")
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/one"} 0`, `fleetc_drift_objects{cluster="dev/one",reason="changed",release="web"} 1`, "fleetc_drift_load_success 0")
	log := stop()
	for _, want := range []string{`"msg":"the files of the fleet have faults"`, `"msg":"serving"`, `"msg":"checked","cluster":"dev/one"`, `"msg":"check failed","cluster":"dev/two"`, "broken.cue"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line of the log is not JSON: %s", line)
		}
	}
	all, err := p.clusters["one"].Requests()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range all {
		if r.User != driftUser {
			continue
		}
		n++
		if r.Verb != "get" && r.Verb != "list" {
			t.Errorf("it sends %s %s", r.Verb, r.URI)
		}
		if r.Status == 403 && strings.Contains(r.URI, "/namespaces/") {
			t.Errorf("it may not %s %s", r.Verb, r.URI)
		}
	}
	if n == 0 {
		t.Error("the ServiceAccount sends nothing")
	}
}

// Without Secrets in the ClusterRole, the roles of docs/drift.md are enough for bundles
// without Secrets, and read no stored bundle.
func TestDriftRights(t *testing.T) {
	p := newWeb(t)
	p.edit("environments/web.cue", `		secret: {apiVersion: "v1", kind: "Secret", metadata: name: "web", stringData: password: "hunter2"}`+"\n", "")
	p.fleetc("apply", "--yes").ok(p)
	roles := p.driftRoles()
	without := strings.Replace(roles, "configmaps, secrets, ", "configmaps, ", 1)
	if without == roles {
		t.Fatal("the ClusterRole has no Secrets")
	}
	p.kubectlInput("one", without, "apply", "-f", "-")
	p.waitForRight("one", driftUser, "get", "secrets/inventory.example.com.infra", "--namespace=fleetc-system")
	p.waitForRight("one", driftUser, "list", "deployments.apps", "--namespace=web")
	if out, _ := shared.Kubectl(p.Context(), "--context", p.clusters["one"].Context, "-n", "fleetc-system", "auth", "can-i", "--as", driftUser, "get", "secrets"); !strings.HasPrefix(out, "no") {
		t.Errorf("it may read stored bundles: %s", out)
	}
	p.fleetc("drift", "--as", driftUser).ok(p).says(p, "^no drift in 1 cluster")
	p.fleetc("diff", "--live", "--as", driftUser).ok(p)
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.fleetc("drift", "--as", driftUser).exits(p, 1).says(p, "ConfigMap web/web .*is missing")
	p.edit("environments/web.cue", "replicas: 2", "replicas: 3")
	p.fleetc("drift", "--as", driftUser).exits(p, 1).says(p, "an apply is due", "spec.replicas: 2 in the cluster, 3 in the fleet")
	p.write("environments/old.cue", `package fleet

releases: old: {namespace: "web", depends: web: true, objects: secret: {apiVersion: "v1", kind: "Secret", metadata: name: "old"}}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/old.cue", "package fleet\n")
	p.fleetc("drift", "--as", driftUser).exits(p, 2).says(p, `1 object could not be read: the user is not allowed to read the object to prune: .*"secrets".* \[FL2104\]$`)
}

// Two contexts of one cluster are a failed check at every moment, also while a slow cluster
// holds the end of a round.
func TestDriftServeAlias(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.slowCluster()
	field := func(name string) string {
		return p.kubeconfig("config", "view", "-o", `jsonpath={.contexts[?(@.name=="`+p.clusters["one"].Context+`")].context.`+name+`}`)
	}
	p.kubeconfig("config", "set-context", "alias", "--cluster="+field("cluster"), "--user="+field("user"))
	p.write("environments/dev/alias/cluster.cue", "package fleet\n\ncluster: {name: \"alias\", kubernetes: \"1.37\", context: \"alias\"}\n")
	url, stop := p.serveDrift("--interval", "1s", "--check-timeout", "1s", "--kubeconfig", "kubeconfig")
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/one"} 0`)
	for range 60 {
		text, err := get(url + "/metrics")
		if err != nil || strings.Contains(text, `fleetc_drift_check_success{cluster="dev/one"} 1`) {
			t.Fatalf("%v\n%s", err, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if log := stop(); !strings.Contains(log, "lead to the same cluster") || strings.Count(log, `"msg":"round ended"`) < 2 {
		t.Errorf("the log is\n%s", log)
	}
}

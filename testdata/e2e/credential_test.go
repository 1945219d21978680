package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// plugin creates a kubeconfig for the fleet in which a script returns the
// credentials of the cluster's context.
func (p *place) plugin(id, script string) {
	p.Helper()
	p.write("plugins/"+id, "#!/bin/sh\n"+script)
	file := filepath.Join(p.dir, "plugins", id) // kubectl config breaks the path of one beside the kubeconfig
	if err := os.Chmod(file, 0o755); err != nil {
		p.Fatal(err)
	}
	kubeconfig := filepath.Join(p.dir, "kubeconfig")
	if _, err := os.Stat(kubeconfig); err != nil {
		text, err := os.ReadFile(shared.Kubeconfig)
		if err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
			p.Fatal(err)
		}
	}
	p.kubeconfig("config", "set-credentials", "plugin-"+id, "--exec-api-version=client.authentication.k8s.io/v1",
		"--exec-interactive-mode=IfAvailable", "--exec-command="+file)
	p.kubeconfig("config", "set-context", p.clusters[id].Context, "--user=plugin-"+id)
}

const pluggedMap = `package fleet

releases: web: {
	namespace: "default"
	objects: settings: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "settings", data: colour: "blue"}
}
`

// hangingPlugin is a credential plugin that writes the IDs of its processes and
// does not end.
func hangingPlugin(p *place) (script, pids string) {
	pids = filepath.Join(p.dir, "pids")
	return fmt.Sprintf("sleep 600 &\necho $$ $! >%[1]s.new\nmv %[1]s.new %[1]s\nwait\n", pids), pids
}

// waitEnded waits until the processes in the file have ended.
func (p *place) waitEnded(pids string) {
	p.Helper()
	text, err := os.ReadFile(pids)
	if err != nil {
		p.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(text)) {
		p.waitFor("process "+pid+" to end", func() bool {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

// A hanging credential plugin is killed after its limit and named, and other
// clusters are applied.
func TestCredentialPlugin(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.write("environments/web.cue", pluggedMap)
	p.kubectl("two", "create", "clusterrolebinding", "deployer", "--clusterrole=cluster-admin", "--serviceaccount=default:default")
	token := p.kubectl("two", "create", "token", "default")
	p.plugin("two", fmt.Sprintf(`echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}'`, token))
	script, pids := hangingPlugin(p)
	p.plugin("one", script)
	p.fleetc("apply", "--yes", "--kubeconfig", "kubeconfig").exits(p, 2).says(p,
		`the credential plugin ".*/plugins/one" of the kubeconfig did not answer within 30s`, "^dev/two: applied: 1 created")
	p.waitEnded(pids)

	p.plugin("one", "echo 'the token has expired' >&2\nexit 3\n")
	p.fleetc("status", "--kubeconfig", "kubeconfig", "dev/one").exits(p, 2).says(p,
		"^the token has expired", `the credential plugin ".*/plugins/one" of the kubeconfig failed with exit status 3`)
	p.kubeconfig("config", "set-credentials", "plugin-one", "--exec-command=fleetc-has-no-such-plugin")
	p.fleetc("status", "--kubeconfig", "kubeconfig", "dev/one").exits(p, 2).says(p,
		`the credential plugin "fleetc-has-no-such-plugin" of the kubeconfig is not installed`)
}

// One interrupt ends fleetc and a hanging credential plugin.
func TestCredentialPluginInterrupted(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.write("environments/web.cue", pluggedMap)
	script, pids := hangingPlugin(p)
	p.plugin("one", script)
	for _, args := range [][]string{{"apply", "--yes"}, {"diff", "--live"}, {"status"}} {
		r := p.begin(append(args, "--kubeconfig", "kubeconfig")...)
		p.waitFor("the plugin to run", func() bool { _, err := os.Stat(pids); return err == nil })
		if err := r.Process.Signal(syscall.SIGINT); err != nil {
			p.Fatal(err)
		}
		late := time.AfterFunc(20*time.Second, func() { _ = r.Process.Kill() }) // before the limit of plugins
		r.end().exits(p, 2).says(p, "interrupted")
		late.Stop()
		p.waitEnded(pids)
		if err := os.Remove(pids); err != nil {
			p.Fatal(err)
		}
	}
}

// With --as, the API server sees the impersonated user with its rights.
func TestImpersonation(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.write("environments/web.cue", pluggedMap)
	as := []string{"--as", "deployer", "--as-group", "deployers", "--as-uid", "42"}
	p.fleetc(append([]string{"apply", "--yes"}, as...)...).exits(p, 2).says(p, `User "deployer" cannot get resource "namespaces"`)
	p.grant("one", "apply", "deployer", "deployers")
	p.fleetc(append([]string{"apply", "--yes"}, as...)...).ok(p).says(p, "^dev/one: applied: 1 created")
	for _, command := range [][]string{{"apply", "--dry-run"}, {"diff", "--live"}, {"status"}, {"history"}} {
		p.fleetc(append(command, as...)...).ok(p)
	}
	p.fleetc("apply", "--yes", "--as", "nobody").exits(p, 2).says(p, `User "nobody" cannot get resource "namespaces"`)
	p.fleetc("apply", "--yes", "--as-group", "deployers").exits(p, 2).says(p, "do not say which user to impersonate.*\n.*pass --as USER")
}

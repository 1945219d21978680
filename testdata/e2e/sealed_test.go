package e2e

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// moduleDir returns the directory of a module that a module below testdata requires.
func moduleDir(t *testing.T, of, module string) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = filepath.Join(top, "testdata", of)
	dir, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// inPod runs a program with the files and variables of a pod, in which client libraries
// find the API server. The files are in a mount namespace of the program.
const inPod = `set -e
mount -t tmpfs none /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
cp "$POD"/* /run/secrets/kubernetes.io/serviceaccount
exec "$@"`

// sealedSecrets starts the Sealed Secrets controller for a cluster, and returns its
// certificate.
func (p *place) sealedSecrets(id string) string {
	p.Helper()
	crds := filepath.Join(moduleDir(p.T, "sealedsecrets", "github.com/bitnami-labs/sealed-secrets"), "helm/sealed-secrets/crds")
	p.kubectl(id, "apply", "-f", crds)
	p.kubectl(id, "-n", "default", "create", "serviceaccount", "sealed-secrets")
	p.kubectl(id, "create", "clusterrolebinding", "sealed-secrets", "--clusterrole=cluster-admin", "--serviceaccount=default:sealed-secrets")
	ca, err := base64.StdEncoding.DecodeString(p.kubectl(id, "config", "view", "--raw", "--minify", "-o", "jsonpath={.clusters[0].cluster.certificate-authority-data}"))
	if err != nil {
		p.Fatal(err)
	}
	pod := p.TempDir()
	for name, text := range map[string]string{
		"ca.crt": string(ca), "namespace": "default", "token": p.kubectl(id, "-n", "default", "create", "token", "sealed-secrets"),
	} {
		if err := os.WriteFile(filepath.Join(pod, name), []byte(text), 0o600); err != nil {
			p.Fatal(err)
		}
	}
	build := exec.Command("go", "tool", "-n", "controller")
	build.Dir = filepath.Join(top, "testdata/sealedsecrets")
	program, err := build.Output()
	if err != nil {
		p.Fatal(err)
	}
	server, err := url.Parse(p.clusters[id].Server)
	if err != nil {
		p.Fatal(err)
	}
	address := freeAddress(p.T)
	log := &strings.Builder{}
	cmd := exec.Command("unshare", "--mount", "sh", "-c", inPod, "sh", strings.TrimSpace(string(program)),
		"--listen-addr="+address, "--listen-metrics-addr="+freeAddress(p.T))
	cmd.Env = append(os.Environ(), "POD="+pod, "KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	p.Cleanup(func() { _ = cmd.Process.Kill() })
	for {
		select {
		case err := <-ended:
			p.Fatalf("the controller ends: %v\n%s", err, log)
		case <-time.After(100 * time.Millisecond):
		}
		if cert, err := get("http://" + address + "/v1/cert.pem"); err == nil {
			return cert
		}
	}
}

// freeAddress returns an address of this machine without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get returns the body of an answer.
func get(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	return string(body), err
}

// The Sealed Secrets controller unseals what an export encrypted for its certificate. The
// export has no value that can be read.
func TestSealedSecrets(t *testing.T) {
	p := newSecrets(t)
	cert := p.sealedSecrets("one")
	p.write("environments/dev/env.cue", fmt.Sprintf(`package fleet

secrets: {for k, _ in _names {(k): {sops: "secrets/values.yaml", key: "values.\(k)"}}}
_names: {%s}
cluster?: sealedSecrets: cert: %q
releases: written: {
	namespace: "app"
	objects: plain: {
		apiVersion: "v1", kind: "Secret", metadata: {name: "written", labels: app: "a"}
		stringData: {for k, _ in _names {(k): secrets[k].ref}}
	}
}
`, names(20), cert))
	p.key("unused-token-value")
	delete(p.values, "token")
	p.run("export", "--out", "clusters").ok(p.place)
	p.kubectl("one", "create", "namespace", "app")
	p.kubectl("one", "apply", "-f", filepath.Join(p.dir, "clusters/dev/one/written"))
	p.kubectl("one", "-n", "app", "wait", "--for=condition=Synced", "sealedsecret/written", "--timeout=60s")
	p.checkValues("written")
	if got := p.kubectl("one", "-n", "app", "get", "secret", "written", "-o", "jsonpath={.metadata.labels} {.type}"); !strings.Contains(got, `"app":"a"`) || !strings.HasSuffix(got, "Opaque") {
		t.Errorf("the Secret has %s", got)
	}
	p.env = p.env[2:] // an export without a change needs no key
	p.run("export", "--out", "clusters", "--check").ok(p.place)
	p.checkHidden()
}

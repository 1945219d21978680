package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// imageName is the name of fleetc's image on the nodes. The names of the docs are not
// known there.
const imageName = "fleetc.test/fleetc:1"

// serverHost is the name of the API server in the docs.
const serverHost = "kubernetes.default.svc"

// imageLayout builds the image of fleetc once, and returns the directory of its layout.
var imageLayout = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(filepath.Dir(binary), "image")
	cmd := exec.Command("go", "run", "./testdata/image", "-platforms", "linux/"+runtime.GOARCH, "-out", dir)
	cmd.Dir = top
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build the image: %w\n%s", err, out)
	}
	return dir, err
})

// newImage returns a place whose cluster has a real node with the image of fleetc.
func newImage(t *testing.T) *place {
	t.Helper()
	layout, err := imageLayout()
	if err != nil {
		t.Fatal(err)
	}
	return newPlace(t, clusters.Spec{Name: "one", RealNodes: 1, Images: []clusters.Image{{Name: imageName, Layout: layout}}})
}

// docBlock returns the YAML block of a page that has a text, with replacements of texts
// that must exist.
func docBlock(p *place, page, word string, replace ...string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(top, "docs", page+".md"))
	if err != nil {
		p.Fatal(err)
	}
	blocks := strings.Split(string(data), "```yaml\n")[1:]
	for _, block := range blocks {
		block, _, _ := strings.Cut(block, "```")
		if !strings.Contains(block, word) {
			continue
		}
		for i := 0; i < len(replace); i += 2 {
			if !strings.Contains(block, replace[i]) {
				p.Fatalf("the block of docs/%s.md has no %q:\n%s", page, replace[i], block)
			}
			block = strings.ReplaceAll(block, replace[i], replace[i+1])
		}
		return block
	}
	p.Fatalf("docs/%s.md has no block with %q", page, word)
	return ""
}

// withoutGit replaces what a usual cluster has and one of the tests lacks: a DNS, which
// knows a host, and images with git. The fleet is copied from the directory of the test.
func withoutGit(p *place, host, address string) []string {
	return []string{
		"registry.example.com/fleetc:v1", imageName,
		"registry.example.com/git:v1 # an image with git", clusters.Busybox,
		`[git, clone, --depth=1, "https://github.com/example/infra", /work/fleet]`, "[cp, -r, /source, /work/fleet]",
		"mountPath: /work}\n      containers:", "mountPath: /work}\n            - {name: source, mountPath: /source, readOnly: true}\n      containers:",
		"      volumes:\n", "      volumes:\n        - {name: source, hostPath: {path: " + p.dir + "}}\n",
		"      securityContext: {runAsNonRoot", hostAlias(host, address) + "      securityContext: {runAsNonRoot",
	}
}

func hostAlias(host, address string) string {
	return "      hostAliases: [{ip: " + address + ", hostnames: [" + host + "]}]\n"
}

// runJob runs a Job and returns the log of its pods and the condition in which it ended.
func (p *place) runJob(manifest, namespace, job string) (log, condition string) {
	p.Helper()
	p.kubectlInput("one", manifest, "apply", "-f", "-")
	return p.endJob(namespace, job)
}

// endJob waits for the end of a Job, and deletes it.
func (p *place) endJob(namespace, job string) (log, condition string) {
	p.Helper()
	p.waitFor("the end of the Job "+job, func() bool {
		types := p.kubectl("one", "-n", namespace, "get", "job", job, "-o", "jsonpath={.status.conditions[*].type}")
		condition = regexp.MustCompile(`\b(Complete|Failed)\b`).FindString(types)
		return condition != ""
	})
	log = p.kubectl("one", "-n", namespace, "logs", "-l", "job-name="+job, "--all-containers", "--tail=-1", "--prefix")
	p.kubectl("one", "-n", namespace, "delete", "job", job, "--cascade=foreground")
	return log, condition
}

const podFleet = `package fleet

releases: web: {
	namespace: "web"
	stage:     "default"
	objects: {
		ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "web"}
		web: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "web", data: colour: "blue"}
	}
}
`

// The image of fleetc applies and serves drift in pods with a read-only root file
// system, as the user of the image, with the manifests and the roles of the docs. With a
// role less, it says which right is missing.
func TestNodeImage(t *testing.T) {
	p := newImage(t)
	p.write("environments/web.cue", podFleet)
	kubeContext := p.clusters["one"].Context
	roles := docBlock(p, "apply", "kind: ClusterRole", "{apiGroup: rbac.authorization.k8s.io, kind: Group, name: deployers}", "{kind: ServiceAccount, name: fleetc, namespace: fleetc-system}")
	p.kubectlInput("one", roles, "apply", "-f", "-")
	p.kubectlInput("one", docBlock(p, "container", "kind: ConfigMap", "prod-eu-1", kubeContext), "apply", "-f", "-")

	const user = "system:serviceaccount:fleetc-system:fleetc"
	p.waitForRight("one", user, "get", "namespaces/kube-system")
	p.kubectl("one", "-n", "fleetc-system", "delete", "rolebinding", "fleetc")
	p.waitFor("the rights to end", func() bool {
		out, _ := shared.Kubectl(p.Context(), "--context", kubeContext, "auth", "can-i", "--as", user, "get", "leases.coordination.k8s.io", "-n", "fleetc-system")
		return strings.TrimSpace(out) == "no"
	})
	job := docBlock(p, "container", "kind: Job", append(withoutGit(p, serverHost, clusters.ServerService), "prod/eu-1", "dev/one")...)
	log, condition := p.runJob(job, "fleetc-system", "apply")
	const missing = "the user is not allowed to list and update secrets in fleetc-system; create, get and update leases.coordination.k8s.io in fleetc-system"
	if condition != "Failed" || !strings.Contains(log, missing) {
		t.Errorf("without a role, the Job is %s, and says\n%s", condition, log)
	}
	p.kubectlInput("one", roles, "apply", "-f", "-")
	p.waitForRight("one", user, "get", "leases.coordination.k8s.io", "--namespace=fleetc-system")
	log, condition = p.runJob(job, "fleetc-system", "apply")
	if condition != "Complete" || !strings.Contains(log, "dev/one: applied: 2 created") {
		t.Fatalf("the Job is %s, and says\n%s", condition, log)
	}
	p.serveDriftInPod()
}

// serveDriftInPod runs the Deployment of the docs.
func (p *place) serveDriftInPod() {
	p.Helper()
	deployment := docBlock(p, "container", "kind: Deployment",
		"registry.example.com/fleetc:v1", imageName,
		"registry.k8s.io/git-sync/git-sync:v4.4.0", clusters.Busybox,
		`args: ["--repo=https://github.com/example/infra", --ref=main, --depth=1, --root=/work, --link=fleet, --period=1m, "--http-bind=:8080"]`,
		`command: [sh, -c, "cp -r /source /work/first && ln -s first /work/fleet && echo ok >/work/index.html && exec httpd -f -p 8080 -h /work"]`,
		"subPath: git-sync}", "subPath: git-sync}\n            - {name: source, mountPath: /source, readOnly: true}",
		"      volumes:\n", "      terminationGracePeriodSeconds: 0\n      volumes:\n        - {name: source, hostPath: {path: "+p.dir+"}}\n",
		"      securityContext: {runAsNonRoot", hostAlias(serverHost, clusters.ServerService)+"      securityContext: {runAsNonRoot",
		"--interval=5m", "--interval=1s",
	)
	p.kubectlInput("one", docBlock(p, "drift", "kind: ClusterRole", "configmaps, ", ""), "apply", "-f", "-")
	p.waitForRight("one", driftUser, "list", "secrets", "--namespace=web")
	p.kubectlInput("one", deployment, "apply", "-f", "-")
	p.kubectl("one", "-n", "fleetc-system", "wait", "--timeout=2m", "--for=condition=Available", "deployment/fleetc-drift")
	url := "http://" + p.kubectl("one", "-n", "fleetc-system", "get", "pods", "-l", "app=fleetc-drift", "-o", "jsonpath={.items[*].status.podIP}") + ":9090"
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/one"} 0`)
	const missing = "1 object could not be read: the user is not allowed to get configmaps in web"
	p.waitFor("the missing right in the log", func() bool {
		return strings.Contains(p.kubectl("one", "-n", "fleetc-system", "logs", "deployment/fleetc-drift", "-c", "drift"), missing)
	})
	p.kubectlInput("one", docBlock(p, "drift", "kind: ClusterRole"), "apply", "-f", "-")
	p.waitForMetric(url, `fleetc_drift_check_success{cluster="dev/one"} 1`)
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.waitForMetric(url, `fleetc_drift_objects{cluster="dev/one",reason="missing",release="web"} 1`)
	// The link to the fleet changes, as git-sync does it.
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "fleetc-system", "exec", "deployment/fleetc-drift", "-c", "fleet", "--", "sh", "-c",
		"cp -r /work/first /work/second && sed -i s/blue/red/ /work/second/environments/web.cue && ln -sfn second /work/fleet")
	p.waitForMetric(url, `fleetc_drift_objects{cluster="dev/one",reason="changed",release="web"} 1`)
}

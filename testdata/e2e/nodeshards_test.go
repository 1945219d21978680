package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// registryPort is the port of the registry in the test. The API server has 443.
const registryPort = 5000

// A podRegistry is a registry with a user, which can hold a push.
type podRegistry struct {
	http.Handler
	mu   sync.Mutex
	hold string        // path of the push to hold until its client is gone, once
	held chan struct{} // closed when the push is held
}

func newPodRegistry() *podRegistry {
	return &podRegistry{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), held: make(chan struct{})}
}

// ServeHTTP implements [http.Handler].
func (g *podRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "alice" || password != "wonderland" {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	g.mu.Lock()
	hold := r.Method == http.MethodPut && g.hold != "" && strings.HasPrefix(r.URL.Path, g.hold)
	if hold {
		g.hold = ""
	}
	g.mu.Unlock()
	if hold {
		close(g.held)
		<-r.Context().Done()
		return
	}
	g.Handler.ServeHTTP(w, r)
}

// artifacts returns the manifests with the tag main and their layers, by repository.
func artifacts(t *testing.T, g http.Handler) map[string]string {
	t.Helper()
	fetch := func(path string) string {
		t.Helper()
		answer := httptest.NewRecorder()
		g.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	var catalog struct{ Repositories []string }
	if err := json.Unmarshal([]byte(fetch("/v2/_catalog?n=1000")), &catalog); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, repository := range catalog.Repositories {
		if !strings.HasPrefix(repository, "clusters/") {
			continue
		}
		text := fetch("/v2/" + repository + "/manifests/main")
		var manifest struct{ Layers []struct{ Digest string } }
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			t.Fatal(err)
		}
		for _, layer := range manifest.Layers {
			text += fetch("/v2/" + repository + "/blobs/" + layer.Digest)
		}
		all[strings.TrimPrefix(repository, "clusters/")] = text
	}
	return all
}

// shardFleet writes a fleet of twelve clusters, and returns the clusters of each index
// of a Job with four.
func (p *place) shardFleet() [][]string {
	p.Helper()
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	p.write("charts/app/values.yaml", "does: \"true\"\n")
	p.write("charts/app/templates/app.yaml", nodeChart)
	p.write("environments/app.cue", "package fleet\n\nstages: [{name: \"default\"}]\n\nreleases: app: {namespace: \"app\", stage: \"default\", chart: path: \"charts/app\", defaults: root: does: \"sleep 1\"}\n")
	ids := []string{"dev/one"}
	for i := range 12 {
		id := fmt.Sprintf("prod/c%d", i)
		ids = append(ids, id)
		p.write("environments/"+id+"/cluster.cue", fmt.Sprintf("package fleet\n\ncluster: {name: \"c%d\", kubernetes: \"1.37\"}\nreleases: app: defaults: c%d: does: \"sleep %d\"\n", i, i, i%3+2))
	}
	indexes := make([][]string, 4)
	for i := range indexes {
		shard, err := fleet.ParseShard(fmt.Sprintf("%d/4", i))
		if err != nil {
			p.Fatal(err)
		}
		for _, id := range ids {
			if shard.Has(id) {
				indexes[i] = append(indexes[i], id)
			}
		}
		if len(indexes[i]) == 0 {
			p.Fatalf("no cluster is in shard %d", i)
		}
	}
	return indexes
}

// compareArtifacts reports differences between the artifacts of two registries.
func compareArtifacts(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("there are %d artifacts, want %d", len(got), len(want))
	}
	for id, text := range want {
		if got[id] != text {
			t.Errorf("the artifact of %s differs: %d bytes, want %d", id, len(got[id]), len(text))
		}
	}
}

// The Indexed Job of the docs pushes what one process pushes, also when a pod is killed.
// An index that fails fails the Job, and the others push their clusters.
func TestNodeShards(t *testing.T) {
	g := newPodRegistry()
	p := newImage(t)
	address, err := p.clusters["one"].ServePods(registryPort, g)
	if err != nil {
		t.Fatal(err)
	}
	indexes := p.shardFleet()
	p.kubectl("one", "create", "namespace", "fleet")
	p.kubectl("one", "-n", "fleet", "create", "secret", "docker-registry", "registry", "--docker-server=registry.example.com:5000", "--docker-username=alice", "--docker-password=wonderland")
	job := docBlock(p, "export", "kind: Job", append(withoutGit(p, "registry.example.com", address),
		"oci://registry.example.com/", "oci://registry.example.com:5000/",
		"            - {name: DOCKER_CONFIG, value: /docker}\n", "            - {name: DOCKER_CONFIG, value: /docker}\n            - {name: SSL_CERT_DIR, value: /ca}\n",
		"            - {name: docker, mountPath: /docker, readOnly: true}\n", "            - {name: docker, mountPath: /docker, readOnly: true}\n            - {name: ca, mountPath: /ca}\n",
		"        - {name: tmp, emptyDir: {}}\n", "        - {name: tmp, emptyDir: {}}\n        - {name: ca, configMap: {name: kube-root-ca.crt}}\n",
		`requests: {cpu: "2", memory: 2Gi}`, "requests: {cpu: 10m, memory: 64Mi}",
	)...)

	// A pod is killed while it pushes.
	victim := indexes[3][0]
	g.hold = "/v2/clusters/" + victim + "/manifests/"
	p.kubectlInput("one", job, "apply", "-f", "-")
	select {
	case <-g.held:
	case <-t.Context().Done():
		t.Fatal("the pod does not push")
	}
	p.kubectl("one", "-n", "fleet", "delete", "pods", "-l", "batch.kubernetes.io/job-completion-index=3", "--grace-period=0", "--force")
	p.waitFor("the failure of the pod", func() bool {
		return p.kubectl("one", "-n", "fleet", "get", "job", "export", "-o", "jsonpath={.status.failed}") == "1"
	})
	if log, condition := p.endJob("fleet", "export"); condition != "Complete" {
		t.Fatalf("the Job is %s:\n%s", condition, log)
	}
	whole := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer whole.Close()
	target := "oci://" + strings.TrimPrefix(whole.URL, "http://") + "/clusters:main"
	p.fleetc("export", "--oci", target).ok(p)
	first := artifacts(t, g.Handler)
	want := artifacts(t, whole.Config.Handler)
	if len(want) != 13 {
		t.Errorf("one process pushes %d artifacts", len(want))
	}
	compareArtifacts(t, first, want)

	// An index fails.
	p.write("environments/"+victim+"/broken.cue", "package fleet\n\nreleases: app: values: dose: \"x\"\n")
	p.write("environments/extra.cue", "package fleet\n\nreleases: extra: {namespace: \"app\", stage: \"default\", objects: a: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"extra\"}}\n")
	log, condition := p.runJob(strings.Replace(job, "backoffLimitPerIndex: 2", "backoffLimitPerIndex: 0", 1), "fleet", "export")
	if condition != "Failed" || !strings.Contains(log, "broken.cue:3:") || !strings.Contains(log, "did you mean does?") {
		t.Errorf("the Job is %s:\n%s", condition, log)
	}
	second := artifacts(t, g.Handler)
	p.write("environments/"+victim+"/broken.cue", "package fleet\n")
	p.fleetc("export", "--oci", target).ok(p)
	want = artifacts(t, whole.Config.Handler)
	for _, id := range indexes[3] {
		want[id] = first[id]
	}
	compareArtifacts(t, second, want)
}

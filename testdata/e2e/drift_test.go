package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/testdata/clusters"
)

// drift runs drift -o json and returns the report.
func (p *place) drift(status int, args ...string) *deliver.DriftReport {
	p.Helper()
	d := p.fleetc(append([]string{"drift", "-o", "json"}, args...)...).exits(p, status)
	var r deliver.DriftReport
	if err := json.Unmarshal([]byte(d.stdout), &r); err != nil {
		p.Fatalf("%v\n%s", err, d.stdout)
	}
	return &r
}

// findings returns the findings of a cluster, each as "REASON ID FIELDS" with the author of
// each field.
func findings(r *deliver.DriftReport, id string) []string {
	var out []string
	for _, c := range r.Clusters {
		if c.ID != id {
			continue
		}
		for _, f := range c.Findings {
			text := string(f.Reason) + " " + f.ID
			for _, field := range f.Fields {
				text += " " + field.Path
				for _, a := range field.By {
					text += ":" + a.Manager
				}
			}
			out = append(out, text)
		}
	}
	return out
}

// Every reason is found, with the author of a changed field, by a user who may only read.
func TestDriftReasons(t *testing.T) {
	p := newWeb(t)
	p.write("environments/other.cue", otherRelease)
	reader := p.reader("one")
	if got := findings(p.drift(1, "--kubeconfig", reader), "dev/one"); len(got) != 5 || !strings.HasPrefix(got[0], "missing ") {
		t.Errorf("of a cluster that was never applied to: %q", got)
	}
	p.write("environments/ownership.cue", `package fleet

releases: web: {
	ownership: ours: {target: {kinds: ["ConfigMap"], names: ["ours"]}, fields: ["data.colour"], take: true}
	objects: ours: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "ours", data: {colour: "blue", size: "1"}}
	objects: made: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "made", data: colour: "blue"}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	all, err := p.clusters["one"].Requests()
	if err != nil {
		t.Fatal(err)
	}
	p.fleetc("drift").ok(p).says(p, "^no drift in 1 cluster$")
	p.fleetc("drift", "--kubeconfig", reader).ok(p).says(p, "^no drift in 1 cluster$")
	// Fields of controllers and defaults of the API are not drift.
	p.kubectl("one", "-n", "web", "annotate", "deployment", "web", "mine=yes")
	p.fleetc("drift", "--kubeconfig", reader).ok(p)
	p.fleetc("drift", "--strict", "--kubeconfig", reader).exits(p, 1).says(p, `metadata.annotations.mine: yes in the cluster, absent in the fleet \(set by kubectl-annotate at 20`)
	before := time.Now().Add(-time.Minute)
	for _, change := range [][]string{
		{"-n", "web", "delete", "secret", "web"},
		{"-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"data": {"colour": "red"}}`},
		{"-n", "web", "patch", "configmap", "ours", "--type=merge", "-p", `{"data": {"colour": "red"}}`},
		{"-n", "web", "patch", "configmap", "ours", "--type=json", "-p", `[{"op": "remove", "path": "/data/size"}]`},
		{"-n", "web", "delete", "configmap", "made"},
		{"-n", "web", "create", "configmap", "made", "--from-literal=colour=green"},
		{"-n", "web", "scale", "deployment", "web", "--replicas=3"},
		{"-n", "web", "patch", "deployment", "web", "--type=merge", "-p", `{"spec": {"template": {"metadata": {"annotations": {"fleetc.test/stuck": "ImagePullBackOff"}}}}}`},
		{"-n", "default", "create", "configmap", "lost"},
		{"-n", "default", "label", "configmap", "lost", "fleetc.dev/release=web"},
		{"-n", "default", "annotate", "configmap", "lost", "fleetc.dev/fleet=example.com/infra"},
	} {
		p.kubectl("one", change...)
	}
	p.write("environments/other.cue", "package fleet\n")
	want := []string{
		"orphaned ConfigMap web/other",
		"orphaned ConfigMap default/lost",
		"conflict ConfigMap web/made data.colour:kubectl-create metadata.annotations metadata.labels",
		"changed ConfigMap web/ours data.colour:kubectl-patch data.size",
		"conflict ConfigMap web/web data.colour:kubectl-patch",
		"conflict Deployment.apps web/web spec.replicas:kubectl",
		"unhealthy Deployment.apps web/web",
		"missing Secret web/web",
	}
	var r *deliver.DriftReport
	p.waitFor("the deployment to be unhealthy", func() bool {
		r = p.drift(1, "--kubeconfig", reader)
		return r.Summary.Reasons[deliver.DriftUnhealthy] == 1
	})
	if got := findings(r, "dev/one"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range r.Clusters[0].Findings {
		for _, field := range f.Fields {
			for _, a := range field.By {
				if a.Subresource == "scale" {
					continue // the API server records no time
				}
				if a.Time.Before(before) || a.Time.After(time.Now().Add(time.Minute)) {
					t.Errorf("%s %s was set by %s at %s", f.ID, field.Path, a.Manager, a.Time)
				}
			}
		}
		if text, _ := json.Marshal(f); strings.Contains(string(text), "hunter2") {
			t.Errorf("a secret is shown: %s", text)
		}
	}
	p.checkNoFleetcWrites("one", len(all))
	p.fleetc("drift", "--release", "web").exits(p, 1).says(p, "^6 objects drifted in 1 of 1 cluster$")
	p.fleetc("drift", "--release", "wbe").exits(p, 2).says(p, "no cluster has a release wbe", "did you mean web")
	// A rule ignores a field, or an object, until its last day.
	p.write("environments/drift.cue", `package fleet

drift: ignore: "maps": {match: kinds: ["ConfigMap"], reason: "editors have them", until: "2026-11-30"}
drift: ignore: "scale": {match: kinds: ["Deployment"], fields: ["spec.replicas"], reason: "a load test"}
`)
	r = p.drift(1, "--date", "2026-11-30")
	want = []string{"unhealthy Deployment.apps web/web", "missing Secret web/web"}
	if got := findings(r, "dev/one"); strings.Join(got, "\n") != strings.Join(want, "\n") || r.Summary.Ignored != 6 {
		t.Errorf("with rules: found %q and ignored %d", got, r.Summary.Ignored)
	}
	if r = p.drift(1, "--date", "2026-12-01"); r.Summary.Ignored != 1 || r.Summary.Reasons[deliver.DriftConflict] != 2 {
		t.Errorf("after the last day of a rule: %+v", r.Summary)
	}
}

// checkNoFleetcWrites requires that fleetc has changed nothing since the mark, and has sent
// no dry run.
func (p *place) checkNoFleetcWrites(id string, mark int) {
	p.Helper()
	p.checkNoWrites(id, mark)
	requests, _ := p.requests(id, mark)
	for _, r := range requests {
		if !strings.HasPrefix(r, "get ") && !strings.HasPrefix(r, "list ") {
			p.Errorf("drift sends %s", r)
		}
	}
}

// The number of requests depends on the kinds of the cluster, not on its objects.
func TestDriftRequests(t *testing.T) {
	const n = 3000
	p := newWeb(t)
	p.write("environments/numbered.cue", numberedRelease(0, n, 0))
	p.fleetc("apply", "--yes", "--timeout", "10m").ok(p)
	_, mark := p.requests("one", 0)
	begin := time.Now()
	p.fleetc("drift").ok(p)
	t.Logf("%d objects are checked in %s", n, time.Since(begin).Round(time.Millisecond))
	same, mark := p.requests("one", mark)
	kinds := strings.Fields(p.kubectl("one", "api-resources", "--verbs=list,delete", "-o", "name"))
	most := len(kinds) + n/500 + 40
	if len(same) > most {
		t.Errorf("a check of %d objects takes %d requests, more than %d: %q", n, len(same), most, same)
	}
	t.Logf("%d requests, of which %d lists for orphaned objects", len(same), len(kinds))
	p.kubectl("one", "-n", "web", "delete", "configmap", "n-001", "n-002", "n-003", "n-004", "n-005")
	p.kubectl("one", "-n", "web", "patch", "configmap", "n-007", "--type=merge", "-p", `{"data": {"round": "9"}}`)
	_, mark = p.requests("one", mark)
	if got := p.drift(1); got.Summary.Reasons[deliver.DriftMissing] != 5 || got.Summary.Reasons[deliver.DriftConflict] != 1 {
		t.Errorf("found %+v", got.Summary)
	}
	if some, _ := p.requests("one", mark); len(some) > most {
		t.Errorf("a check with drift takes %d requests, more than %d: %q", len(some), most, some)
	}
}

// A cluster that cannot be checked is not drift, and does not hide that of others.
func TestDriftUnreachable(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("drift").ok(p).says(p, "^no drift in 2 clusters$")
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	for what, stop := range map[string]func() error{"refuses connections": p.clusters["two"].Kill, "does not answer": p.clusters["two"].Pause} {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r := p.drift(2)
		if got := findings(r, "dev/one"); len(got) != 1 || got[0] != "missing ConfigMap web/web" {
			t.Errorf("%s: found %q", what, got)
		}
		if two := r.Clusters[1]; two.Checked || len(two.Findings) > 0 || len(two.Faults) != 1 || !strings.Contains(two.Faults[0], what) {
			t.Errorf("%s: %+v", what, two)
		}
		p.fleetc("drift").exits(p, 2).says(p, "^dev/two: the check failed$", what, "^1 object drifted in 1 of 2 clusters; 1 cluster could not be checked$")
		p.fleetc("drift", "dev/one").exits(p, 1)
		if err := p.clusters["two"].Resume(p.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.fleetc("drift", "dev/two").ok(p)
	// A fault in the files of a cluster does not prevent the check of another.
	p.write("environments/dev/two/wrong.cue", "package fleet\n\nreleases: web: objects: config: dta: {}\n")
	r := p.drift(2)
	if got := findings(r, "dev/one"); len(got) != 1 || r.Clusters[1].Checked {
		t.Errorf("beside a fault: %q, %+v", got, r.Clusters[1])
	}
}

// A cluster that connects and then answers nothing is given up after --check-timeout, and the
// others are checked.
func TestDriftSlow(t *testing.T) {
	p := newWeb(t)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.slowCluster()
	p.grafana()
	p.edit("environments/g.cue", `namespace: "g"`, `namespace: "g", clusters: ids: ["dev/slow"]`) // compiling reads its passwords
	r := p.drift(2, "--check-timeout", "2s", "--kubeconfig", "kubeconfig")
	if got := findings(r, "dev/one"); len(got) != 1 || got[0] != "missing ConfigMap web/web" {
		t.Errorf("found %q", got)
	}
	if c := r.Clusters[1]; c.Checked || len(c.Findings) > 0 || len(c.Faults) != 1 || !strings.Contains(c.Faults[0], "the check took longer than 2s") {
		t.Errorf("of the slow cluster: %+v", c)
	}
}

// slowCluster adds the cluster dev/slow, which connects and then answers nothing. Its context
// is in the file kubeconfig, with those of the other clusters.
func (p *place) slowCluster() {
	p.Helper()
	ended := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/namespaces/kube-system" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "slow"}}`)
			return
		}
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	p.Cleanup(func() {
		close(ended)
		slow.Close()
	})
	text, err := os.ReadFile(shared.Kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	p.write("kubeconfig", string(text))
	p.kubeconfig("config", "set-cluster", "slow", "--server="+slow.URL)
	p.kubeconfig("config", "set-context", "slow", "--cluster=slow")
	p.write("environments/dev/slow/cluster.cue", "package fleet\n\ncluster: {name: \"slow\", kubernetes: \"1.37\", context: \"slow\"}\n")
}

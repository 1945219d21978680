package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// requests returns the requests of fleetc since the mark, and the next mark. It
// leaves out those for its lease, whose number depends on the duration.
func (p *place) requests(id string, since int) (requests []string, mark int) {
	p.Helper()
	all, err := p.clusters[id].Requests()
	if err != nil {
		p.Fatal(err)
	}
	for _, r := range all[min(since, len(all)):] {
		if strings.HasPrefix(r.UserAgent, "fleetc/") && !strings.Contains(r.URI, "/leases/") {
			requests = append(requests, fmt.Sprint(r.Verb, " ", r.URI, " ", r.Status))
		}
	}
	return requests, len(all)
}

// The number of requests depends on the changes of an apply, not on the number of
// objects.
func TestRequests(t *testing.T) {
	const n = 300
	p := newWeb(t)
	p.write("environments/numbered.cue", numberedRelease(0, n, 0))
	p.fleetc("apply", "--yes").ok(p)
	first, mark := p.requests("one", 0)
	if writes := slices.DeleteFunc(slices.Clone(first), func(r string) bool { return !strings.Contains(r, "/configmaps/n-") }); len(writes) != n {
		t.Errorf("%d requests for %d new ConfigMaps: %q", len(writes), n, writes)
	}
	if most := n + n/10 + 40; len(first) > most {
		t.Errorf("a first apply of %d objects takes %d requests, more than %d", n, len(first), most)
	}

	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	same, mark := p.requests("one", mark)
	const kinds = 4 // Namespace, ConfigMap, Secret, Deployment
	if most := 2*kinds + 20; len(same) > most {
		t.Errorf("an apply with nothing to do takes %d requests, more than %d: %q", len(same), most, same)
	}
	for _, r := range same {
		if strings.Contains(r, "dryRun") {
			t.Errorf("an apply with nothing to do sends the dry run %s", r)
		}
	}

	p.edit("environments/numbered.cue", `n-007", data: round: "0"`, `n-007", data: round: "1"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "1 changed, 0 pruned")
	one, mark := p.requests("one", mark)
	if most := len(same) + 40; len(one) > most {
		t.Errorf("an apply of one change takes %d requests, more than %d: %q", len(one), most, one)
	}

	// Changes by other tools are still detected.
	for _, change := range [][]string{
		{"patch", "configmap", "n-001", "--type=merge", "-p", `{"data":{"round":"9"}}`},
		{"patch", "configmap", "n-002", "--type=merge", "-p", `{"data":null}`},
		{"label", "--overwrite", "configmap", "n-003", "fleetc.dev/release=other"},
		{"delete", "configmap", "n-004"},
		{"scale", "deployment", "web", "--replicas=5"},
		{"patch", "deployment", "web", "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.com/web:9"}]`},
	} {
		p.kubectl("one", append([]string{"-n", "web"}, change...)...)
		p.fleetc("apply", "--dry-run", "--force-conflicts").exits(p, 1)
		p.fleetc("apply", "--yes", "--force-conflicts").ok(p)
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	}
	_, mark = p.requests("one", mark)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if again, _ := p.requests("one", mark); len(again) > 2*kinds+20 {
		t.Errorf("after repairs, an apply with nothing to do takes %d requests: %q", len(again), again)
	}
}

// A Job may be deleted as soon as it has ended. A hook has then succeeded, with
// both deliveries; an object does not run again until it changes.
func TestJobTTL(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	const job = `apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: { %s }
spec:
  ttlSecondsAfterFinished: 0
  backoffLimit: 0
  template:
    metadata: {annotations: { %s }}
    spec: {restartPolicy: Never, containers: [{name: a, image: "example.com/a:1"}]}
---
`
	p.write("charts/j/Chart.yaml", "apiVersion: v2\nname: j\nversion: 1.0.0\n")
	p.write("charts/j/templates/a.yaml", fmt.Sprintf(job, "hook-{{ .Release.Name }}", `helm.sh/hook: "pre-install,pre-upgrade"`, `{{ .Values.fate }}`)+
		fmt.Sprintf(job, "plain-{{ .Release.Name }}", `round: "{{ .Values.round }}"`, "{{ if .Values.stuck }}fleetc.test/stuck: ImagePullBackOff{{ end }}"))
	p.write("charts/j/values.yaml", "round: 1\nfate: \"\"\nstuck: false\n")
	p.write("environments/j.cue", `package fleet

releases: [_]: {namespace: "default", chart: path: "charts/j", values: {round: 1, fate: ""}}
releases: manifests: {}
releases: helm: delivery: "helm"
`)
	p.fleetc("apply", "--yes").ok(p).says(p, "hooks? run")
	p.waitFor("the Jobs to be gone", func() bool { return p.kubectl("one", "get", "jobs", "-o", "name") == "" })
	p.fleetc("status", "--health").ok(p).says(p, "all objects are ready")
	p.fleetc("diff", "--live", "--release", "manifests").ok(p)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	// It runs again when it changes, and a failure is detected although the Job was
	// deleted.
	p.edit("environments/j.cue", "round: 1", "round: 2")
	p.fleetc("apply", "--yes", "--release", "manifests").ok(p).says(p, "created Job.batch default/plain-manifests")
	p.waitFor("the Jobs to be gone", func() bool { return p.kubectl("one", "get", "jobs", "-o", "name") == "" })
	// The end of a Job that was deleted while it ran is unknown.
	p.edit("environments/j.cue", "round: 2", "round: 3, stuck: true")
	r := p.begin("apply", "--yes", "--release", "manifests")
	r.readUntil("Job.batch default/plain-manifests", 2) // it is created, and not ready
	p.kubectl("one", "delete", "job", "plain-manifests")
	r.end().exits(p, 2).says(p, "Job.batch default/plain-manifests: it was deleted, and whether it succeeded is unknown")
	p.edit("environments/j.cue", "stuck: true", "stuck: false")
	p.fleetc("apply", "--yes", "--release", "manifests").ok(p).says(p, "created Job.batch default/plain-manifests")
	p.waitFor("the Jobs to be gone", func() bool { return p.kubectl("one", "get", "jobs", "-o", "name") == "" })
	p.edit("environments/j.cue", `fate: ""`, `fate: "fleetc.test/fail: 'true'"`)
	p.fleetc("apply", "--yes", "--release", "manifests").exits(p, 2).says(p, "Job.batch default/hook-manifests: the hook did not succeed")
	p.fleetc("apply", "--yes", "--release", "helm").exits(p, 2).says(p, "Job.batch default/hook-helm: the hook did not succeed")
}

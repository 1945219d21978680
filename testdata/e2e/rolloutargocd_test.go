package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// applicationCRD has the names of Argo CD's CRD, and no schema. Argo CD's has no status
// subresource, either.
const applicationCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Application, plural: applications}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// A rollout on a branch reads Applications in the cluster of Argo CD. The test writes their
// states as Argo CD does.
func TestRolloutArgoCD(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.env = append(p.env, "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "--bare", "-b", "main", "clusters.git")
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", "package fleet\n\nreleases: app: {namespace: \"default\", objects: a: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\", data: x: \"v1\"}}\n")
	p.write("environments/rollout.cue", fmt.Sprintf(`package fleet

gitops: argocd: {repoURL: "https://git.example.com/clusters.git", context: %q}
rollout: waves: [
	{name: "canary", clusters: ids: ["dev/two"]},
	{name: "rest", others: true},
]
`, p.clusters["one"].Context))
	p.kubectlInput("one", applicationCRD, "apply", "--server-side", "-f", "-")
	p.kubectl("one", "wait", "--for=condition=Established", "crd/applications.argoproj.io")
	p.kubectl("one", "create", "namespace", "argocd")
	flags := []string{"--git", "clusters.git", "--branch", "main"}
	export := func() result { t.Helper(); return p.fleetc(append([]string{"export", "--rollout"}, flags...)...) }
	apply := func(name string) {
		t.Helper()
		p.kubectlInput("one", git("--git-dir", "clusters.git", "show", "main:dev/"+name+"/argocd/dev."+name+".yaml"), "apply", "--server-side", "-f", "-")
	}
	status := func(name, text string) {
		t.Helper()
		field := func(part string) string {
			return fmt.Sprintf("%q:%s", part, p.kubectl("one", "-n", "argocd", "get", "application", "dev."+name, "-o", "jsonpath={.spec."+part+"}"))
		}
		text = strings.NewReplacer(
			"TIP", git("--git-dir", "clusters.git", "rev-parse", "main"), "SOURCE", field("source"),
			"COMPARED", `"comparedTo":{`+field("source")+","+field("destination")+"}",
		).Replace(text)
		p.kubectl("one", "-n", "argocd", "patch", "application", "dev."+name, "--type=merge", "-p", `{"status":`+text+`}`)
	}
	const (
		synced  = `"sync":{"status":"Synced","revision":"TIP",COMPARED},"operationState":{"phase":"Succeeded","message":"","finishedAt":"2026-01-01T00:00:00Z","syncResult":{"revision":"TIP"}}`
		healthy = `{` + synced + `,"health":{"status":"Healthy","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}}`
	)

	export().exits(p, 1).says(p, "^added   dev/two/argocd/dev.two.yaml$", "^1 cluster, ")
	export().exits(p, 1).says(p, "^main: nothing to push$", "^dev/two: Application argocd/dev.two does not exist yet$")
	apply("two")
	export().exits(p, 1).says(p, "^dev/two: Application argocd/dev.two is not ready yet: Argo CD has not compared it since its last change$")
	status("two", `{"sync":{"status":"Synced","revision":"TIP"},"health":{"status":"Healthy"}}`)
	export().exits(p, 1).says(p, "^dev/two: Application argocd/dev.two is not ready yet: Argo CD has not compared it since its last change$")
	status("two", `{"sync":{"status":"OutOfSync","revision":"TIP",COMPARED}}`)
	export().exits(p, 1).says(p, "^dev/two: Application argocd/dev.two is not ready yet: OutOfSync$")
	status("two", `{"operationState":{"phase":"Failed","message":"one error","syncResult":{"revision":"TIP",SOURCE}}}`)
	export().exits(p, 2).says(p, "Application argocd/dev.two has failed: sync Failed: one error")
	status("two", `{`+synced+`,"health":{"status":"Degraded","message":"a Deployment"}}`)
	export().exits(p, 2).says(p, "^wave canary is stopped: wave canary has failed: dev/two is unhealthy$", "Application argocd/dev.two has failed: Degraded: a Deployment")
	status("two", strings.ReplaceAll(healthy, "TIP", strings.Repeat("0", 40)))
	export().exits(p, 1).says(p, "^dev/two: Application argocd/dev.two has applied commit 000000000000, which does not have the current files$")
	status("two", healthy)
	export().exits(p, 1).says(p, "^added   dev/one/bundle.json$", "^1 cluster, ")

	// The commit of the second wave did not change the directory of the first.
	apply("one")
	status("one", healthy)
	export().ok(p)

	// The Applications of a report are those of the cluster of Argo CD.
	p.fleetc("rollout", "report", "dev/one", "dev/two", "--git", "clusters.git", "--context", p.clusters["one"].Context).ok(p).
		says(p, "^dev/one: 1 of 1 object is ready, pushed to fleetc-reports/dev/one.report$", "^dev/two: 1 of 1 object is ready")
	p.fleetc("rollout", "report", "dev/typo", "dev/one", "--git", "clusters.git", "--context", p.clusters["one"].Context).exits(p, 2).
		says(p, "^dev/typo: 0 of 0 objects are ready", "^dev/one: 1 of 1 object is ready", "^namespace flux-system has no Kustomization of fleetc for the cluster, and namespace argocd no Application \\[FL3005\\]$", "in dev/typo")
	nothing := filepath.Join(p.dir, "no-kubeconfig")
	if err := os.WriteFile(nothing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.fleetc(slices.Concat([]string{"export", "--rollout", "--reports", "#", "--kubeconfig", nothing}, flags)...).ok(p)

	// Without a connection to Argo CD, nothing is promoted.
	p.edit("environments/web.cue", `x: "v1"`, `x: "v2"`)
	p.fleetc(slices.Concat([]string{"export", "--rollout", "--kubeconfig", nothing}, flags)...).exits(p, 2).
		says(p, "^wave canary is stopped: wave canary has failed: dev/two has failed$", "^main: nothing to push$",
			`^environments/dev/two/cluster.cue:[0-9:]+: gitops.argocd.context: there is no kubeconfig with a context "`)
	export().exits(p, 1).says(p, "^changed dev/two/bundle.json$")
}

package gitops

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An ApplicationSet generates the Applications of two clusters from the files of the export,
// and keeps them like the files. A cluster that leaves the fleet loses its Application, and
// its objects stay. Rollouts follow these Applications.
func TestApplicationSet(t *testing.T) {
	a := newArgoPlace(t, "a", "b")
	a.write("environments/prod/labels.cue", "package fleet\n\ngitops: argocd: labels: environment: \"prod\"\n")
	a.write("environments/owned.cue", owned)
	commit := a.export()
	a.kubectlInput("a", a.documented("ApplicationSet"), "apply", "--server-side", "-f", "-")
	a.generates("prod.a", "prod.b")
	for name := range a.flux {
		if err := a.argo.Ready(t.Context(), "prod."+name, commit); err != nil {
			t.Fatal(err)
		}
		file := a.kubectlInput("a", a.repository("show", "main:clusters/prod/"+name+"/argocd/prod."+name+".yaml"), "create", "--dry-run=client", "-o", "jsonpath={.spec}{.metadata.labels}", "-f", "-")
		if got := a.field("a", ArgoNamespace, "application/prod."+name, ".spec}{.metadata.labels"); got != file {
			t.Errorf("%s: the Application is\n%s\nand its file has\n%s", name, got, file)
		}
	}
	if got := a.kubectl("a", "-n", ArgoNamespace, "get", "applications", "-l", "environment=prod", "-o", "name"); strings.Count(got, "\n") != 1 {
		t.Errorf("the Applications of the environment are %s", got)
	}
	a.fleetc("rollout", "report", "prod/b", "--git", a.url, "--context", a.argo.Cluster.Context).ok(a.place).
		says(a.place, "^prod/b: 1 of 1 object is ready")

	a.edit("environments/owned.cue", `"spec.revisionHistoryLimit"`, `"spec.minReadySeconds"`)
	a.edit("environments/fleet.cue", `"blue"`, `"red"`)
	for _, name := range []string{"cluster.cue", "web.cue"} {
		a.remove("environments/prod/b/" + name)
	}
	commit = a.export()
	a.generates("prod.a")
	a.ready(commit)
	if got := a.field("a", ArgoNamespace, "application/prod.a", ".spec.ignoreDifferences[0].jqPathExpressions"); !strings.Contains(got, "minReadySeconds") || strings.Contains(got, "revisionHistoryLimit") {
		t.Errorf("the ignored fields are %s", got)
	}
	if got := a.field("b", "shop", "deployment/web", ".metadata.name"); got != "web" {
		t.Error("the objects of a cluster that left the fleet are gone")
	}
}

// generates has the ApplicationSet read the repository, and waits until it has generated
// the Applications.
func (a *argoPlace) generates(want ...string) {
	a.Helper()
	a.kubectl("a", "-n", ArgoNamespace, "annotate", "--overwrite", "applicationset/clusters", "argocd.argoproj.io/application-set-refresh=true")
	a.eventually("the ApplicationSet generates "+strings.Join(want, ", "), func() error {
		if got := a.field("a", ArgoNamespace, "applicationset/clusters", ".metadata.annotations.argocd\\.argoproj\\.io/application-set-refresh"); got != "" {
			return fmt.Errorf("it has not read the repository: %s", a.field("a", ArgoNamespace, "applicationset/clusters", ".status.conditions"))
		}
		all, err := a.argo.Applications(a.Context())
		var names []string
		for _, app := range all {
			names = append(names, app.Metadata.Name)
		}
		slices.Sort(names)
		if err == nil {
			err = differ(names, want)
		}
		return err
	})
}

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownedMap is a ConfigMap of the release owned.
func ownedMap(name, meta string) string {
	return fmt.Sprintf("\t\t%q: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {name: %q%s}, data: colour: \"blue\"}\n", name, name, meta)
}

// ownedRelease is a release in a separate namespace, whose objects other tools
// take. The bundle sets a label of Argo CD on one of them.
func ownedRelease() string {
	var maps strings.Builder
	for _, name := range []string{"flux", "helm", "argo", "terraform", "ours"} {
		maps.WriteString(ownedMap(name, ""))
	}
	maps.WriteString(ownedMap("labelled", `, labels: "argocd.argoproj.io/instance": "infra"`))
	return `package fleet

releases: owned: {
	namespace: "owned"
	stage:     "apps"
	objects: {
		ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "owned"}
		hook: {
			apiVersion: "batch/v1"
			kind:       "Job"
			metadata: {name: "cleanup", annotations: "helm.sh/hook": "pre-delete"}
			spec: template: spec: {restartPolicy: "Never", containers: [{name: "main", image: "example.com/hook:1"}]}
		}
` + maps.String() + "\t}\n}\n"
}

// giveToOtherTools makes other tools take the objects of the release owned.
func (p *place) giveToOtherTools() {
	p.Helper()
	object := func(name, meta string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"owned"%s},"data":{"colour":"red"}}`, name, meta)
	}
	p.kubectlInput("one", object("flux", `,"labels":{"kustomize.toolkit.fluxcd.io/name":"flux-system","kustomize.toolkit.fluxcd.io/namespace":"apps"}`),
		"apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller", "-f", "-")
	p.kubectl("one", "-n", "owned", "annotate", "--field-manager=helm", "configmap", "helm", "meta.helm.sh/release-name=shop", "meta.helm.sh/release-namespace=store")
	p.kubectl("one", "-n", "owned", "annotate", "--field-manager=argocd-controller", "configmap", "argo", "argocd.argoproj.io/tracking-id=shop:/ConfigMap:owned/argo")
	p.kubectlInput("one", object("terraform", ""), "replace", "--field-manager=terraform", "-f", "-")
}

// An object that another tool now manages stays when it leaves the fleet, with its
// namespace, and leaves the inventory.
func TestOwnedByOthers(t *testing.T) {
	p := newWeb(t)
	p.write("environments/owned.cue", ownedRelease())
	p.fleetc("apply", "--yes").ok(p)
	p.giveToOtherTools()
	if err := os.Remove(filepath.Join(p.dir, "environments/owned.cue")); err != nil {
		t.Fatal(err)
	}
	d := p.fleetc("diff", "--live").exits(p, 1).says(p, "ConfigMap owned/ours")
	if strings.Contains(d.stdout, "owned/flux") {
		t.Errorf("diff --live calls an object of Flux orphaned:\n%s", d.stdout)
	}
	var plan struct {
		Clusters []struct {
			Objects []struct{ ID, Action, Owner string }
		}
	}
	if err := json.Unmarshal([]byte(p.fleetc("apply", "--dry-run", "-o", "json").exits(p, 1).stdout), &plan); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range plan.Clusters[0].Objects {
		if o.Owner != "" {
			got = append(got, o.Action+" "+o.ID+": "+o.Owner)
		}
	}
	slices.Sort(got)
	want := []string{
		"keep ConfigMap owned/argo: Argo CD application shop", "keep ConfigMap owned/flux: Flux Kustomization apps/flux-system",
		"keep ConfigMap owned/helm: Helm release store/shop", "keep ConfigMap owned/terraform: terraform",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the plan has %q, want %q", got, want)
	}
	d = p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "keeps ConfigMap owned/flux: Flux Kustomization apps/flux-system owns it now",
		"the hooks for the deletion of release owned do not run", "keeps ConfigMap owned/terraform: terraform owns it now.*; fleetc forgets it", "keeps Namespace owned: it contains .*, which is kept", "2 pruned")
	if got := p.kubectl("one", "-n", "owned", "get", "configmaps", "-o", "jsonpath={.items[*].metadata.name}"); got != "argo flux helm kube-root-ca.crt terraform" {
		t.Errorf("there are the ConfigMaps %s:\n%s%s", got, d.stdout, d.stderr)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	// An object that fleetc left to another tool belongs to that tool.
	p.write("environments/owned.cue", ownedRelease())
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap owned/argo: it already exists, and Argo CD application shop created it")
}

// An object that another tool now manages is not recreated.
func TestOwnedNotRecreated(t *testing.T) {
	p := newWeb(t)
	p.write("environments/replace.cue", "package fleet\n\nreleases: web: replace: [\"Deployment.apps\"]\n")
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "web", "annotate", "--field-manager=argocd-controller", "deployment", "web", "argocd.argoproj.io/tracking-id=shop:apps/Deployment:web/web")
	p.edit("environments/web.cue", `app: "web"`, `app: "other"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "spec.selector: field is immutable", "stop Argo CD application shop from managing it")
}

// Objects of a Helm release that another tool now manages stay when the chart or
// the fleet does not have them any more.
func TestOwnedHelmParts(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `colour: "blue"`, `{colour: "blue", more: true}`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "app", "label", "--field-manager=kustomize-controller", "configmap", "more", "kustomize.toolkit.fluxcd.io/name=flux-system", "kustomize.toolkit.fluxcd.io/namespace=apps")
	p.kubectl("one", "-n", "app", "annotate", "--field-manager=argocd-controller", "configmap", "app", "argocd.argoproj.io/tracking-id=shop:/ConfigMap:app/app")
	p.edit("environments/app.cue", `more: true`, `more: false`)
	p.fleetc("apply", "--yes").ok(p).says(p, "keeps ConfigMap app/more: Flux Kustomization apps/flux-system owns it now")
	p.kubectl("one", "-n", "app", "get", "configmap", "more")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	p.write("environments/app.cue", "package fleet\n\nstages: [{name: \"default\"}, {name: \"apps\"}]\n")
	p.fleetc("apply", "--dry-run", "--prune-protected", "-o", "json").exits(p, 1).says(p, `"owner": "Argo CD application shop"`)
	p.fleetc("apply", "--yes", "--prune-protected").ok(p).says(p, "keeps ConfigMap app/app: Argo CD application shop owns it now", "keeps Namespace app: it contains .*, which is kept")
	if got := p.kubectl("one", "-n", "app", "get", "deployments,secrets,configmaps", "-o", "name"); got != "configmap/app\nconfigmap/kept\nconfigmap/kube-root-ca.crt\nconfigmap/more" {
		t.Errorf("after the release is gone, there is:\n%s", got)
	}
}

// The deletion hooks of a release do not run if nothing of it is deleted: all of its objects
// move to another release, or to another fleet.
func TestDeleteHooksOfMoved(t *testing.T) {
	p := newWeb(t)
	p.write("environments/hook.cue", deleteHook)
	p.fleetc("apply", "--yes").ok(p)
	for _, name := range []string{"web", "hook"} {
		p.edit("environments/"+name+".cue", "releases: web:", "releases: renamed:")
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "3 changed").lacks(p, "web/bye")
	// The renamed release loses an object that stays, and one that is deleted.
	p.edit("environments/web.cue", "releases: renamed:", "releases: again:")
	p.edit("environments/hook.cue", "releases: renamed:", "releases: again:")
	p.edit("environments/web.cue", `kind: "Secret", metadata: name: "web"`, `kind: "Secret", metadata: name: "new"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "runs hook Job.batch web/bye")

	other := p.otherFleet("example.com/other")
	other.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	for _, name := range []string{"web", "hook"} {
		other.write("environments/"+name+".cue", readFile(p, "environments/"+name+".cue"))
	}
	other.fleetc("apply", "--yes", "--adopt").ok(p)
	for _, name := range []string{"web", "hook"} {
		p.write("environments/"+name+".cue", "package fleet\n\nstages: [{name: \"default\"}, {name: \"apps\"}]\n")
	}
	p.fleetc("apply", "--yes").ok(p).lacks(p, "runs hook")
}

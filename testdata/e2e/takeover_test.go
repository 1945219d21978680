package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// foreignWeb applies the Deployment and the ConfigMap of the release web as another
// tool with server-side apply, with fields that the fleet does not have.
func (p *place) foreignWeb(manager, labels string) {
	p.Helper()
	p.kubectlInput("one", `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"web","labels":{`+labels+`}},"data":{"colour":"green","extra":"x"}},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"web"},"spec":{"replicas":4,"selector":{"matchLabels":{"app":"web"}},
  "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"example.com/web:0"},{"name":"side","image":"example.com/side:1"}]}}}}
]}`, "apply", "--server-side", "--field-manager="+manager, "-f", "-")
}

// Objects of server-side appliers are adopted without --force-conflicts, and their
// other fields are removed; decorators keep their fields.
func TestTakeOverAppliers(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "web")
	p.foreignWeb("argocd-controller", `"argocd.argoproj.io/instance":"shop"`)
	p.kubectl("one", "-n", "web", "annotate", "--field-manager=vpa-updater", "deployment", "web", "vpa=seen")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, "ConfigMap web/web: it already exists, and Argo CD application shop created it", "pass --adopt")
	p.fleetc("apply", "--yes", "--adopt=from:nobody").exits(p, 2).says(p, "--adopt=from:nobody: no object of the bundle has this manager")
	p.fleetc("apply", "--yes", "--adopt=nobody").exits(p, 2).says(p, "name a manager as in from:argocd-controller")
	d := p.fleetc("apply", "--dry-run", "--adopt", "-o", "json").exits(p, 1)
	var plan struct {
		Clusters []struct {
			Objects []struct {
				ID        string
				TakesOver []struct {
					Manager string
					Removes []string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(d.stdout), &plan); err != nil {
		t.Fatal(err)
	}
	removes := map[string]string{}
	for _, o := range plan.Clusters[0].Objects {
		for _, takes := range o.TakesOver {
			removes[o.ID+" "+takes.Manager] = strings.Join(takes.Removes, " ")
		}
	}
	if got := removes["ConfigMap web/web argocd-controller"]; got != `data.extra metadata.labels."argocd.argoproj.io/instance"` {
		t.Errorf("the plan removes %q: %v", got, removes)
	}
	p.fleetc("apply", "--yes", "--adopt").ok(p).says(p, `takes over Deployment.apps web/web from argocd-controller: removes spec.template.spec.containers\[name=side\]`)
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[*].name} {.metadata.annotations.vpa}"); got != "2 web seen" {
		t.Errorf("the deployment has %s", got)
	}
	if got := p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data} {.metadata.labels}"); strings.Contains(got, "extra") || strings.Contains(got, "argocd") {
		t.Errorf("the ConfigMap has %s", got)
	}
	if got := p.kubectl("one", "-n", "web", "get", "configmap/web", "deployment/web", "-o", "jsonpath={.items[*].metadata.managedFields[*].manager}", "--show-managed-fields"); strings.Contains(got, "argocd") {
		t.Errorf("the managers are %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}

// Objects of Flux are adopted only when its manager is named.
func TestTakeOverNamed(t *testing.T) {
	p := newWeb(t)
	p.kubectl("one", "create", "namespace", "web")
	p.foreignWeb("kustomize-controller", `"kustomize.toolkit.fluxcd.io/name":"apps","kustomize.toolkit.fluxcd.io/namespace":"flux-system"`)
	p.kubectl("one", "-n", "web", "create", "secret", "generic", "web", "--from-literal=password=x")
	p.fleetc("apply", "--yes", "--adopt").exits(p, 2).says(p, "ConfigMap web/web: it already exists, and Flux Kustomization flux-system/apps created it", "--adopt=from:kustomize-controller")
	p.fleetc("apply", "--yes", "--adopt=from:kustomize-controller").exits(p, 2).says(p, "Secret web/web: it already exists, and kubectl-create created it")
	p.fleetc("apply", "--plan", "plan.json", "--adopt=from:kustomize-controller,from:kubectl-create").ok(p)
	p.fleetc("apply", "--from-plan", "plan.json", "--yes").ok(p).says(p, "takes over ConfigMap web/web from kustomize-controller: removes data.extra, metadata.labels.*, metadata.labels", "takes over Secret web/web from kubectl-create$")
	if got := p.kubectl("one", "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data}"); got != `{"colour":"blue"}` {
		t.Errorf("the ConfigMap has %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	// The manager of a tool that has taken the object later can be named.
	p.kubectl("one", "-n", "web", "annotate", "--field-manager=vpa-updater", "deployment", "web", "vpa=seen")
	p.fleetc("apply", "--yes", "--adopt=from:vpa-updater").ok(p).says(p, "from vpa-updater: removes metadata.annotations.vpa")
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.metadata.annotations.vpa}"); got != "" {
		t.Errorf("the annotation is still %s", got)
	}
}

// A rollback to a revision before an adoption keeps the adopted objects, which ran before
// fleetc, and so does the next apply without them.
func TestRollbackAdopted(t *testing.T) {
	p := newWeb(t)
	p.write("environments/web.cue", strings.Split(web, "releases: web:")[0])
	p.fleetc("apply", "--yes").ok(p)
	p.foreignWeb("argocd-controller", `"app":"web"`)
	p.write("environments/web.cue", web)
	p.fleetc("apply", "--yes", "--adopt").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p)
	kept := []string{"keeps Deployment.apps web/web: it existed before fleetc took it over", "keeps ConfigMap web/web: it existed", "- Secret web/web"}
	p.fleetc("rollback", "dev/one", "--dry-run", "--to", "1").exits(p, 1).says(p, kept...)
	p.fleetc("rollback", "dev/one", "--yes", "--to", "1").ok(p).says(p, "0 created, 0 changed, 1 pruned")
	p.write("environments/web.cue", strings.Split(web, "releases: web:")[0])
	p.fleetc("apply", "--yes").ok(p)
	if got := p.kubectl("one", "-n", "web", "get", "deployment/web", "configmap/web", "secret/web", "--ignore-not-found", "-o", "name"); strings.Count(got, "/web") != 2 {
		t.Errorf("after the rollback there are %q", got)
	}

	// After another apply with them, they are fleetc's own.
	p.write("environments/web.cue", web)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/web.cue", strings.Split(web, "releases: web:")[0])
	p.fleetc("apply", "--yes").ok(p).says(p, "3 pruned")
}

package gitops

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Objects applied by Flux belong to Flux: an apply reports the owner and writes
// nothing. The plan of an apply that adopts them from Flux lists them. They have not drifted
// until they change.
func TestOwned(t *testing.T) {
	p := newPlace(t, "a")
	c := p.byGit()
	c.deliver()
	p.fleetc("drift", "prod/a").ok(p).says(p, "^no drift in 1 cluster$")
	p.fleetc("diff", "prod/a", "--live").ok(p)
	for _, args := range [][]string{{"--dry-run"}, {"--yes"}} {
		d := p.fleetc(append([]string{"apply", "prod/a"}, args...)...).exits(p, 2)
		for _, o := range []string{"ConfigMap shop/web", "Deployment.apps shop/web", "Service shop/web", "Widget.example.com shop/one"} {
			d.says(p, o+": it already exists, and Flux Kustomization flux-system/fleetc-apps created it")
		}
		d.says(p, "change it where Flux reads it; or have Flux stop applying it, and pass --adopt=from:kustomize-controller")
	}
	p.kubectl("a", "-n", "shop", "delete", "configmap/extra")
	p.kubectl("a", "-n", "shop", "scale", "deployment/web", "--replicas=5")
	if err := differ(p.drifted("prod/a"), []string{"ConfigMap shop/extra", "Deployment.apps shop/web"}); err != nil {
		t.Errorf("fleetc drift: %v", err)
	}
	p.fleetc("diff", "prod/a", "--live").exits(p, 1).says(p, `spec.replicas \(kubectl has it\): 5 -> 2`)
	p.kubectl("a", "-n", "shop", "scale", "deployment/web", "--replicas=2")
	p.leaves(c)
	p.edit("environments/fleet.cue", `"blue"`, `"red"`)
	p.fleetc("apply", "prod/a", "--dry-run", "--adopt").exits(p, 2).says(p, "ConfigMap shop/web: it already exists, and Flux Kustomization flux-system/fleetc-apps created it")
	p.fleetc("apply", "prod/a", "--dry-run", "--adopt=from:kustomize-controller", "--release", "web").exits(p, 1).says(p,
		"data.colour: blue -> red", "takes over ConfigMap shop/web from kustomize-controller", "takes over Deployment.apps shop/web from kustomize-controller")
	requests, err := p.flux["a"].Cluster.Requests()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if strings.HasPrefix(r.UserAgent, "fleetc/") && r.Writes() {
			t.Errorf("fleetc has written: %+v", r)
		}
	}
}

// leaves tests that objects of a release that left the fleet have drifted until Flux deletes
// them, and kept objects have not.
func (p *place) leaves(c channel) {
	p.Helper()
	p.write("environments/kept.cue", kept)
	c.deliver()
	suspend := func(value string) {
		p.Helper()
		p.kubectl("a", "-n", Namespace, "patch", "kustomization/flux-system", "kustomization/fleetc-apps", "--type=merge", "-p", `{"spec":{"suspend":`+value+`}}`)
	}
	suspend("true")
	p.remove("environments/kept.cue")
	p.remove("environments/extra.cue")
	revisions := c.export()
	p.fleetc("drift", "prod/a").exits(p, 1).says(p, `^  ConfigMap shop/extra \(release extra\) is orphaned: Flux Kustomization flux-system/fleetc-apps applied it, and the fleet no longer has it$`)
	if err := differ(p.drifted("prod/a"), []string{"ConfigMap shop/extra", "ServiceAccount shop/extra"}); err != nil {
		p.Errorf("fleetc drift: %v", err)
	}
	suspend("false")
	c.reconcile(revisions)
	p.fleetc("drift", "prod/a").ok(p)
}

// drifted returns the objects that fleetc drift names for a cluster.
func (p *place) drifted(id string) []string {
	p.Helper()
	r := p.fleetc("drift", id, "-o", "json")
	if r.status > 1 {
		p.Fatalf("fleetc %s: exit status %d\n%s", r.command, r.status, r.said)
	}
	var report struct {
		Clusters []struct{ Findings []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(r.said), &report); err != nil {
		p.Fatalf("%v in %s", err, r.said)
	}
	var ids []string
	for _, f := range report.Clusters[0].Findings {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// differ returns an error if two lists are not equal.
func differ(got, want []string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("got %q, want %q", got, want)
	}
	return nil
}

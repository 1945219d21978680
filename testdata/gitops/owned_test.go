package gitops

import (
	"strings"
	"testing"
)

// Objects applied by Flux belong to Flux: an apply reports the owner and writes
// nothing. The plan of an apply that adopts them from Flux lists them.
func TestOwned(t *testing.T) {
	p := newPlace(t, "a")
	p.byGit().deliver()
	for _, args := range [][]string{{"--dry-run"}, {"--yes"}} {
		d := p.fleetc(append([]string{"apply", "prod/a"}, args...)...).exits(p, 2)
		for _, o := range []string{"ConfigMap shop/web", "Deployment.apps shop/web", "Service shop/web", "Widget.example.com shop/one"} {
			d.says(p, o+": it exists already, and Flux Kustomization flux-system/fleetc-apps made it")
		}
		d.says(p, "change it where Flux reads it; or have Flux stop applying it, and pass --adopt=from:kustomize-controller")
	}
	p.edit("environments/fleet.cue", `"blue"`, `"red"`)
	p.fleetc("apply", "prod/a", "--dry-run", "--adopt").exits(p, 2).says(p, "ConfigMap shop/web: it exists already, and Flux Kustomization flux-system/fleetc-apps made it")
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

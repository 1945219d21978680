package gitops

import (
	"strings"
	"testing"
)

// What Flux has applied is not fleetc's: an apply says whose it is, of which fields
// when it is to take them over, and writes nothing.
func TestOwned(t *testing.T) {
	p := newPlace(t, "a")
	p.byGit().deliver()
	for _, args := range [][]string{{"--dry-run"}, {"--yes"}} {
		d := p.fleetc(append([]string{"apply", "prod/a"}, args...)...).exits(p, 2)
		for _, o := range []string{"ConfigMap shop/web", "Deployment.apps shop/web", "Service shop/web", "Widget.example.com shop/one"} {
			d.says(p, o+": it is there already, and kustomize-controller made it")
		}
		d.says(p, "change it where Flux reads it, or remove it from Flux first")
	}
	p.edit("environments/fleet.cue", `"blue"`, `"red"`)
	p.fleetc("apply", "prod/a", "--dry-run", "--adopt").exits(p, 2).says(p,
		`ConfigMap shop/web: data.colour is kustomize-controller's, who has "blue"; the bundle has "red"`,
		`Deployment.apps shop/web: others have fields of it: .* \(kustomize-controller\)`)
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

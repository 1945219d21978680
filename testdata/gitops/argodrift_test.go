package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// outOfSync returns the objects of an Application that Argo CD finds OutOfSync.
func outOfSync(app Application) []string {
	var ids []string
	for _, r := range app.Status.Resources {
		if r.Status == "OutOfSync" { // hooks have no status
			ids = append(ids, r.ID())
		}
	}
	slices.Sort(ids)
	return ids
}

// sees tests which objects of prod/a are out of sync for Argo CD and drifted for fleetc.
func (a *argoPlace) sees(want ...string) {
	a.Helper()
	a.seesIn("prod/a", want...)
}

// seesIn tests which objects of a cluster are out of sync for Argo CD and drifted for fleetc.
func (a *argoPlace) seesIn(id string, want ...string) {
	a.Helper()
	if err := a.argo.Until(a.Context(), strings.ReplaceAll(id, "/", "."), "has the drift "+strings.Join(want, ", "), func(app Application) error {
		return differ(outOfSync(app), want)
	}); err != nil {
		a.Error(err)
	}
	if err := differ(a.drifted(id), want); err != nil {
		a.Errorf("fleetc drift: %v\n%s", err, a.fleetc("drift", id).said)
	}
}

// owned leaves fields to others: one that the bundle has, one of an element of a list, and
// one that the bundle does not have.
const owned = `package fleet

releases: web: ownership: scaled: {
	target: kinds: ["Deployment"]
	fields: ["spec.replicas", "spec.template.spec.containers[name=web].image", "spec.revisionHistoryLimit"]
	leave: true
}
`

// manual has Argo CD not sync by itself.
const manual = `package fleet

gitops: argocd: automated: false
`

// application applies the exported Application of cluster a, and returns the commit.
func (a *argoPlace) application() string {
	a.Helper()
	commit := a.export()
	a.kubectlInput("a", a.repository("show", "main:clusters/prod/a/argocd/prod.a.yaml"), "apply", "--server-side", "--force-conflicts", "-f", "-")
	return commit
}

// sync exports the fleet, applies the Application of cluster a and syncs it.
func (a *argoPlace) sync() {
	a.Helper()
	commit := a.application()
	if err := a.argo.Sync(a.Context(), "prod.a"); err != nil {
		a.Fatal(err)
	}
	a.ready(commit)
}

// ready waits until the Application of cluster a is Synced and Healthy.
func (a *argoPlace) ready(commit string) {
	a.Helper()
	if err := a.argo.Ready(a.Context(), "prod.a", commit); err != nil {
		a.Fatal(err)
	}
}

// After changes by hand, Argo CD finds those objects OutOfSync that fleetc drift names.
// Fields that ownership leaves to others count for neither, and a sync leaves them alone.
func TestArgoDrift(t *testing.T) {
	a := newArgoPlace(t, "a")
	a.write("environments/owned.cue", owned)
	a.write("environments/manual.cue", manual)
	a.sync()
	a.sees()

	shop := func(args ...string) { t.Helper(); a.kubectl("a", append([]string{"-n", "shop"}, args...)...) }
	shop("scale", "deployment/web", "--replicas=5")
	shop("set", "image", "deployment/web", "web=example.com/web:2")
	shop("patch", "deployment/web", "--type=merge", "-p", `{"spec":{"revisionHistoryLimit":3}}`)
	shop("label", "service/web", "team=shop")
	shop("patch", "widgets.example.com/one", "--type=merge", "-p", `{"spec":{"colour":"green"}}`)
	shop("delete", "job/shop-announce")
	a.kubectl("a", "annotate", "namespace/shop", "note=hand")
	a.sees()

	shop("patch", "configmap/web", "--type=merge", "-p", `{"data":{"colour":"hand"}}`)
	shop("delete", "configmap/extra")
	shop("patch", "service/web", "--type=json", "-p", `[{"op":"replace","path":"/spec/ports/0/targetPort","value":9090}]`)
	shop("patch", "widgets.example.com/one", "--type=merge", "-p", `{"spec":{"size":7}}`)
	shop("patch", "serviceaccount/extra", "--type=json", "-p", `[{"op":"remove","path":"/metadata/annotations/fleetc.dev~1fleet"}]`)
	a.sees("ConfigMap shop/extra", "ConfigMap shop/web", "Service shop/web", "ServiceAccount shop/extra", "Widget.example.com shop/one")

	// Objects of a release that left the fleet are out of sync until Argo CD prunes them.
	a.sync()
	a.remove("environments/extra.cue")
	a.application()
	a.sees("ConfigMap shop/extra", "ServiceAccount shop/extra")

	// With automatic syncs, Argo CD reverts what it found, and later changes.
	a.remove("environments/manual.cue")
	a.edit("environments/fleet.cue", `"blue"`, `"red"`)
	a.ready(a.application())
	a.sees()
	shop("patch", "configmap/web", "--type=merge", "-p", `{"data":{"colour":"again"}}`)
	shop("delete", "service/web")
	a.heals("configmap/web", ".data.colour", "red")
	a.heals("service/web", ".spec.ports[0].targetPort", "8080")
	for path, want := range map[string]string{".spec.replicas": "5", ".spec.template.spec.containers[0].image": "example.com/web:2", ".spec.revisionHistoryLimit": "3"} {
		if got := a.field("a", "shop", "deployment/web", path); got != want {
			t.Errorf("a sync has set %s to %s, which was %s", path, got, want)
		}
	}
	if got := a.field("a", "shop", "deployment/web", ".spec.template.spec.containers[0].env[0].value"); got != "red" {
		t.Errorf("a sync has left the environment of the container at %s", got)
	}
}

// heals waits until Argo CD has reverted a field of an object in cluster a.
func (a *argoPlace) heals(object, path, want string) {
	a.Helper()
	a.eventually("Argo CD reverts "+object, func() error {
		if got := a.field("a", "shop", object, path); got != want {
			return fmt.Errorf("%s is %q", path, got)
		}
		return nil
	})
}

// eventually waits for a condition.
func (a *argoPlace) eventually(what string, so func() error) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), waitTimeout)
	defer cancel()
	if err := clusters.Poll(ctx, what, a.argo.Cluster.Err, func(context.Context) error { return so() }); err != nil {
		a.Fatalf("%v\n%s", err, a.argo.Explain(a.Context()))
	}
}

package gitops

import "testing"

// kept has an object that stays when its release goes.
const kept = `package fleet

releases: kept: {
	namespace: "shop"
	stage:     "apps"
	objects: config: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "kept", annotations: "helm.sh/resource-policy": "keep"}}
}
`

// Objects with immutable fields are replaced. Kept objects stay when their release goes, and the
// Application is Synced without them. Then fleetc apply takes over from Argo CD.
func TestArgoReplaceKeep(t *testing.T) {
	a := newArgoPlace(t, "a")
	a.write("environments/kept.cue", kept)
	a.write("environments/replace.cue", "package fleet\n\nreleases: web: replace: [\"Deployment\"]\n")
	a.ready(a.application())
	uid := func() string { return a.field("a", "shop", "deployment/web", ".metadata.uid") }
	before := uid()
	a.edit("charts/web/templates/web.yaml", "labels: {app: {{ .Release.Name }}}", "labels: {app: {{ .Release.Name }}, tier: front}")
	a.edit("charts/web/templates/web.yaml", "matchLabels: {app: {{ .Release.Name }}}", "matchLabels: {app: {{ .Release.Name }}, tier: front}")
	a.ready(a.export())
	if after := uid(); after == before {
		t.Error("the Deployment is not replaced")
	}

	a.remove("environments/kept.cue")
	a.ready(a.export())
	if got := a.field("a", "shop", "configmap/kept", ".metadata.name"); got != "kept" {
		t.Error("a kept object is pruned")
	}
	a.takesOver()
}

// takesOver follows docs/migrate-argocd.md from step 4 on. Jobs of hooks that Argo CD ran go
// first.
func (a *argoPlace) takesOver() {
	a.Helper()
	a.kubectl("a", "-n", ArgoNamespace, "patch", "application/prod.a", "--type=json", "-p", `[{"op":"remove","path":"/spec/syncPolicy/automated"}]`)
	a.fleetc("diff", "prod/a", "--live").ok(a.place)
	a.fleetc("apply", "prod/a", "--adopt=from:argocd-controller", "--dry-run").exits(a.place, 2).says(a.place, `Job.batch shop/shop-migrate: an object with this name exists and is not a hook \[FL2107\]$`)
	a.kubectl("a", "-n", "shop", "delete", "jobs", "--all")
	a.fleetc("apply", "prod/a", "--adopt=from:argocd-controller", "--dry-run").exits(a.place, 1)
	a.fleetc("apply", "prod/a", "--adopt=from:argocd-controller", "--yes").ok(a.place)
	a.edit("environments/fleet.cue", `"blue"`, `"red"`)
	a.fleetc("apply", "prod/a", "--yes").ok(a.place)
	if got := a.field("a", "shop", "configmap/web", ".data.colour"); got != "red" {
		a.Errorf("after an apply, the colour is %s", got)
	}
	a.kubectl("a", "-n", ArgoNamespace, "delete", "application/prod.a", "--timeout=1m")
	if got := a.field("a", "shop", "deployment/web", ".metadata.name"); got != "web" {
		a.Error("the objects are gone with the Application")
	}
	a.fleetc("drift", "prod/a").ok(a.place)
}

package gitops

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const argoHelmObjects = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {argocd.argoproj.io/sync-options: "Prune=false,Delete=false"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, labels: {app.kubernetes.io/managed-by: "{{ .Release.Service }}"}}
data: {limits: {{ .Values.limits | toJson | quote }}, empty: {{ .Values.empty }}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: shop}
`

// shopUIDs are the UIDs of objects of the release shop.
func (a *argoPlace) shopUIDs() string {
	a.Helper()
	return a.kubectl("a", "-n", "shop", "get", "pvc/data", "configmap/limits", "gadget/shop", "-o", "jsonpath={.items[*].metadata.uid}") +
		a.field("a", "shop", "crd/gadgets.example.com", ".metadata.uid")
}

// helmReady waits until the Application of the chart is Synced and Healthy.
func (a *argoPlace) helmReady() {
	a.Helper()
	a.deliver()
	if err := a.argo.Ready(a.Context(), "prod.a--shop", "1.0.0"); err != nil {
		a.Fatal(err)
	}
}

// Argo CD installs a release delivered by Helm as fleetc renders it, also nulls in its values.
// fleetc drift sees what Argo CD sees. A change of the delivery keeps all objects, as
// docs/gitops.md describes, and so does the end of the release without a finalizer.
func TestArgoHelm(t *testing.T) {
	a := newArgoPlace(t, "a")
	a.write("charts/shop/templates/objects.yaml", argoHelmObjects)
	a.write("charts/shop/values.yaml", "motd: nothing\nbroken: false\nlimits: {cpu: 1}\nempty: null\n")
	a.write("charts/shop/crds/gadgets.yaml", gadgets)
	a.write("charts/shop/values.schema.json", wrongSchema)
	digest, err := a.servers.Publish(filepath.Join(a.dir, "charts", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	a.edit("environments/shop.cue", `chart: path: "charts/shop"`,
		fmt.Sprintf("delivery: \"helm\"\n\topen: motd: \"it can be a sentence\"\n\tchart: {repo: %q, name: \"shop\", version: \"1.0.0\", digest: %q}", a.servers.URL+"/charts", digest))
	a.edit("environments/shop.cue", `motd: "welcome"`, `{motd: "welcome", limits: null}`)
	a.kubectlInput("a", a.documented("Application"), "apply", "--server-side", "-f", "-")
	a.helmReady()
	if got := a.field("a", "shop", "configmap/limits", ".data.limits"); got != "null" {
		t.Errorf("the limits are %s", got)
	}
	a.fleetc("drift", "prod/a").ok(a.place)
	a.fleetc("diff", "--live", "prod/a").ok(a.place)
	uids := a.shopUIDs()

	a.edit("environments/shop.cue", `delivery: "helm"`, `patches: move: {target: {}, merge: metadata: annotations: "argocd.argoproj.io/sync-options": "Prune=false"}`)
	a.deliver()
	a.fleetc("drift", "prod/a").ok(a.place)
	a.edit("environments/shop.cue", `patches: move: {target: {}, merge: metadata: annotations: "argocd.argoproj.io/sync-options": "Prune=false"}`, `delivery: "helm"`)
	a.helmReady()
	if got := a.shopUIDs(); got != uids {
		t.Errorf("after changes of the delivery, the UIDs are\n%s\nand not\n%s", got, uids)
	}

	a.kubectl("a", "-n", ArgoNamespace, "patch", "application/prod.a--shop", "--type=merge", "-p", `{"metadata":{"finalizers":["resources-finalizer.argocd.argoproj.io"]}}`)
	a.remove("environments/shop.cue")
	a.deliver()
	a.eventually("Argo CD deletes the release", func() error {
		if got := a.kubectl("a", "-n", "shop", "get", "pvc,configmap,gadget", "-o", "name"); strings.Contains(got, "limits") || strings.Contains(got, "gadget") || !strings.Contains(got, "data") {
			return fmt.Errorf("there are %s", got)
		}
		return nil
	})
}

package gitops

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const gadgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// wrongSchema rejects the values of the release shop, which a waiver accepts.
const wrongSchema = `{"properties": {"motd": {"maxLength": 3}}}`

// A release delivered by Helm is a Helm release, with Flux as with apply: its hooks
// run, it follows the values, objects that a prune keeps stay, and a waiver accepts what the schema of the chart rejects.
func TestHelm(t *testing.T) {
	for _, from := range []string{"http", "oci"} {
		t.Run(from, func(t *testing.T) {
			p := newPlace(t, "a")
			p.write("charts/shop/templates/kept.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {fleetc.dev/prune: never}}\n")
			p.write("charts/shop/crds/gadgets.yaml", gadgets)
			p.write("charts/shop/values.schema.json", wrongSchema)
			digest, err := p.servers.Publish(filepath.Join(p.dir, "charts", "shop"))
			if err != nil {
				t.Fatal(err)
			}
			repo := map[string]string{"http": p.servers.URL + "/charts", "oci": "oci://" + p.servers.Host + "/charts"}[from]
			p.edit("environments/shop.cue", `chart: path: "charts/shop"`,
				fmt.Sprintf("delivery: \"helm\"\n\topen: motd: \"it can be a sentence\"\n\tchart: {repo: %q, name: \"shop\", version: \"1.0.0\", digest: %q}", repo, digest))
			c := p.byGit()
			c.deliver()
			release := func(motd, history string) {
				t.Helper()
				if got := p.field("a", "shop", "configmap/shop", ".data.motd"); got != motd {
					t.Errorf("the motd is %s, not %s", got, motd)
				}
				if got := p.field("a", "shop", "jobs", ".items[*].status.succeeded"); got != "1 1" {
					t.Errorf("the hooks have succeeded: %s", got)
				}
				if got := p.field("a", "shop", "secrets", ".items[*].metadata.name"); got != history {
					t.Errorf("Helm's own releases are %s, not %s", got, history)
				}
			}
			release("welcome", "sh.helm.release.v1.shop.v1")
			p.same("a")
			p.fleetc("drift", "prod/a").ok(p)
			first := p.field("a", "shop", "job/shop-migrate", ".metadata.uid")

			p.edit("environments/shop.cue", "welcome", "hello")
			c.deliver()
			release("hello", "sh.helm.release.v1.shop.v1 sh.helm.release.v1.shop.v2")
			if got := p.field("a", "shop", "job/shop-migrate", ".metadata.uid"); got == first {
				t.Error("the hook did not run for the upgrade")
			}
			p.same("a")

			p.remove("environments/shop.cue")
			c.deliver()
			if got := p.field("a", "shop", "configmap/shop", ".metadata.name") + p.field("a", "shop", "secrets", ".items[*].metadata.name"); got != "" {
				t.Errorf("leftovers of the release: %s", got)
			}
			if got := p.field("a", "shop", "configmap/kept", ".metadata.name"); got != "kept" {
				t.Error("an object that a prune keeps is deleted with the release")
			}
			if strings.Contains(p.kubectl("a", "-n", Namespace, "get", "helmreleases,helmrepositories,ocirepositories", "-o", "name"), "shop") {
				t.Error("the release's own objects of Flux are left")
			}
		})
	}
}

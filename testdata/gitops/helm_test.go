package gitops

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A release delivered by Helm is a Helm release, with Flux as with apply: its
// hooks run, and it follows the values.
func TestHelm(t *testing.T) {
	for _, from := range []string{"http", "oci"} {
		t.Run(from, func(t *testing.T) {
			p := newPlace(t, "a")
			digest, err := p.servers.Publish(filepath.Join(p.dir, "charts", "shop"))
			if err != nil {
				t.Fatal(err)
			}
			repo := map[string]string{"http": p.servers.URL + "/charts", "oci": "oci://" + p.servers.Host + "/charts"}[from]
			p.edit("environments/shop.cue", `chart: path: "charts/shop"`,
				fmt.Sprintf("delivery: \"helm\"\n\tchart: {repo: %q, name: \"shop\", version: \"1.0.0\", digest: %q}", repo, digest))
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
			if strings.Contains(p.kubectl("a", "-n", Namespace, "get", "helmreleases,helmrepositories,ocirepositories", "-o", "name"), "shop") {
				t.Error("the release's own objects of Flux are left")
			}
		})
	}
}

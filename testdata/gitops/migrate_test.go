package gitops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// infraFiles are a repository that Flux syncs to the clusters eu and us: a directory for each
// cluster, a Kustomization with plain objects, and a HelmRelease. %[1]s is the Helm repository.
var infraFiles = map[string]string{
	"clusters/eu/apps.yaml": fmt.Sprintf(infraKustomization, "eu", "3"),
	"clusters/us/apps.yaml": fmt.Sprintf(infraKustomization, "us", "2"),
	"apps/namespace.yaml":   "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
	"apps/release.yaml": `apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {interval: 1h, url: %[1]s}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  interval: 1h
  chart:
    spec:
      chart: web
      version: ">=1.0.0"
      sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}
  values:
    colour: ${REGION}-blue
    replicas: ${REPLICAS}
`,
	"apps/worker.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: worker, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: "example.com/worker:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: worker, namespace: shop}
data: {region: "${REGION}"}
`,
}

const infraKustomization = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 1h
  path: ./apps
  prune: true
  wait: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substitute: {REGION: %s, REPLICAS: "%s"}}
`

// A migration is a place whose clusters eu and us run what a repository for Flux has.
type migration struct {
	*place
	infra string // checkout of the repository
	url   string
}

func newMigration(t *testing.T) *migration {
	t.Helper()
	t.Parallel()
	m := &migration{place: &place{T: t, dir: t.TempDir(), flux: map[string]*Flux{}, alone: map[string]string{}}, infra: t.TempDir()}
	names := []string{"eu", "us"}
	for i, c := range m.boot(names...) {
		m.flux[names[i]] = &Flux{Cluster: c}
	}
	m.each(func(_ string, f *Flux) error {
		started, err := Start(t.Context(), os.Stderr, shared, f.Cluster)
		if err == nil {
			*f = *started
		}
		return err
	})
	var err error
	if m.servers, err = Serve(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.servers.Close() })
	if _, err := m.servers.Publish("testdata/fleet/charts/web"); err != nil {
		t.Fatal(err)
	}
	if m.url, err = m.servers.Repository(t.Context(), "infra"); err != nil {
		t.Fatal(err)
	}
	m.git("clone", "-q", m.url, ".")
	for name, text := range infraFiles {
		if name == "apps/release.yaml" {
			text = fmt.Sprintf(text, m.servers.URL+"/charts")
		}
		m.commitFile(name, text)
	}
	m.push()
	m.each(func(name string, _ *Flux) error {
		m.kubectlInput(name, fmt.Sprintf(bootstrap, "GitRepository", m.url, "{branch: main}", "./clusters/"+name), "apply", "--server-side", "-f", "-")
		return m.synced(name)
	})
	m.fleetc("init", "example.com/infra").ok(m.place)
	return m
}

// git runs git in the checkout of the repository.
func (m *migration) git(args ...string) string {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "git", args...)
	cmd.Dir, cmd.Env = m.infra, append(os.Environ(), Git...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *migration) commitFile(name, text string) {
	m.Helper()
	fleets.Write(m, m.infra, map[string]string{name: text})
}

func (m *migration) push() {
	m.Helper()
	m.git("add", "-A")
	m.git("commit", "-q", "-m", "change")
	m.git("push", "-q", "origin", "HEAD:main")
}

// synced waits until Flux applied the newest commit to a cluster.
func (m *migration) synced(name string) error {
	f, revision := m.flux[name], m.git("rev-parse", "HEAD")
	for _, kind := range []string{"GitRepository", "Kustomization"} {
		if err := f.Poke(m.Context(), kind, Namespace, "flux-system"); err != nil {
			return err
		}
		if err := f.Ready(m.Context(), kind, Namespace, "flux-system", revision); err != nil {
			return err
		}
	}
	if err := f.Poke(m.Context(), "Kustomization", Namespace, "apps"); err != nil {
		return err
	}
	if err := f.Ready(m.Context(), "Kustomization", Namespace, "apps", revision); err != nil {
		return err
	}
	if err := f.Poke(m.Context(), "HelmRelease", "shop", "web"); err != nil {
		return err
	}
	return f.Ready(m.Context(), "HelmRelease", "shop", "web", "")
}

// importFleet runs the import of the page.
func (m *migration) importFleet(more ...string) commandResult {
	m.Helper()
	return m.fleetc(append([]string{"import", "flux", m.infra, "--cluster", "prod/eu=clusters/eu", "--cluster", "prod/us=clusters/us"}, more...)...)
}

// running returns the identity of the objects in a cluster that must not be restarted, deleted or
// recreated.
func (m *migration) running(name string) string {
	m.Helper()
	return m.kubectl(name, "get", "namespace", "shop", "-o", "jsonpath={.metadata.uid}{'\\n'}") +
		m.kubectl(name, "-n", "shop", "get", "deployments,replicasets,pods,services,configmaps", "-o",
			"jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.spec} {.data} {.metadata.deletionTimestamp}{'\\n'}{end}")
}

// unchanged reports a change of the running objects of a cluster.
func (m *migration) unchanged(name, before, step string) {
	m.Helper()
	if after := m.running(name); after != before {
		m.Errorf("%s: %s changed what runs:\n%s\nbefore\n%s", name, step, after, before)
	}
}

// suspend suspends the old Kustomizations and HelmReleases of a cluster as flux suspend does, or
// resumes them.
func (m *migration) suspend(name string, suspended bool) {
	m.Helper()
	patch := fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspended)
	m.kubectl(name, "-n", Namespace, "patch", "kustomizations", "flux-system", "apps", "--type=merge", "-p", patch)
	m.kubectl(name, "-n", "shop", "patch", "helmreleases", "web", "--type=merge", "-p", patch)
}

// resume resumes the old Kustomizations and HelmReleases, and has Helm write its labels again.
func (m *migration) resume(name string) {
	m.Helper()
	m.suspend(name, false)
	if err := m.synced(name); err != nil {
		m.Fatal(err)
	}
	now := fmt.Sprint(time.Now().UnixNano())
	m.kubectl(name, "-n", "shop", "annotate", "--overwrite", "helmreleases", "web", requestedAt+"="+now, "reconcile.fluxcd.io/forceAt="+now)
	if err := m.flux[name].Ready(m.Context(), "HelmRelease", "shop", "web", ""); err != nil {
		m.Fatal(err)
	}
}

// removeOld removes the old objects of Flux as the page says.
func (m *migration) removeOld(name string) {
	m.Helper()
	m.kubectl(name, "-n", Namespace, "patch", "kustomizations", "flux-system", "apps", "--type=merge", "-p", `{"spec":{"prune":false,"deletionPolicy":"Orphan"}}`)
	m.kubectl(name, "-n", Namespace, "delete", "kustomizations", "flux-system", "apps")
	m.kubectl(name, "-n", "shop", "delete", "helmreleases", "web")
	m.kubectl(name, "-n", Namespace, "delete", "gitrepositories/flux-system", "helmrepositories/charts")
}

// contexts adds the contexts of the clusters to the fleet.
func (m *migration) contexts() {
	m.Helper()
	for name, f := range m.flux {
		m.write("environments/prod/"+name+"/context.cue", fmt.Sprintf("package fleet\n\ncluster: context: %q\n", f.Cluster.Context))
	}
}

// adopt has the managers of Flux.
const adopt = "--adopt=from:kustomize-controller,from:helm-controller"

// A repository of Flux becomes a fleet that fleetc applies, cluster by cluster, as
// docs/migrate-flux.md says. No pod restarts, no object is recreated, and Flux can have
// everything back.
func TestMigrateFluxToApply(t *testing.T) {
	m := newMigration(t)
	before := m.running("eu")
	m.importFleet().ok(m.place).says(m.place, "^prod/eu +web +3 +equal bytes", "^4 releases in 2 clusters, 2 equal bytes, 2 equal objects$")
	m.contexts()
	m.fleetc("vet", "--render").ok(m.place)
	if d := m.fleetc("diff", "prod/eu", "--live").exits(m.place, 1).says(m.place, "^6 objects updated in 1 cluster$"); strings.Contains(d.said, " spec.") || strings.Contains(d.said, " data.") {
		t.Errorf("the cluster differs in more than labels and annotations:\n%s", d.said)
	}

	// Shadow: a change of the old repository shows in the import and in the difference.
	m.fleetGit("init", "-q")
	m.commitFleet()
	m.importFleet().ok(m.place).says(m.place, "^0 files written")
	m.fleetc("diff", "--against", "git:HEAD").ok(m.place)
	m.replace("clusters/eu/apps.yaml", `REPLICAS: "3"`, `REPLICAS: "4"`)
	m.importFleet().ok(m.place)
	m.fleetc("diff", "--against", "git:HEAD").exits(m.place, 1).says(m.place, "spec.replicas: 3 -> 4")
	m.replace("clusters/eu/apps.yaml", `REPLICAS: "4"`, `REPLICAS: "3"`)
	m.importFleet().ok(m.place)

	// Switch, and back. A second owner is refused.
	m.fleetc("apply", "prod/eu", "--yes", "--adopt").exits(m.place, 2).says(m.place, "Flux HelmRelease shop/web created it", "pass --adopt=from:helm-controller")
	m.suspend("eu", true)
	m.fleetc("apply", "prod/eu", adopt, "--dry-run").exits(m.place, 1).says(m.place, "takes over Deployment.apps shop/web from helm-controller", "^6 objects updated in 1 cluster")
	m.fleetc("apply", "prod/eu", adopt, "--yes").ok(m.place)
	m.unchanged("eu", before, "the apply")
	m.fleetc("apply", "prod/eu", "--yes").ok(m.place).says(m.place, "nothing was written")
	m.resume("eu")
	m.unchanged("eu", before, "the way back")
	m.fleetc("destroy", "prod/eu", "--yes=prod/eu").ok(m.place).says(m.place,
		"keeps Deployment.apps shop/web: Flux HelmRelease shop/web owns it now", "keeps Deployment.apps shop/worker: Flux Kustomization flux-system/apps owns it now")
	m.unchanged("eu", before, "the end of fleetc")
	m.replace("apps/release.yaml", "-blue", "-red")
	m.push()
	m.each(func(name string, _ *Flux) error { return m.synced(name) })
	if got := m.field("eu", "shop", "configmap/web", ".data.colour"); got != "eu-red" {
		t.Errorf("Flux applied the colour %s after the way back", got)
	}

	// Switch for good, and remove the old one.
	before = m.running("eu")
	m.importFleet().ok(m.place)
	m.suspend("eu", true)
	m.fleetc("apply", "prod/eu", adopt, "--yes").ok(m.place)
	m.removeOld("eu")
	m.unchanged("eu", before, "the removal")
	m.fleetc("apply", "prod/eu", "--adopt", "--adopt-forget", "--yes").ok(m.place).says(m.place, "removed the record of Helm release web in shop|removed .*Helm release web")
	m.unchanged("eu", before, "the last apply")
	m.fleetc("apply", "prod/eu", "--yes").ok(m.place).says(m.place, "nothing was written")
	if left := m.kubectl("eu", "-n", "shop", "get", "all,configmaps,secrets", "-l", "owner=helm", "-o", "name") +
		m.kubectl("eu", "get", "deployments,services,configmaps", "-A", "-l", "kustomize.toolkit.fluxcd.io/name", "-o", "name"); left != "" {
		t.Errorf("these are still of Flux or Helm: %s", left)
	}
	if got := m.running("us"); !strings.Contains(got, "us-red") {
		t.Errorf("Flux does not reconcile the other cluster:\n%s", got)
	}
}

// Flux applies the export of the fleet in place of the old repository: no pod restarts, no object is
// recreated, and the old Kustomizations can take over again.
func TestMigrateFluxToExport(t *testing.T) {
	m := newMigration(t)
	before := m.running("us")
	m.importFleet().ok(m.place)
	m.write("environments/gitops.cue", "package fleet\n\ngitops: flux: source: name: \"fleet\"\n")
	url, err := m.servers.Repository(t.Context(), "fleet")
	if err != nil {
		t.Fatal(err)
	}
	m.fleetc("export", "--layout", "flux", "--git", url, "--branch", "main").ok(m.place)
	revision := m.repository("rev-parse", "main")
	m.suspend("us", true)
	fresh := strings.ReplaceAll(bootstrap, "name: flux-system", "name: fleet")
	follow := func() {
		t.Helper()
		m.kubectlInput("us", fmt.Sprintf(fresh, "GitRepository", url, "{branch: main}", "./prod/us/flux"), "apply", "--server-side", "--force-conflicts", "-f", "-")
		f := m.flux["us"]
		for _, o := range [][2]string{{"GitRepository", "fleet"}, {"Kustomization", "fleet"}, {"Kustomization", "fleetc-default"}} {
			if err := f.Ready(t.Context(), o[0], Namespace, o[1], revision); err != nil {
				t.Fatal(err)
			}
		}
	}
	follow()
	m.unchanged("us", before, "the export")
	if got := m.field("us", "shop", "deployment/worker", ".metadata.labels.kustomize\\.toolkit\\.fluxcd\\.io/name"); got != "fleetc-default" {
		t.Errorf("the deployment is of the Kustomization %s", got)
	}

	// Back: the new ones are suspended.
	m.kubectl("us", "-n", Namespace, "patch", "kustomizations", "fleet", "fleetc-default", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	m.resume("us")
	m.unchanged("us", before, "the way back")

	// Again, and for good.
	m.suspend("us", true)
	m.kubectl("us", "-n", Namespace, "patch", "kustomizations", "fleet", "fleetc-default", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	follow()
	m.removeOld("us")
	m.kubectl("us", "-n", "shop", "delete", "secrets", "-l", "owner=helm,name=web")
	follow()
	m.unchanged("us", before, "the removal")
}

// fleetGit runs git in the fleet.
func (m *migration) fleetGit(args ...string) {
	m.Helper()
	infra := m.infra
	m.infra = m.dir
	m.git(args...)
	m.infra = infra
}

func (m *migration) commitFleet() {
	m.Helper()
	m.fleetGit("add", "-A")
	m.fleetGit("commit", "-q", "-m", "import")
}

// replace replaces a text in a file of the repository of Flux.
func (m *migration) replace(name, from, to string) {
	m.Helper()
	data, err := os.ReadFile(filepath.Join(m.infra, filepath.FromSlash(name)))
	if err != nil || !strings.Contains(string(data), from) {
		m.Fatalf("%s has no %q: %v", name, from, err)
	}
	m.commitFile(name, strings.ReplaceAll(string(data), from, to))
}

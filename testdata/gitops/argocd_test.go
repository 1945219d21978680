package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// A build has Argo CD's programs and CRDs.
func TestFinishArgo(t *testing.T) {
	from := t.TempDir()
	module := func(string) (string, error) { return from, nil }
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := finishArgo(t.TempDir(), module); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the script: %v", err)
	}
	write("hack/" + argoVerify)
	if err := finishArgo(t.TempDir(), module); err == nil || !strings.Contains(err.Error(), "no CRDs in "+filepath.Join(from, "manifests", "crds")) {
		t.Errorf("without CRDs: %v", err)
	}
	write("manifests/crds/application-crd.yaml")
	write("manifests/crds/kustomization.yaml")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, argoBuilt), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := finishArgo(dir, module); err != nil {
		t.Fatal(err)
	}
	for _, name := range argoRecipe.Parts {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, crds, "*.yaml")); len(files) != 1 {
		t.Errorf("the CRDs are %q", files)
	}
	gone := errors.New("no such module")
	if err := finishArgo(t.TempDir(), func(string) (string, error) { return "", gone }); !errors.Is(err, gone) {
		t.Errorf("without the module: %v", err)
	}
}

// Without Redis, nothing is built or started.
func TestArgoWithoutRedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := BuildArgoCD(t.Context(), os.Stderr); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("the error is %v", err)
	}
}

// argoPlace is a place with one Argo CD, in the first cluster, that manages all of them.
type argoPlace struct {
	*place
	argo *ArgoCD
	hub  string // name of the cluster of Argo CD
	url  string // of the repository
}

const argoSettings = `package fleet

gitops: argocd: {repoURL: %q, prefix: "clusters", context: %q}
`

func newArgoPlace(t *testing.T, names ...string) *argoPlace {
	t.Helper()
	return newFleet(t, names...).withArgoCD(names...)
}

// withArgoCD starts Argo CD.
func (p *place) withArgoCD(names ...string) *argoPlace {
	p.Helper()
	a := &argoPlace{place: p, hub: names[0]}
	manages := map[string]*clusters.Cluster{}
	for name, f := range p.flux {
		manages[name] = f.Cluster
	}
	var err error
	if a.argo, err = StartArgoCD(p.Context(), os.Stderr, shared, p.flux[a.hub].Cluster, manages); err != nil {
		p.Fatal(err)
	}
	if a.url, err = p.servers.Repository(p.Context(), "fleet"); err != nil {
		p.Fatal(err)
	}
	p.write("environments/argocd.cue", fmt.Sprintf(argoSettings, a.url, p.flux[a.hub].Cluster.Context))
	return a
}

// documented returns the object of a kind in docs/gitops.md that brings the Applications.
func (a *argoPlace) documented(kind string) string {
	a.Helper()
	page, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		a.Fatal(err)
	}
	begin := "```yaml\napiVersion: argoproj.io/v1alpha1\nkind: " + kind + "\n"
	_, text, ok := strings.Cut(string(page), begin)
	text, _, end := strings.Cut(text, "\n```")
	const url = "https://git.example.com/infra/clusters.git"
	if !ok || !end || !strings.Contains(text, url) {
		a.Fatalf("docs/gitops.md has no %s that reads %s", kind, url)
	}
	return strings.ReplaceAll(strings.TrimPrefix(begin, "```yaml\n")+text, url, a.url)
}

// export exports the fleet and returns the commit.
func (a *argoPlace) export() string {
	a.Helper()
	a.fleetc("export", "--layout", "argocd", "--git", a.url, "--branch", "main", "--path", "clusters").ok(a.place)
	return a.repository("rev-parse", "main")
}

// deliver exports the fleet, and waits until the Application clusters and those of all
// clusters are Synced and Healthy.
func (a *argoPlace) deliver() {
	a.Helper()
	a.reconcile(a.export())
}

func (a *argoPlace) reconcile(commit string) {
	a.Helper()
	names := []string{"clusters"}
	for name := range a.flux {
		names = append(names, "prod."+name)
	}
	for _, name := range names {
		if err := a.argo.Ready(a.Context(), name, commit); err != nil {
			a.Fatal(err)
		}
	}
}

// order tests that Argo CD has written objects of a cluster in the given order, after the
// first writes.
func (a *argoPlace) order(name string, mark int, objects ...string) {
	a.Helper()
	writes := a.writesBy(name, argoUser)[mark:]
	var at []int
	for _, object := range objects {
		at = append(at, slices.IndexFunc(writes, func(request string) bool { return strings.HasSuffix(request, "/"+object) }))
	}
	if at[0] < 0 || !slices.IsSorted(at) {
		a.Errorf("the order of %q in %s is %v of\n%s", objects, name, at, strings.Join(writes, "\n"))
	}
}

// Two clusters follow one branch with one Argo CD. All objects become ready as with apply,
// stage by stage; hooks run around their release; removed objects are pruned.
func TestArgoCD(t *testing.T) {
	a := newArgoPlace(t, "a", "b")
	commit := a.export()
	a.kubectlInput("a", a.documented("Application"), "apply", "--server-side", "-f", "-")
	a.reconcile(commit)
	for name, replicas := range map[string]string{"a": "2", "b": "3"} {
		if got := a.field(name, "shop", "deployment/web", ".status.availableReplicas"); got != replicas {
			t.Errorf("%s has %s replicas available, not %s", name, got, replicas)
		}
		a.order(name, 0, "customresourcedefinitions/widgets.example.com", "jobs/shop-migrate", "configmaps/shop", "jobs/shop-announce")
		a.order(name, 0, "namespaces/shop", "jobs/shop-migrate", "deployments/web", "jobs/shop-announce")
	}
	a.same("b")

	a.edit("environments/fleet.cue", `"blue"`, `"red"`)
	a.edit("environments/shop.cue", `"welcome"`, `"hello"`)
	mark := len(a.writesBy("b", argoUser))
	a.deliver()
	a.order("b", mark, "jobs/shop-migrate", "configmaps/shop", "jobs/shop-announce")
	for name := range a.flux {
		if got := a.field(name, "shop", "configmap/web", ".data.colour"); got != "red" {
			t.Errorf("%s has the colour %s", name, got)
		}
	}
	a.same("b")

	a.remove("environments/extra.cue")
	a.deliver()
	a.checkPruned()
	a.same("b")
	a.failedHook()
	a.leaves()
}

// retriesOften has Argo CD retry failed syncs of cluster a every two seconds, and not only
// after the 30 seconds of the export. The Application clusters ignores this difference.
func (a *argoPlace) retriesOften() {
	a.Helper()
	a.kubectl("a", "-n", ArgoNamespace, "patch", "configmap/argocd-cm", "--type=merge", "-p",
		`{"data":{"resource.customizations.ignoreDifferences.argoproj.io_Application":"jsonPointers: [/spec/syncPolicy/retry]"}}`)
	a.kubectl("a", "-n", ArgoNamespace, "patch", "application/prod.a", "--type=merge", "-p",
		`{"spec":{"syncPolicy":{"retry":{"limit":-1,"backoff":{"duration":"2s","factor":1,"maxDuration":"2s"}}}}}`)
}

// failedHook tests that a failed hook blocks its release until it is repaired.
func (a *argoPlace) failedHook() {
	a.Helper()
	a.retriesOften()
	a.edit("environments/shop.cue", `motd: "hello"`, `{motd: "oops", broken: true}`)
	commit := a.export()
	if err := a.argo.Until(a.Context(), "prod.a", "fails", func(app Application) error {
		if s := app.Status.OperationState; s.SyncResult.Revision != commit || !strings.Contains(s.Message, "completed unsuccessfully") {
			return fmt.Errorf("operation %s of %s: %s", s.Phase, s.SyncResult.Revision, s.Message)
		}
		return nil
	}); err != nil {
		a.Fatal(err)
	}
	if got := a.field("a", "shop", "configmap/shop", ".data.motd"); got != "hello" {
		a.Errorf("after a hook that failed, the release is applied: %s", got)
	}
	a.edit("environments/shop.cue", `broken: true`, `broken: false`)
	a.deliver()
	if got := a.field("a", "shop", "configmap/shop", ".data.motd"); got != "oops" {
		a.Errorf("after a hook that is mended, the motd is %s", got)
	}
}

// leaves tests that a cluster that leaves the fleet loses its Application, and that its
// objects stay.
func (a *argoPlace) leaves() {
	a.Helper()
	for _, name := range []string{"cluster.cue", "web.cue"} {
		a.remove("environments/prod/b/" + name)
	}
	commit := a.export()
	if err := a.argo.Ready(a.Context(), "clusters", commit); err != nil {
		a.Fatal(err)
	}
	if got := a.field("a", ArgoNamespace, "application/prod.b", ".metadata.name"); got != "" {
		a.Errorf("the Application %s is still there", got)
	}
	if got := a.field("b", "shop", "deployment/web", ".metadata.name"); got != "web" {
		a.Error("the objects of a cluster that left the fleet are gone")
	}
}

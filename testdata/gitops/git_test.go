package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// bootstrap has the objects that a user creates once in a cluster: the source
// of its bundle, and a Kustomization for the directory with Flux's objects. It
// does not wait for readiness: otherwise it would not notice the commit that
// repairs a broken one.
const bootstrap = `apiVersion: source.toolkit.fluxcd.io/v1
kind: %[1]s
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1h, url: %[2]q, ref: %[3]s}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1h, path: %[4]q, prune: true, sourceRef: {kind: %[1]s, name: flux-system}}
`

// A channel is a way to deliver the fleet to its clusters.
type channel struct {
	*place
	kind   string                   // kind of the source
	export func() map[string]string // exports the fleet and returns the revision for each cluster
}

// byGit makes a repository that the clusters follow.
func (p *place) byGit() channel {
	p.Helper()
	url, err := p.servers.Repository(p.Context(), "fleet")
	if err != nil {
		p.Fatal(err)
	}
	for name := range p.flux {
		p.kubectlInput(name, fmt.Sprintf(bootstrap, "GitRepository", url, "{branch: main}", "./prod/"+name+"/flux"), "apply", "--server-side", "-f", "-")
	}
	return channel{p, "GitRepository", func() map[string]string {
		p.Helper()
		p.fleetc("export", "--layout", "flux", "--git", url, "--branch", "main").ok(p)
		revisions := map[string]string{}
		for name := range p.flux {
			revisions[name] = p.repository("rev-parse", "main")
		}
		return revisions
	}}
}

// repository runs git in the repository of byGit.
func (p *place) repository(args ...string) string {
	p.Helper()
	out, err := p.servers.git(p.Context(), append([]string{"--git-dir", filepath.Join(p.servers.repositories(), "fleet.git")}, args...)...)
	if err != nil {
		p.Fatal(err)
	}
	return out
}

// byOCI has each cluster follow its artifact in the registry.
func (p *place) byOCI() channel {
	p.Helper()
	p.write("environments/oci.cue", "package fleet\n\ngitops: flux: source: kind: \"OCIRepository\"\n")
	base := "oci://" + p.servers.Host + "/fleet"
	for name := range p.flux {
		p.kubectlInput(name, fmt.Sprintf(bootstrap, "OCIRepository", base+"/prod/"+name, "{tag: live}", "./flux"), "apply", "--server-side", "-f", "-")
	}
	return channel{p, "OCIRepository", func() map[string]string {
		p.Helper()
		var out struct {
			Artifacts []struct{ Cluster, Digest string }
		}
		said := p.fleetc("export", "--layout", "flux", "--oci", base+":live", "-o", "json").ok(p).said
		if err := json.Unmarshal([]byte(said), &out); err != nil {
			p.Fatalf("%v in %s", err, said)
		}
		revisions := map[string]string{}
		for _, a := range out.Artifacts {
			revisions[strings.TrimPrefix(a.Cluster, "prod/")] = a.Digest
		}
		return revisions
	}}
}

// deliver exports the fleet and waits until the clusters applied the new
// revisions.
func (c channel) deliver() {
	c.Helper()
	c.reconcile(c.export())
}

// reconcile waits until the clusters applied the given revisions.
func (c channel) reconcile(revisions map[string]string) {
	c.Helper()
	c.each(func(name string, f *Flux) error {
		if revisions[name] == "" {
			return errors.New("nothing was exported for it")
		}
		if err := f.Poke(c.Context(), c.kind, Namespace, "flux-system"); err != nil {
			return err
		}
		return f.Reconciled(c.Context(), revisions[name])
	})
}

// story follows a fleet: all objects become ready as with apply, a change is
// applied, and removed objects are pruned.
func (c channel) story() {
	c.deliver()
	for name, replicas := range map[string]string{"a": "2", "b": "3", "c": "2"} {
		if got := c.field(name, "shop", "deployment/web", ".status.availableReplicas"); got != replicas {
			c.Errorf("%s has %s replicas available, not %s", name, got, replicas)
		}
		if got := c.field(name, "shop", "widget/one", ".spec"); got != `{"colour":"grey","size":1}` {
			c.Errorf("%s has the widget %s", name, got)
		}
	}
	c.same("a")

	c.edit("environments/fleet.cue", `"blue"`, `"red"`)
	c.deliver()
	for name := range c.flux {
		if got := c.field(name, "shop", "configmap/web", ".data.colour"); got != "red" {
			c.Errorf("%s has the colour %s", name, got)
		}
		if got := c.field(name, "shop", "configmap/extra", ".data.of"); got != "extra" {
			c.Errorf("%s has no extra: %s", name, got)
		}
	}
	c.same("a")

	c.remove("environments/extra.cue")
	c.deliver()
	c.checkPruned()
	c.same("a")
}

// checkPruned checks that no cluster has the objects of environments/extra.cue.
func (p *place) checkPruned() {
	p.Helper()
	for name := range p.flux {
		if got := p.field(name, "shop", "configmap/extra", ".metadata.name") + p.field(name, "shop", "serviceaccount/extra", ".metadata.name"); got != "" {
			p.Errorf("%s still has %s", name, got)
		}
	}
}

// Three clusters follow one branch. Each change is one commit, and an export
// without changes makes none.
func TestGit(t *testing.T) {
	p := newPlace(t, "a", "b", "c")
	c := p.byGit()
	commits, once := 0, c.export
	c.export = func() map[string]string {
		t.Helper()
		revisions := once()
		commits++
		if again := once(); again["a"] != revisions["a"] {
			t.Errorf("an export of the same is commit %s after %s", again["a"], revisions["a"])
		}
		if got := p.repository("rev-list", "--count", "main"); got != fmt.Sprint(commits) {
			t.Errorf("there are %s commits after %d changes", got, commits)
		}
		return revisions
	}
	c.story()
}

// Three clusters follow one artifact each. Only changed artifacts are pushed.
func TestOCI(t *testing.T) {
	p := newPlace(t, "a", "b", "c")
	c := p.byOCI()
	c.story()
	before := c.export()
	p.edit("environments/prod/b/web.cue", "replicas: 3", "replicas: 1")
	after := c.export()
	if before["a"] == "" || before["a"] != after["a"] || before["c"] != after["c"] || before["b"] == after["b"] {
		t.Errorf("a change of b alone makes of %v\n%v", before, after)
	}
	c.reconcile(after)
	if got := p.field("b", "shop", "deployment/web", ".spec.replicas"); got != "1" {
		t.Errorf("b has %s replicas", got)
	}
}

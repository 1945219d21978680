package gitops

import (
	"slices"
	"strings"
	"testing"
)

// hooks returns the Jobs of the release with hooks, a line for each: name, UID
// and the number of its succeeded pods.
func (p *place) hooks() []string {
	p.Helper()
	lines := p.kubectl("a", "-n", "shop", "get", "jobs", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.status.succeeded}{'\\n'}{end}")
	return strings.Split(lines, "\n")
}

// unchanged pokes all Kustomizations and tests that the hooks do not run again.
func (p *place) unchanged() {
	p.Helper()
	before, flux := p.hooks(), p.flux["a"]
	all, err := flux.list(p.Context(), "Kustomization")
	if err != nil {
		p.Fatal(err)
	}
	for _, k := range all {
		if err := flux.Poke(p.Context(), "Kustomization", Namespace, k.Metadata.Name); err != nil {
			p.Fatal(err)
		}
	}
	if err := flux.Reconciled(p.Context(), ""); err != nil {
		p.Fatal(err)
	}
	if after := p.hooks(); !slices.Equal(before, after) {
		p.Errorf("hooks ran again though nothing changed: %q, and before %q", after, before)
	}
}

// Hooks run once before and after a change of their release, and not at further
// reconciliations. A failed hook blocks its release until it is repaired.
func TestHooks(t *testing.T) {
	p := newPlace(t, "a")
	c := p.byGit()
	c.deliver()
	first := p.hooks()
	if len(first) != 2 || !strings.HasSuffix(first[0], " 1") || !strings.HasSuffix(first[1], " 1") {
		t.Errorf("the hooks are %q", first)
	}
	p.unchanged()

	p.edit("environments/fleet.cue", `"blue"`, `"red"`)
	c.deliver()
	if got := p.hooks(); !slices.Equal(got, first) {
		t.Errorf("hooks ran for a change of another release: %q, and before %q", got, first)
	}

	p.edit("environments/shop.cue", `"welcome"`, `"hello"`)
	mark := len(p.writes("a"))
	c.deliver()
	for _, hook := range p.hooks() {
		if slices.Contains(first, hook) {
			t.Errorf("a hook did not run for a change of its release: %s", hook)
		}
	}
	writes := p.writes("a")[mark:]
	at := func(object string) int {
		return slices.IndexFunc(writes, func(request string) bool { return strings.HasSuffix(request, "/"+object) })
	}
	if order := []int{at("jobs/shop-migrate"), at("configmaps/shop"), at("jobs/shop-announce")}; order[0] < 0 || !slices.IsSorted(order) {
		t.Errorf("the order is %v of\n%s", order, strings.Join(writes, "\n"))
	}
	p.unchanged()

	p.edit("environments/shop.cue", `motd: "hello"`, `{motd: "oops", broken: true}`)
	commit := c.export()["a"]
	flux := p.flux["a"]
	if err := flux.Poke(t.Context(), "GitRepository", Namespace, "flux-system"); err != nil {
		t.Fatal(err)
	}
	if err := flux.Fails(t.Context(), Namespace, "fleetc-apps.pre-1", commit); err != nil {
		t.Fatal(err)
	}
	if got := p.field("a", "shop", "configmap/shop", ".data.motd"); got != "hello" {
		t.Errorf("after a hook that failed, the release is applied: %s", got)
	}
	p.edit("environments/shop.cue", `broken: true`, `broken: false`)
	c.deliver()
	if got := p.field("a", "shop", "configmap/shop", ".data.motd"); got != "oops" {
		t.Errorf("after a hook that is mended, the motd is %s", got)
	}

	p.remove("environments/shop.cue")
	c.deliver()
	if got := p.kubectl("a", "-n", "shop", "get", "jobs", "-o", "name") + p.field("a", "shop", "configmap/shop", ".metadata.name"); got != "" {
		t.Errorf("%s is left of a release with hooks", got)
	}
}

// writes returns the changes of a cluster by Flux, in order.
func (p *place) writes(name string) []string {
	p.Helper()
	return p.writesBy(name, "flux")
}

// writesBy returns the changes of a cluster by a user, in order.
func (p *place) writesBy(name, user string) []string {
	p.Helper()
	requests, err := p.flux[name].Cluster.Requests()
	if err != nil {
		p.Fatal(err)
	}
	var all []string
	for _, r := range requests {
		if r.User == user && r.Writes() && r.Status < 300 {
			path, _, _ := strings.Cut(r.URI, "?")
			all = append(all, r.Verb+" "+path)
		}
	}
	return all
}

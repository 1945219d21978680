package gitops

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// depending has a release extra that waits for a widget, which is ready when it
// has the label up.
const depending = `package fleet

health: "Widget.example.com": ready: [{expression: "'up' in metadata.labels"}]
releases: extra: depends: widget: true
`

// Flux applies a release after its dependencies are ready, and prunes it.
func TestDepends(t *testing.T) {
	p := newPlace(t, "a")
	c := p.byGit()
	p.write("environments/depends.cue", depending)
	revisions := c.export()
	if err := p.flux["a"].Poke(t.Context(), c.kind, Namespace, "flux-system"); err != nil {
		t.Fatal(err)
	}
	at := func(object string) int {
		return slices.IndexFunc(p.writes("a"), func(request string) bool { return strings.HasSuffix(request, object) })
	}
	for end := time.Now().Add(3 * time.Minute); at("/widgets/one") < 0; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("Flux does not apply the widget")
		}
	}
	time.Sleep(5 * time.Second)
	if got := p.field("a", "shop", "configmap/extra", ".metadata.name"); got != "" {
		t.Error("Flux applies a release before the one that it depends on is ready")
	}
	p.kubectl("a", "-n", "shop", "label", "widgets.example.com/one", "up=yes")
	c.reconcile(revisions)
	if order := []int{at("/widgets/one"), at("/configmaps/extra")}; order[0] < 0 || !slices.IsSorted(order) {
		t.Errorf("the order is %v of\n%s", order, strings.Join(p.writes("a"), "\n"))
	}

	p.remove("environments/extra.cue")
	p.remove("environments/depends.cue")
	c.deliver()
	if got := p.field("a", "shop", "configmap/extra", ".metadata.name"); got != "" {
		t.Error("Flux does not prune the release of a level that is gone")
	}
}

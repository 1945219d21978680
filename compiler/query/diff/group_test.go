package diff

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// deployment returns a Deployment of the release web.
func deployment(t testing.TB, image, checksum string, replicas int) string {
	t.Helper()
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: web, annotations: {release: web, checksum/config: %s}}
spec:
  replicas: %d
  template: {spec: {containers: [{name: app, image: %s}]}}
`, checksum, replicas, image)
}

// sketch formats groups in short.
func sketch(r Result) string {
	var b strings.Builder
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "%s\n", strings.Join(g.Clusters, " "))
		for _, c := range g.Changes {
			partial := ""
			if c.Partial {
				partial = " partial"
			}
			fmt.Fprintf(&b, "  %s %s%s\n", c.Action, c.ID, partial)
			for l := range strings.Lines(short(c.Fields)) {
				fmt.Fprintf(&b, "    %s\n", strings.TrimSpace(l))
			}
		}
	}
	return b.String()
}

func TestGrouper(t *testing.T) {
	clusters := map[string][2]string{
		"prod/a":    {deployment(t, "app:1", "a1", 2), deployment(t, "app:2", "a2", 2)},
		"prod/b":    {deployment(t, "app:1", "b1", 2), deployment(t, "app:2", "b2", 2)},
		"prod/c":    {deployment(t, "app:1", "c1", 2), deployment(t, "app:2", "c1", 2)},
		"dev/a":     {deployment(t, "app:0", "x", 2), deployment(t, "app:2", "x", 1)},
		"dev/b":     {deployment(t, "app:2", "x", 2), deployment(t, "app:2", "x", 2)},
		"staging/a": {"", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {c: a}}"},
		"staging/b": {"", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {c: b}}"},
		"staging/c": {"apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {c: b}}", ""},
	}
	const want = `prod/a prod/b prod/c
  update Deployment.apps web/app partial
    spec.template.spec.containers[name=app].image "app:1" > "app:2"
staging/a staging/b
  create Namespace web partial
dev/a
  update Deployment.apps web/app
    spec.replicas 2 > 1
    spec.template.spec.containers[name=app].image "app:0" > "app:2"
prod/a
  update Deployment.apps web/app partial
    metadata.annotations."checksum/config" "a1" > "a2"
prod/b
  update Deployment.apps web/app partial
    metadata.annotations."checksum/config" "b1" > "b2"
staging/a
  create Namespace web partial
    + {"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"c":"a"},"name":"web"}}
staging/b
  create Namespace web partial
    + {"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"c":"b"},"name":"web"}}
staging/c
  delete Namespace web
    - {"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"c":"b"},"name":"web"}}
`
	var names []string
	for name := range clusters {
		names = append(names, name)
	}
	slices.Sort(names)
	r := rand.New(rand.NewPCG(1, 2))
	var first Result
	for i := range 20 {
		var g Grouper
		for _, name := range names {
			g.Add(name, Objects(objects(t, clusters[name][0]), objects(t, clusters[name][1]), key))
		}
		got := g.Result()
		if i == 0 {
			first = got
			if s := sketch(got); s != want {
				t.Errorf("got\n%s\nwant\n%s", s, want)
			}
		}
		if !reflect.DeepEqual(got, first) {
			t.Fatalf("the order of the clusters matters:\n%s", sketch(got))
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	if want := (Summary{Created: 1, Updated: 1, Deleted: 1, Changes: 7, Clusters: 7, Of: 8}); first.Summary != want {
		t.Errorf("the summary is %+v, want %+v", first.Summary, want)
	}
}

func TestGrouperOfNothing(t *testing.T) {
	var g Grouper
	if r := g.Result(); len(r.Groups) != 0 || !r.Summary.Empty() || r.Summary.Of != 0 {
		t.Errorf("nothing is %+v", r)
	}
	g.Add("a", nil)
	g.Add("a", nil)
	if r := g.Result(); len(r.Groups) != 0 || !r.Summary.Empty() || r.Summary.Of != 1 {
		t.Errorf("a cluster without changes is %+v", r)
	}
}

// TestGrouperTellsApart checks changes that must not be grouped.
func TestGrouperTellsApart(t *testing.T) {
	base := Change{ID: "A b", Action: Update, Release: "r", Fields: []FieldChange{{Path: "p", Before: 1, After: 2, HasBefore: true, HasAfter: true}}}
	with := func(edit func(c *Change, f *FieldChange)) Change {
		c := base
		c.Fields = slices.Clone(base.Fields)
		edit(&c, &c.Fields[0])
		return c
	}
	same := with(func(_ *Change, f *FieldChange) { f.Before, f.After, f.Index = 1.0, int64(2), 7 })
	for name, test := range map[string]struct {
		change Change
		groups int
	}{
		"same":      {same, 1},
		"id":        {with(func(c *Change, _ *FieldChange) { c.ID = "A c" }), 2},
		"release":   {with(func(c *Change, _ *FieldChange) { c.Release = "s" }), 2},
		"moved":     {with(func(c *Change, _ *FieldChange) { c.FromRelease = "s" }), 2},
		"path":      {with(func(_ *Change, f *FieldChange) { f.Path = "q" }), 2},
		"was":       {with(func(_ *Change, f *FieldChange) { f.Before = "1" }), 2},
		"is":        {with(func(_ *Change, f *FieldChange) { f.After = nil }), 2},
		"absent":    {with(func(_ *Change, f *FieldChange) { f.Before, f.HasBefore = nil, false }), 2},
		"reordered": {with(func(_ *Change, f *FieldChange) { f.Reordered = true }), 2},
		"secret":    {with(func(_ *Change, f *FieldChange) { f.Secret = true }), 2},
	} {
		var g Grouper
		g.Add("a", []Change{base})
		g.Add("b", []Change{test.change})
		if n := len(g.Result().Groups); n != test.groups {
			t.Errorf("%s: %d groups, want %d", name, n, test.groups)
		}
	}
}

// TestGrouperKeepsOneCopy checks that equal changes of many clusters are
// stored once.
func TestGrouperKeepsOneCopy(t *testing.T) {
	var g Grouper
	for i := range 500 {
		before := objects(t, deployment(t, "app:1", "a", 1))
		after := objects(t, deployment(t, "app:2", "a", 2))
		g.Add(fmt.Sprint("c", i), Objects(before, append(after, fleet.Object{}), key))
	}
	if n := len(g.units); n != 2 {
		t.Errorf("%d changes are kept", n)
	}
	r := g.Result()
	if len(r.Groups) != 1 || len(r.Groups[0].Clusters) != 500 || r.Groups[0].Changes[0].Partial {
		t.Errorf("%d groups", len(r.Groups))
	}
}

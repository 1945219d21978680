package unify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// explained returns an explanation as lines: state and value, then the
// contributions.
func explained(t *testing.T, archive, path string) string {
	t.Helper()
	root, layers, upto := loaded(t, archive)
	x, err := Explain(root, "prod/eu", layers, upto)
	if err != nil {
		t.Fatal(err)
	}
	keys, ok := fleet.ParseField(path)
	if !ok {
		t.Fatalf("%s is not a valid path", path)
	}
	e, err := x.Field(keys, nil)
	if err != nil {
		return err.Error() + "\n"
	}
	value, err := json.Marshal(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", e.State, value)
	var write func(indent, path string, c *fleet.Contribution)
	write = func(indent, path string, c *fleet.Contribution) {
		at := strings.TrimPrefix(c.At.File, "environments/")
		fmt.Fprintf(&b, "%s%s:%d %s %s %s", indent, at, c.At.Line, c.Layer, c.Kind, c.Role)
		if path != "" {
			b.WriteString(" " + path)
		}
		b.WriteString(": " + c.Expr + "\n")
		for _, s := range c.From {
			write(indent+"  ", s.Path, s.Contribution)
		}
		if c.More > 0 {
			fmt.Fprintf(&b, "%s  and %d more\n", indent, c.More)
		}
	}
	for _, c := range e.Contributions {
		if c.Kind != fleet.SchemaType {
			write("", c.Path, c)
		}
	}
	for _, l := range e.Leaves {
		fmt.Fprintf(&b, "%s %s\n", l.Path, l.State)
	}
	return b.String()
}

func TestExplainField(t *testing.T) {
	for _, test := range []struct{ name, in, path, want string }{
		{
			"null in values removes what is below", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], defaults: root: m: x: 1}
-- eu.cue --
releases: a: values: m: null`,
			"releases.a.values.m.x", `
deleted null
fleet.cue:2 root default loses: 1
prod/eu/fleet.cue:2 eu pin wins releases.a.values.m: null
`,
		},
		{
			"a default of another kind replaces a map", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], defaults: root: m: x: 1}
-- prod.cue --
releases: a: defaults: prod: m: "none"`,
			"releases.a.values.m.x", `
unset null
fleet.cue:2 root default loses: 1
prod/fleet.cue:2 prod default wins releases.a.defaults.prod.m: "none"
`,
		},
		{
			"CUE's own defaults do not stack", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: x: *1 | int}
-- prod.cue --
releases: a: values: x: *2 | int`,
			"releases.a.values.x", `
incomplete null
fleet.cue:2 root cue-default waits: *1 | int
prod/fleet.cue:2 prod cue-default waits: *2 | int
`,
		},
		{
			"a constraint takes CUE's own default away", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: x: *1 | int}
-- prod.cue --
releases: a: values: x: >=3 | *4`,
			"releases.a.values.x", `
set 4
fleet.cue:2 root cue-default loses: *1 | int
prod/fleet.cue:2 prod cue-default wins: >=3 | *4
`,
		},
		{
			"a pattern speaks for all", `
-- root.cue --
releases: [string]: namespace: "n"
releases: a: objects: [#cm]`,
			"releases.a.namespace", `
set "n"
fleet.cue:2 root pin wins: "n"
`,
		},
		{
			"two references to each other", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: x: releases.b.values.x}
releases: b: {namespace: "n", objects: [#cm], values: x: releases.a.values.x}`,
			"releases.a.values.x", `
incomplete null
fleet.cue:2 root constraint waits: releases.b.values.x
  fleet.cue:3 root constraint waits releases.b.values.x: releases.a.values.x
`,
		},
		{
			"a reference that nobody gives a value", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: x: "\(releases.b.values.x)-1"}
releases: b: {namespace: "n", objects: [#cm], values: x: string}`,
			"releases.a.values.x", `
incomplete null
fleet.cue:2 root pin waits: "\(releases.b.values.x)-1"
  fleet.cue:3 root constraint waits releases.b.values.x: string
`,
		},
		{
			"let, for over a list, and an index", `
-- root.cue --
_zones: ["a", "b"]
releases: a: {
	namespace: "n"
	objects: [#cm]
	let prefix = "zone-\(releases.a.namespace)"
	values: zones: {for z in _zones {(z): "\(prefix)-\(z)"}}
	values: first: _zones[0]
}`,
			"releases.a.values.zones.b", `
set "zone-n-b"
fleet.cue:7 root pin wins: "\(prefix)-\(z)"
  fleet.cue:2 root pin wins _zones[0]: "a"
  fleet.cue:2 root pin wins _zones[1]: "b"
  fleet.cue:4 root pin wins releases.a.namespace: "n"
  fleet.cue:7 root condition holds: for z in _zones
`,
		},
		{
			"an alias, and a condition on it", `
-- root.cue --
R=releases: a: {namespace: "n", objects: [#cm], values: x: R.b.values.y}
releases: b: {namespace: "n", objects: [#cm], values: {y: *1 | int, if y > 1 {z: y}}}
-- prod.cue --
releases: b: defaults: prod: y: 2`,
			"releases.a.values.x", `
set 2
fleet.cue:2 root pin wins: R.b.values.y
  prod/fleet.cue:2 prod default wins releases.b.values.y: 2
`,
		},
		{
			"a value in a field that is not allowed", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], vaules: x: 1}`,
			"releases.a.vaules.x", `
conflict null
fleet.cue:2 root pin conflicts: 1
`,
		},
		{
			"a map with a map in it that is empty", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: {m: {}, l: [1], n: o: 2}}`,
			"releases.a.values", `
set {"l":[1],"m":{},"n":{"o":2}}
releases.a.values.l set
releases.a.values.m set
releases.a.values.n.o set
`,
		},
		{
			"conditions on conditions", `
-- root.cue --
_a: {x: *1 | int, if _b.x == 2 {x: 2}}
_b: {x: *1 | int, if _c {x: 2}}
_c: *false | bool
releases: a: {namespace: "n", objects: [#cm], values: x: _a.x}
-- prod.cue --
_c: true`,
			"releases.a.values.x", `
set 2
fleet.cue:5 root pin wins: _a.x
  fleet.cue:2 root pin wins _a.x: 2
    fleet.cue:2 root condition holds: if _b.x == 2
      fleet.cue:3 root pin wins _b.x: 2
        fleet.cue:3 root condition holds: if _c
          prod/fleet.cue:2 prod pin wins _c: true
`,
		},
		{
			"a misspelt field of the cluster", `
-- root.cue --
releases: {}`,
			"cluster.kubernets", "cluster.kubernets: no such field\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, want := explained(t, test.in, test.path), strings.TrimPrefix(test.want, "\n"); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestExplainBound checks that the number of listed sources is limited and the
// others are counted.
func TestExplainBound(t *testing.T) {
	got := explained(t, `
-- root.cue --
_all: {for i in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {for j in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {"k\(i)\(j)": 1}}}
releases: a: {namespace: "n", objects: [#cm], values: sum: len([for k, v in _all {v}])}`, "releases.a.values.sum")
	if n := strings.Count(got, " _all.k"); n == 0 || n > maxSources || !strings.Contains(got, " more\n") || !strings.HasPrefix(got, "set 100\n") {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

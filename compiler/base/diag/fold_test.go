package diag

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// masked returns a masked fault of a cluster with the given name and region.
func masked(cluster, region string, exact bool, d Diag) *Diag {
	m := &Mask{}
	m.Add("prod/"+cluster, "\x00")
	m.Add(cluster, "\x00")
	m.Add(region, "\x00")
	d.Clusters = []string{"prod/" + cluster}
	if d.At == nil {
		d.At = []Pos{{"a.cue", 1, 1}}
	}
	return d.Masked(m, exact)
}

func TestFold(t *testing.T) {
	tests := []struct {
		name string
		a, b *Diag
		one  bool
	}{
		{"names", masked("eu", "north-1", false, Diag{Msg: "eu-web is long"}), masked("us-2", "west", false, Diag{Msg: "us-2-web is long"}), true},
		{"facts", masked("eu", "north-1", false, Diag{Msg: "x north-1."}), masked("us", "west", false, Diag{Msg: "x west."}), true},
		{"region as the name", masked("eu", "eu", false, Diag{Msg: `"eu"`}), masked("us", "west", false, Diag{Msg: `"west"`}), true},
		{"paths", masked("eu", "a1", false, Diag{Path: "Job a/eu", Msg: "m"}), masked("us", "b1", false, Diag{Path: "Job a/us", Msg: "m"}), true},
		{"hints", masked("eu", "a1", false, Diag{Msg: "m", Hint: `write "eu"`}), masked("us", "b1", false, Diag{Msg: "m", Hint: `write "us"`}), true},
		{"parts of words", masked("eu", "a1", false, Diag{Msg: "queue"}), masked("us", "b1", false, Diag{Msg: "qusue"}), false},
		{"other texts", masked("eu", "a1", false, Diag{Msg: `"x"`}), masked("us", "b1", false, Diag{Msg: `"y"`}), false},
		{"other values at the line that sets them", masked("eu", "a1", true, Diag{Msg: `"x" is 3`}), masked("us", "b1", true, Diag{Msg: `"y z" is 12.5`}), true},
		{"other words there", masked("eu", "a1", true, Diag{Msg: `x is 3`}), masked("us", "b1", true, Diag{Msg: `y is 3`}), false},
		{"other items of a list", masked("eu", "a1", true, Diag{Msg: `a[0] is 3`}), masked("us", "b1", true, Diag{Msg: `a[1] is 3`}), false},
		{"other places", masked("eu", "a1", true, Diag{Msg: "m eu"}), masked("us", "b1", true, Diag{At: []Pos{{"a.cue", 2, 1}}, Msg: "m us"}), false},
		{"one cluster", masked("eu", "a1", true, Diag{Msg: "m 1"}), masked("eu", "a1", true, Diag{Msg: "m 2"}), false},
		{"unknown clusters", &Diag{Msg: "m 1", Clusters: []string{"a"}}, &Diag{Msg: "m 2", Clusters: []string{"b"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, l := range []List{{tt.a, tt.b}, {tt.b, tt.a}} {
				folded := Fold(l.Err())
				if got := len(folded) == 1; got != tt.one {
					t.Fatalf("folded is %v, want one fault: %v", folded, tt.one)
				}
				if !tt.one {
					continue
				}
				d := folded[0]
				if d.Msg != tt.a.Msg || d.Example != "prod/eu" || !slices.Equal(d.Clusters, slices.Concat(tt.a.Clusters, tt.b.Clusters)) {
					t.Errorf("got %+v", d)
				}
			}
		})
	}
	if Fold(nil) != nil {
		t.Error("no fault becomes one")
	}
}

// TestFoldPairs checks two mistakes with the same form in each cluster.
func TestFoldPairs(t *testing.T) {
	var l List
	for _, c := range []string{"eu", "us"} {
		for i := range 2 {
			l = append(l, masked(c, "a1", true, Diag{Msg: fmt.Sprintf("%s %d", c, i)}))
		}
	}
	if got := Fold(l.Err()); len(got) != 2 || len(got[0].Clusters) != 2 || len(got[1].Clusters) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestFoldText(t *testing.T) {
	var l List
	for i := range 13 {
		c := fmt.Sprintf("c%02d", i)
		l = append(l, masked(c, "a1", false, Diag{Msg: c, Facts: []Pos{{c, 1, 1}}}))
	}
	var b strings.Builder
	if err := WriteText(&b, Fold(l.Err()), nil); err != nil {
		t.Fatal(err)
	}
	want := `a.cue:1:1: c00
    in 13 clusters, for example prod/c00, as shown; also prod/c01, prod/c02, prod/c03, prod/c04, prod/c05, prod/c06, prod/c07, prod/c08, prod/c09, prod/c10 and 2 more
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

func BenchmarkFold(b *testing.B) {
	var l List
	for i := range 200 {
		c := fmt.Sprintf("cluster-%d", i)
		for n := range 1000 {
			l = append(l, masked(c, "north-1", true, Diag{
				At: []Pos{{"a.cue", n, 1}}, Path: "releases.web.values.name", Msg: fmt.Sprintf("%q is longer than %d", c+"-web", n),
			}))
		}
	}
	for b.Loop() {
		if got := len(Fold(l.Err())); got != 1000 {
			b.Fatalf("got %d faults, want 1000", got)
		}
	}
}

// A folded fault keeps a fix only if it is the same in all clusters.
func TestFoldFixes(t *testing.T) {
	fault := func(cluster, name string) *Diag {
		var m Mask
		m.Add(cluster, "CLUSTER")
		d := &Diag{At: []Pos{{File: "a.cue", Line: 1}}, Clusters: []string{cluster}, Msg: "in " + cluster, Fixes: []Fix{{Kind: FixName, Old: "nmae", New: name}}}
		return d.Masked(&m, false)
	}
	for name, want := range map[string]int{"name": 1, "game": 0} {
		folded := Fold(List{fault("one", "name"), fault("two", name)})
		if len(folded) != 1 || len(folded[0].Fixes) != want {
			t.Errorf("with %s: %v", name, folded)
		}
	}
}

package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func at(line int, layer string) Origin {
	return Origin{Pos: diag.Pos{File: "f.cue", Line: line}, Layer: layer}
}

// nothing is an absent function for clusters without a value.
func nothing(string, []string, int) (Cell, bool) { return Cell{}, true }

func text(differences []Difference) string {
	var b strings.Builder
	for _, d := range differences {
		fmt.Fprintf(&b, "%s %s\n", d.Release, d.Name())
		for i, text := range d.Texts() {
			v := d.Variants[i]
			fmt.Fprintf(&b, "  %s %v", text, v.Clusters)
			for _, o := range v.Origins {
				fmt.Fprintf(&b, " %s%s%s", o.Pos, o.Layer, o.Chart)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestTable(t *testing.T) {
	table := NewTable([]string{"z", "b", "c", "d"})
	add := func(cluster int, release, path string, v any, o Origin) {
		table.Add(release, strings.Split(path, "/"), cluster, Cell{Value: v, Exists: true, Origin: o})
	}
	for i, v := range []any{int64(1), 1.0, int64(5), 1} {
		add(i, "web", "replicas", v, at(i/2, "prod"))
	}
	for i := range 4 {
		add(i, "web", "same", []any{"a"}, at(i, ""))
	}
	add(0, "web", "a.b/10", "1", at(1, ""))
	add(0, "web", "a.b/9", nil, Origin{})
	add(1, "app", "x", "y", Origin{Chart: "c"})
	add(1, "app", "default", "y", Origin{})
	absent := func(release string, path []string, cluster int) (Cell, bool) {
		switch {
		case release == "app" && cluster > 1:
			return Cell{}, false
		case path[0] == "default":
			return Cell{Value: "y", Exists: true}, true
		}
		return Cell{}, true
	}
	want := `app x
  - [z]
  y [b] c
web "a.b"."9"
  - [b c d]
  null [z]
web "a.b"."10"
  - [b c d]
  "1" [z] f.cue:1
web replicas
  1 [z b d] f.cueprod f.cue:1prod
  5 [c] f.cue:1prod
`
	want = strings.ReplaceAll(want, `."9"`, ".9")
	want = strings.ReplaceAll(want, `."10"`, ".10")
	if got := text(table.Differences(absent)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTableIsFair checks with random cells that each cluster is in exactly one
// variant of each row, that variants differ, and that the order of Add does
// not matter.
func TestTableIsFair(t *testing.T) {
	values := []any{nil, true, "a", "b", int64(1), 2.5, []any{"a"}, map[string]any{"a": "b"}}
	clusters := []string{"a", "b", "c", "d", "e", "f"}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		type cell struct {
			path    []string
			cluster int
			value   any
		}
		var cells []cell
		for i := range clusters {
			for row := range 5 {
				if rnd.IntN(4) > 0 {
					cells = append(cells, cell{[]string{fmt.Sprint(row)}, i, values[rnd.IntN(len(values))]})
				}
			}
		}
		fill := func() []Difference {
			table := NewTable(clusters)
			for _, c := range cells {
				table.Add("r", c.path, c.cluster, Cell{Value: c.value, Exists: true, Origin: at(c.cluster+1, "")})
			}
			return table.Differences(nothing)
		}
		first := fill()
		rnd.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		if again := fill(); text(again) != text(first) {
			t.Fatalf("seed %d: another order gives\n%s\nand not\n%s", seed, text(again), text(first))
		}
		for _, d := range first {
			var in []string
			for i, v := range d.Variants {
				in = append(in, v.Clusters...)
				for _, w := range d.Variants[:i] {
					if v.Exists == w.Exists && equal(v.Value, w.Value) || len(w.Clusters) < len(v.Clusters) {
						t.Fatalf("seed %d: %v beside %v", seed, v, w)
					}
				}
			}
			if slices.Sort(in); !slices.Equal(in, clusters) {
				t.Fatalf("seed %d: %v are in the variants of %s", seed, in, d.Name())
			}
		}
	}
}

func TestTexts(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, test := range []struct{ a, b, wantA, wantB any }{
		{"a", "10", "a", `"10"`},
		{"\x1b[31m\u202e", "a b", `"\u001b[31m\u202e"`, `"a b"`},
		{[]any{"a", "b"}, map[string]any{"k": "<v>"}, "[a, b]", `{"k":"<v>"}`},
		{long + "a", long + "b", "..." + strings.Repeat("x", 63) + "a (201 bytes)", "..." + strings.Repeat("x", 63) + "b (201 bytes)"},
		{long, "y", strings.Repeat("x", 64) + "... (200 bytes)", "y"},
	} {
		d := Difference{Variants: []Variant{{Value: test.a, Exists: true}, {Value: test.b, Exists: true}}}
		if got := d.Texts(); got[0] != test.wantA || got[1] != test.wantB {
			t.Errorf("%q and %q are %q", test.a, test.b, got)
		}
	}
}

func TestSecretTexts(t *testing.T) {
	s := SecretTexts{}
	note := func(kind string, content map[string]any) {
		content["kind"] = kind
		s.Add(fleet.Object{Unstructured: &unstructured.Unstructured{Object: content}})
	}
	note("Secret", map[string]any{"data": map[string]any{"a": "c2VjcmV0Cg==", "n": "MTIzNA==", "bad": 3}, "stringData": map[string]any{"b": "word", "empty": ""}})
	note("ConfigMap", map[string]any{"data": map[string]any{"a": "plain"}})
	s.Add(fleet.Object{})
	table := NewTable([]string{"a", "b"})
	table.Add("r", []string{"v"}, 0, Cell{Value: s.Mask([]any{"secret", "word", "plain", "", int64(1234), map[string]any{"k": "secret\n"}}), Exists: true})
	table.Add("r", []string{"v"}, 1, Cell{Value: s.Mask([]any{"word", "secret", "plain", "", int64(1234), map[string]any{"k": "c2VjcmV0Cg=="}}), Exists: true})
	want := `r v
  [<secret>,<secret>,plain,"",<secret>,{"k":<secret>}] [a]
  [<secret>,<secret>,plain,"",<secret>,{"k":<secret>}] [b]
`
	if got := strings.NewReplacer(`"<secret>"`, "<secret>", `"plain"`, "plain").Replace(text(table.Differences(nothing))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

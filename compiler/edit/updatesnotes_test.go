package edit

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// chartOf returns a chart with lines in its Chart.yaml.
func chartOf(lines string) *fleet.Chart {
	return &fleet.Chart{Files: []fleet.File{{Name: "Chart.yaml", Data: []byte("name: a\n" + lines)}}}
}

// Notes of a chart cannot leave their place in the text of a pull request.
func TestHostileNotes(t *testing.T) {
	for _, change := range []string{
		"</details><script>alert(1)</script>", "[a](https://evil.example.com)", "![a](https://evil.example.com/x.png)", "``` | # @everyone",
		"a\n\n# b", "\x1b[31mred\x1b]0;title\x07", "https://evil.example.com www.evil.example.com", "<!-- ", "\u202ea", "$x$", strings.Repeat("x", 1<<20),
	} {
		g := &UpdateGroup{Name: "a", Notes: []ReleaseNotes{{Name: "a", Version: "1", Changes: []string{change, change}}}}
		var b strings.Builder
		if err := g.WriteMarkdown(&b, "main", "", MaxUpdateMarkdown); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(b.String(), "These texts come from the charts and images.\n\n")
		text, _, _ = strings.Cut(text, "\n## Try it")
		if len(b.String()) > MaxUpdateMarkdown || strings.Count(text, "\n") != 3 {
			t.Errorf("%.40q makes %d bytes and %d lines", change, b.Len(), strings.Count(text, "\n"))
		}
		for _, bad := range []string{"<script", "](", "```", "@", "\x1b", "\u202e", "://", "www.", "<!--", "$"} {
			if strings.Contains(text, bad) {
				t.Errorf("%.40q: the text has %q:\n%s", change, bad, text)
			}
		}
	}
}

func TestChartNotes(t *testing.T) {
	n := chartNotes(chartOf("home: javascript:alert(1)\nsources: [\"https://a.example.com/x_y\", \"https://u:p@b.example.com\", \"https://c.example.com/)[x](y\", \"https://d.example.com/%0a\", \"http://e.example.com\"]\n"))
	if want := []string{"https://a.example.com/x_y"}; !slices.Equal(n.Links, want) {
		t.Errorf("links %q, want %q", n.Links, want)
	}
	long := chartNotes(chartOf("annotations:\n  artifacthub.io/changes: |\n" + strings.Repeat("    - a change\n", 1<<16)))
	if !long.TooLong || len(long.Changes) > 0 {
		t.Errorf("a list of 1 MB has %d changes", len(long.Changes))
	}
	bomb := chartNotes(chartOf("annotations:\n  artifacthub.io/changes: |\n    - &a [x, x]\n    - &b [*a, *a]\n    - [*b, *b]\n    - 5\n"))
	if len(bomb.Changes) > 0 {
		t.Errorf("changes of other kinds: %q", bomb.Changes)
	}
}

// The text of a group with very much to say is cut.
func TestMarkdownLimit(t *testing.T) {
	g := &UpdateGroup{Name: "a"}
	for range 2000 {
		g.Updates = append(g.Updates, Update{Kind: ChartUpdateKind, Short: strings.Repeat("<", 50), VersionChange: VersionChange{From: "1", To: "2"}, Releases: []string{"a"}})
		g.Values = append(g.Values, ChartValueChanges{Name: "a", Added: 1, Concern: []values.Change{{Path: strings.Repeat("a", 90), Kind: values.Removed}}})
		g.Notes = append(g.Notes, ReleaseNotes{Name: "a", Changes: []string{strings.Repeat("&", 300)}})
	}
	var b strings.Builder
	if err := g.WriteMarkdown(&b, "main", "", MaxUpdateMarkdown); err != nil || b.Len() > MaxUpdateMarkdown {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	if n := strings.Count(b.String(), "\nToo long: "); n != 3 {
		t.Errorf("%d sections say that they are cut, want 3", n)
	}
}

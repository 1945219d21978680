package diff

import (
	"fmt"
	"strings"
	"testing"
)

func TestMarkdownIsBounded(t *testing.T) {
	r := Result{Summary: Summary{Updated: 200, Changes: 400, Clusters: 2, Of: 2}}
	for _, cluster := range []string{"a", "b"} {
		g := Group{Clusters: []string{cluster}}
		for i := range 200 {
			c := change(fmt.Sprintf("spec.field%d", i), strings.Repeat("x", i), strings.Repeat("`", i%7))
			c.ID = fmt.Sprintf("Thing n/%d", i)
			g.Changes = append(g.Changes, c)
		}
		r.Groups = append(r.Groups, g)
	}
	for _, limit := range []int{0, 1, 100, 200, 300, 1000, 5000, 20_000, 1_000_000} {
		_, out, _ := checkWritten(t, r, Style{Limit: limit})
		if n := (Style{Limit: limit}).limit(); len(out) > max(n, 200) {
			t.Errorf("%d bytes, the limit is %d", len(out), n)
		}
		shown := strings.Count(out, "@@ Thing n/")
		left := 0
		if i := strings.Index(out, "Too long: "); i >= 0 {
			if _, err := fmt.Sscanf(out[i:], "Too long: %d changes", &left); err != nil {
				t.Fatal(err)
			}
		}
		if shown+left != 400 || limit == 1_000_000 && left != 0 || limit == 1 && shown != 0 || limit == 5000 && shown < 10 {
			t.Errorf("limit %d: %d changes are shown, %d left out", limit, shown, left)
		}
		if open, shut := strings.Count(out, "<details"), strings.Count(out, "</details>"); open != shut {
			t.Errorf("limit %d: %d sections begin, %d end", limit, open, shut)
		}
	}
}

// TestMarkdownStaysInItsFence finds the ends of code blocks as a Markdown
// parser does, and checks the text outside of them.
func TestMarkdownStaysInItsFence(t *testing.T) {
	hostile := "```\n````\n~~~\n</details>\n<script>\n@everyone\n# title\n[x](http://example.com)\n`````````"
	c := change((*step)(nil).key(hostile).String(), hostile, hostile+"\n```\r```\n")
	c.ID, c.Release = "A "+hostile, "</summary>"+hostile
	d := Change{ID: "B", Action: Create, Fields: []FieldChange{{After: map[string]any{hostile: []any{hostile}}, HasAfter: true}}}
	r := Result{Groups: []Group{{[]string{"</code>@everyone", hostile}, []Change{c, d}}}, Summary: Summary{Updated: 1, Created: 1, Changes: 4, Clusters: 2, Of: 3}}
	_, out, _ := checkWritten(t, r, Style{Content: true})
	var outside []string
	fence := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && len(ticks) >= len(fence) && line == ticks:
			fence = ""
		case fence == "":
			outside = append(outside, line)
		}
	}
	got := strings.Join(outside, "\n")
	want := "**1 object created, 1 updated in 2 of 3 clusters**\n\n<details open><summary>the same changes in 2 of 3 clusters: <code>&#60;/code&#62;&#64;everyone</code>, <code>" +
		"&#96;&#96;&#96;&#92;n&#96;&#96;&#96;&#96;&#92;n&#126;&#126;&#126;&#92;n&#60;/details&#62;&#92;n&#60;script&#62;&#92;n&#64;everyone&#92;n&#35; title&#92;n&#91;x&#93;(http://example.com)&#92;n&#96;&#96;&#96;&#96;&#96;&#96;&#96;&#96;&#96;</code></summary>\n\n\n</details>"
	if fence != "" || got != want {
		t.Errorf("fence %q, and outside of it:\n%s\nwant\n%s", fence, got, want)
	}
}

func TestMarkdownText(t *testing.T) {
	for text, want := range map[string]string{
		"plain-1.2/x: y":    "plain-1.2/x: y",
		"<b>|`all` *_[#1]~": "&#60;b&#62;&#124;&#96;all&#96; &#42;&#95;&#91;&#35;1&#93;&#126;",
		"ask @all":          "<code>ask &#64;all</code>",
		"a\n| b\x1b":        "a\uFFFD&#124; b\uFFFD",
		"&amp; \\ é":        "&#38;amp; &#92; é",
	} {
		if got := MarkdownText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestGitHubCommands parses the output as the runner does: it searches for
// commands, also in the old syntax, except between a stop command and its end.
func TestGitHubCommands(t *testing.T) {
	hostile := "::set-output name=a::b\n::error::x\n##[group]y\r::endgroup::\n::fleetc-::\n%0A::error::z"
	c := change("p", hostile, hostile+"\nmore")
	c.ID = "A\n::error::" + hostile
	r := Result{
		Groups:  []Group{{[]string{"\n::error::x", "##[error]"}, []Change{c, {ID: "B", Action: Create, Fields: []FieldChange{{After: hostile, HasAfter: true}}}}}},
		Created: []WholeCluster{{"::error::x", 1}}, Summary: Summary{Updated: 1, Created: 1, Changes: 4, Clusters: 2, Of: 3},
	}
	for _, s := range []Style{{}, {Colour: true, Content: true}} {
		var b strings.Builder
		if err := WriteGitHub(&b, r, s); err != nil {
			t.Fatal(err)
		}
		var commands []string
		stopped := ""
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSpace(line)
			command, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
			switch {
			case stopped != "":
				if line == "::"+stopped+"::" {
					stopped = ""
				}
			case !strings.HasPrefix(line, "::"):
				t.Errorf("a line outside of all sections: %q", line)
			case command == "stop-commands":
				stopped = strings.TrimPrefix(line, "::stop-commands::")
			default:
				commands = append(commands, command)
			}
		}
		if got := strings.Join(commands, ", "); stopped != "" || got != "notice title=fleetc diff, group, endgroup, group, endgroup" {
			t.Errorf("stopped %q, commands %s", stopped, got)
		}
	}
}

func TestGitHubOfNothing(t *testing.T) {
	var b strings.Builder
	if err := WriteGitHub(&b, Result{Summary: Summary{Of: 3}}, Style{}); err != nil || b.String() != "no differences in 3 clusters\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

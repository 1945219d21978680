package lsp

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Texts from outside cannot end their code, and have no markup, links or control characters.
func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"a":            "`a`",
		"a`b``c":       "``` a`b``c ```",
		"":             "`  `",
		"a\n\x1b[31m`": "`` a\ufffd\ufffd[31m` ``",
	} {
		if got := codeSpan(text); got != want {
			t.Errorf("the code of %q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"*a* [b](http://c) <img>": `\*a\* \[b\]\(http\://c\) \<img\>`,
		"a\n# b":                  "a\ufffd\\# b",
		"a\u202eb":                "a\ufffdb",
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	c := &checker{root: "/fleet"}
	if got := c.link(diag.Pos{File: "environments/a> [b](c)/x.cue", Line: 3}); strings.Count(got, ">") != 2 || !strings.Contains(got, "x.cue#L3>)") {
		t.Errorf("the link is %s", got)
	}
}

package values

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// here is the action in the tests.
const here = "{{ HERE }}"

// TestPlaces has actions in YAML, and the places that they print to. Without an
// indentation, the output continues the line of the action.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		indent int // -1 for none
		want   string
	}{
		"behind a key":          {"kind: X\nspec:\n  a: {{ HERE }}\n", -1, "spec a whole"},
		"below a key":           {"spec:\n  a:\n    {{ HERE }}", 4, "spec a whole"},
		"on the line of a key":  {"spec:\n  a: {{ HERE }}", 4, "spec a whole"},
		"two below":             {"spec:\n  a:\n    b:\n    {{ HERE }}", 4, "spec a b whole list"},
		"not indented by it":    {"spec:\n  a:\n    {{ HERE }}", -1, "spec a whole"},
		"a list's element":      {"spec:\n  c:\n    - name: x\n      a:\n        {{ HERE }}", 8, "spec c [] a whole"},
		"a dash alone":          {"spec:\n  c:\n    -\n      {{ if .x }}\n      b: 1\n      {{ end }}\n      a: {{ HERE }}", 8, "spec c [] a whole"},
		"its first key":         {"spec:\n  c:\n    - a:\n        {{ HERE }}", 8, "spec c [] a whole"},
		"not indented lists":    {"spec:\n  c:\n  - b: 1\n    a:\n      {{ HERE }}", 6, "spec c [] a whole"},
		"behind its first key":  {"spec:\n  c:\n  - a: {{ HERE }}", -1, "spec c [] a whole"},
		"a list in a list":      {"spec:\n  c:\n  - d:\n    - a:\n        {{ HERE }}", 8, "spec c [] d [] a whole"},
		"elements":              {"spec:\n  c:\n    {{ HERE }}", 4, "spec c whole"},
		"elements below":        {"spec:\n  c:\n  {{ HERE }}", 2, "spec c whole list"},
		"after elements":        {"spec:\n  c:\n  - x: 1\n  {{ HERE }}", 2, "spec whole"},
		"beside keys":           {"spec:\n  a: 1\n  {{ HERE }}", 2, "spec whole"},
		"within":                {"spec:\n  {{- with .x }}\n  a:\n    {{ HERE }}\n  {{- end }}", 4, "spec a whole"},
		"the block before":      {"spec:\n  {{- with .x }}\n  b:\n    c: 1\n  {{- end }}\n  a:\n    {{ HERE }}", 4, "spec a whole"},
		"the other branch":      {"spec:\n  a:\n    {{- if .x }}\n  b:\n    {{- else }}\n    {{ HERE }}{{ end }}", 4, "spec a whole"},
		"maybe below":           {"spec:\n  {{- if .x }}\n  a:\n  {{- end }}\n    {{ HERE }}", 4, ""},
		"a definition":          {"kind: X\n{{ define \"x\" }}\na:\n  {{ HERE }}\n{{ end }}", 2, "a whole"},
		"an indented one":       {"{{ define \"x\" }}\n  a:\n    {{ HERE }}\n{{ end }}", 4, "a"},
		"after a definition":    {"spec:\n{{ define \"x\" }}\n b: 1\n{{ end }}\n  a:\n    {{ HERE }}", 4, "spec a whole"},
		"another document":      {"kind: X\nspec:\n---\n  a:\n    {{ HERE }}", 4, "a"},
		"a text":                {"data:\n  x: |\n    a:\n      {{ HERE }}", 6, ""},
		"behind a value":        {"a: b{{ HERE }}", -1, ""},
		"behind an action":      {"a: {{ .x }}{{ HERE }}", -1, ""},
		"a computed key":        {"spec:\n  {{ .x }}:\n    a:\n      {{ HERE }}", 6, ""},
		"a quoted key":          {"spec:\n  \"a\":\n    {{ HERE }}", 4, "spec a whole"},
		"an anchor":             {"spec: &x\n  a: {{ HERE }}", -1, "spec a whole"},
		"comments":              {"spec: # x\n  # b:\n  a:\n  # c:\n    {{ HERE }}", 4, "spec a whole"},
		"comments of templates": {"spec:\n  {{- /* }} b: */}}\n  a: {{/* x */}}\n    {{ HERE }}", 4, "spec a whole"},
		"quotes in actions":     {"spec:\n  a: {{ print \"}}\" `}}\\` '}' }}\n  b:\n    {{ HERE }}", 4, "spec b whole"},
		"actions of two lines":  {"spec:\n  {{- if or .a\n  .b }}\n  a:\n    {{ HERE }}{{ end }}", 4, "spec a whole"},
		"the first line":        {"{{ HERE }}", 0, ""},
		"the first line, alone": {"{{ HERE }}", -1, ""},
		"too many ends":         {"{{ end }}{{ else }}\na:\n  {{ HERE }}", 2, "a whole"},
		"an action with no end": {"a:\n  {{ HERE }}\n{{ if ", 2, "a whole"},
		"nothing above":         {"\n\n    {{ HERE }}", 4, ""},
		"Windows":               {"spec:\r\n  a:\r\n    {{ HERE }}\r\n", 4, "spec a whole"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLayout(c.text)
			at, ok := l.place(strings.Index(c.text, here), c.indent >= 0, max(c.indent, 0))
			got := ""
			if ok {
				got = strings.Join(at.path, " ")
				if at.whole {
					got += " whole"
				}
				if at.list {
					got += " list"
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestKindsOfDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: apps/v1\nkind: Deployment\nspec:\n  {{ HERE }}":                                  "[{apps/v1 Deployment}]",
		"apiVersion: {{ .x }}\nkind: \"Deployment\"\nspec:\n  {{ HERE }}":                             "[{ Deployment}]",
		"kind: {{ .x }}\n{{ HERE }}":                                                                  "[]",
		"{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}{{ HERE }}":                              "[{ A} { B}]",
		"{{ if .x }}\napiVersion: a/v1\n{{ else }}\napiVersion: b/v1\n{{ end }}\nkind: A\n{{ HERE }}": "[{ A}]",
		"kind: A\n---\nspec:\n  kind: B\n  {{ HERE }}\n---\nkind: C":                                  "[]",
		"kind: A\n---\n{{ HERE }}\nkind: B\n---\nkind: C":                                             "[{ B}]",
		"{{ define \"x\" }}kind: A\n{{ HERE }}\n{{ end }}\nkind: B":                                   "[{ A}]",
		"kind: {{ .x | default \"A\" }}\n{{ HERE }}":                                                  "[{ A} or like it]",
		"kind: {{ .x | default \"A\" | quote }}\n{{ HERE }}":                                          "[]",
		"kind: {{ ternary \"A\" \"B\" .x }}\n{{ HERE }}":                                              "[{ A} { B}]",
		"kind: {{ ternary \"A\" .x.kind (empty .x.kind) }}\n{{ HERE }}":                               "[{ A} or like it]",
		"kind: {{ title .x }}\n{{ HERE }}":                                                            "[]",
		"{{ HERE }}":                                                                                  "[]",
	} {
		l := newLayout(text)
		var kinds []string
		for _, k := range l.kinds(strings.Index(text, here)) {
			kinds = append(kinds, fmt.Sprintf("{%s %s}", k.apiVersion, k.kind)+map[bool]string{true: " or like it"}[k.replaceable])
		}
		if got := fmt.Sprint(kinds); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// FuzzPlaces computes the place of every action in arbitrary texts.
func FuzzPlaces(f *testing.F) {
	f.Add("spec:\n  {{- with .x }}\n  a: {{ HERE }}\n{{ end }}", 4)
	f.Add("{{ define \"x\" }}\n- - a:\n   {{else}}{{end}}{{", 0)
	f.Fuzz(func(t *testing.T, text string, indent int) {
		l := newLayout(text)
		for i := range text {
			if strings.HasPrefix(text[i:], "{{") {
				for _, own := range []bool{true, false} {
					if at, ok := l.place(i, own, indent); ok && len(at.path) == 0 {
						t.Errorf("%q at %d: no path", text, i)
					}
				}
				l.kinds(i)
			}
		}
	})
}

// TestKeyLine compares keyLine with a regular expression, for all short lines.
func TestKeyLine(t *testing.T) {
	pattern := regexp.MustCompile(`^(- +)?["']?([\w./$-]+)["']?:(?:[ \x00]+(.*))?$`)
	const letters, longest = "- a\":\x00.#", 6
	keys := 0
	var all func(line []byte)
	all = func(line []byte) {
		dash, key, value, ok := keyLine(line)
		m := pattern.FindSubmatch(line)
		switch {
		case ok != (m != nil):
			t.Fatalf("%q: %v", line, ok)
		case ok && (dash != len(m[1]) || !bytes.Equal(key, m[2]) || !bytes.Equal(value, bytes.Trim(m[3], " \x00"))):
			t.Fatalf("%q: %d, %q, %q", line, dash, key, value)
		case ok:
			keys++
		}
		for i := 0; i < len(letters) && len(line) < longest; i++ {
			all(append(line[:len(line):len(line)], letters[i]))
		}
	}
	all(nil)
	if keys < 1000 {
		t.Errorf("only %d lines with keys", keys)
	}
}

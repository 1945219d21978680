package diff

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// checkWritten checks properties of the output of every writer.
func checkWritten(t *testing.T, r Result, s Style) (text, markdown, json string) {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, r, s); err != nil {
		t.Fatal(err)
	}
	text = b.String()
	b.Reset()
	if err := WriteMarkdown(&b, r, s); err != nil {
		t.Fatal(err)
	}
	markdown = b.String()
	b.Reset()
	if err := WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	json = b.String()
	b.Reset()
	if err := WriteStat(&b, r); err != nil {
		t.Fatal(err)
	}
	stat := b.String()
	b.Reset()
	if err := WriteGitHub(&b, r, s); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text, "markdown": markdown, "json": json, "stat": stat, "github": b.String()} {
		if !utf8.ValidString(out) {
			t.Errorf("%s is not UTF-8: %q", name, out)
		}
		for _, c := range out {
			if c != '\n' && !unicode.IsPrint(c) {
				t.Errorf("%s has the character %U: %q", name, c, out)
			}
		}
	}
	return text, markdown, json
}

func change(path string, before, after any) Change {
	return Change{ID: "A n/b", Action: Update, Fields: []FieldChange{{Path: path, Before: before, After: after, HasBefore: true, HasAfter: true}}}
}

func textOf(t *testing.T, s Style, of int, groups ...Group) string {
	t.Helper()
	text, _, _ := checkWritten(t, Result{Groups: groups, Summary: Summary{Updated: 1, Changes: 1, Clusters: 1, Of: of}}, s)
	return text
}

func TestGroupTitle(t *testing.T) {
	one := []Change{change("p", 1, 2)}
	two := []Change{change("p", 1, 2), change("q", 1, 2)}
	many := make([]string, 13)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	for want, g := range map[string]Group{
		"in a": {[]string{"a"}, two},
		"the same change in 2 of 13 clusters: a, b":                                      {many[:2], one},
		"the same changes in 2 of 13 clusters: a, b":                                     {many[:2], two},
		"the same changes in 12 of 13 clusters: a, b, c, d, e, f, g, h, i, j and 2 more": {many[:12], two},
		"the same change in all 13 clusters":                                             {many, one},
		`in \x1b]0;title\a`:                                                              {[]string{"\x1b]0;title\a"}, one},
	} {
		if got, _, _ := strings.Cut(textOf(t, Style{}, 13, g), "\n"); got != want {
			t.Errorf("the title is %s, want %s", got, want)
		}
	}
}

func TestTextOfFields(t *testing.T) {
	for _, test := range []struct {
		name  string
		field FieldChange
		want  string
	}{
		{"short", FieldChange{Path: "p", Before: 1, After: "1", HasBefore: true, HasAfter: true}, "~ p: 1 -> \"1\"\n"},
		{"null", FieldChange{Path: "p", Before: nil, After: true, HasBefore: true, HasAfter: true}, "~ p: null -> true\n"},
		{"to a map", FieldChange{Path: "p", Before: 1, After: map[string]any{"a": 1}, HasBefore: true, HasAfter: true}, "- p: 1\n+ p:\n+   a: 1\n"},
		{"secret", FieldChange{Path: "p", Before: "<secret>", After: "<secret>", HasBefore: true, HasAfter: true, Secret: true}, "~ p: <secret> -> <secret>\n"},
		{"not one", FieldChange{Path: "p", After: "<secret>", HasAfter: true}, "+ p: \"<secret>\"\n"},
		{"lines", FieldChange{Path: "p", Before: "a\nb\n", After: "a\n", HasBefore: true, HasAfter: true}, "~ p:\n@@ -1,2 +1 @@\n  a\n- b\n"},
		{"line to lines", FieldChange{Path: "p", Before: "a", After: "a\nb", HasBefore: true, HasAfter: true}, "~ p:\n@@ -1 +1,2 @@\n- a\n  \\ no line end\n+ a\n+ b\n  \\ no line end\n"},
		{"order", FieldChange{Path: "p", Before: []any{"name=a", "name=b"}, After: []any{"name=b", "name=a"}, HasBefore: true, HasAfter: true, Reordered: true}, "~ p in another order: name=a, name=b -> name=b, name=a\n"},
		{"hostile", FieldChange{Path: "p", After: "\x1b[2J\nx\u202e\n", HasAfter: true}, "+ p: |\n+   \\x1b[2J\n+   x\\u202e\n"},
	} {
		text := textOf(t, Style{}, 1, Group{[]string{"a"}, []Change{{ID: "X", Action: Update, Fields: []FieldChange{test.field}}}})
		got := strings.TrimPrefix(text, "in a\n  ~ X\n")
		got = strings.ReplaceAll(strings.TrimSuffix(got, "\n1 object updated in 1 cluster\n"), "\n    ", "\n")
		if got = strings.TrimPrefix(got, "    "); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestLongPathsAndNames(t *testing.T) {
	long := strings.Repeat("é", 5000)
	c := change((*step)(nil).key(long).key("end").String(), 1, 2)
	c.ID, c.Release, c.FromRelease = long, long, long
	for line := range strings.Lines(textOf(t, Style{}, 1, Group{[]string{long}, []Change{c}})) {
		if len(line) > 1000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestSummaryString(t *testing.T) {
	for want, s := range map[string]Summary{
		"no differences in 1 cluster":                               {Of: 1},
		"no differences in 0 clusters":                              {},
		"1 object updated in 1 cluster":                             {Updated: 1, Changes: 1, Clusters: 1, Of: 1},
		"2 objects created, 1 deleted in 3 of 40 clusters":          {Created: 2, Deleted: 1, Changes: 5, Clusters: 3, Of: 40},
		"1 object created, 2 updated, 3 deleted in 1 of 2 clusters": {Created: 1, Updated: 2, Deleted: 3, Changes: 6, Clusters: 1, Of: 2},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v is %s, want %s", s, got, want)
		}
	}
}

func TestStat(t *testing.T) {
	part := change("p", 1, 2)
	part.Partial = true
	for _, test := range []struct {
		r    Result
		want string
	}{
		{Result{Summary: Summary{Of: 2}}, "no differences in 2 clusters\n"},
		{Result{NotCompared: []string{"b"}}, "CLUSTER   CREATED   UPDATED   DELETED\n! b       not compared\n\n1 cluster not compared\n"},
		{Result{Deleted: []WholeCluster{{"b", 2}}}, "CLUSTER   CREATED   UPDATED   DELETED\n- b       0         0         2\n\n1 cluster deleted\n"},
		// An object in two groups counts once.
		{
			Result{
				Groups:  []Group{{[]string{"a", "b"}, []Change{part}}, {[]string{"a"}, []Change{part, {ID: "A n/b", Action: Create}, {ID: "C", Action: Delete}}}},
				Summary: Summary{Created: 1, Updated: 1, Deleted: 1, Changes: 4, Clusters: 2, Of: 2},
			},
			"CLUSTER   CREATED   UPDATED   DELETED\na         1         1         1\nb         0         1         0\n\n1 object created, 1 updated, 1 deleted in 2 of 2 clusters\n",
		},
	} {
		var b strings.Builder
		if err := WriteStat(&b, test.r); err != nil || b.String() != test.want {
			t.Errorf("got\n%s%v\nwant\n%s", b.String(), err, test.want)
		}
	}
}

func TestMarkdownOfManyWholeClusters(t *testing.T) {
	var r Result
	for range 1000 {
		r.Created = append(r.Created, WholeCluster{strings.Repeat("long/", 20), 7})
	}
	_, out, _ := checkWritten(t, r, Style{})
	if n := strings.Count(out, "+ cluster"); n != 100 || !strings.Contains(out, "... 900 more lines\n```\n") {
		t.Errorf("%d of 1000 lines, and it ends with %s", n, out[len(out)-60:])
	}
}

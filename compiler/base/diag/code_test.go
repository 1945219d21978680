package diag

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the codes of codenames.go.
func constants(t *testing.T) []Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codenames.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []Code
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, Code(text))
		}
		return true
	})
	return out
}

// TestCodeList checks that codes.txt has the constants, and no gaps: a code is never
// removed or used for another meaning. A code that is not needed any more is marked as
// retired.
func TestCodeList(t *testing.T) {
	l := allCodes()
	for i, c := range l.codes {
		if !l.retired[c] && c.Page() == "" {
			t.Errorf("%s has no page", c)
		}
		n, err := strconv.Atoi(strings.TrimPrefix(string(c), "FL"))
		if err != nil || len(c) != len("FL1000") {
			t.Fatalf("codes.txt: %q is not a code", c)
		}
		if first := n%100 == 1; !first && (i == 0 || l.codes[i-1] != Code("FL"+strconv.Itoa(n-1))) {
			t.Errorf("codes.txt: the code before %s is missing", c)
		}
		if title := l.titles[c]; title == "" || strings.HasSuffix(title, ".") {
			t.Errorf("%s has the title %q: write a sentence without a full stop", c, title)
		}
	}
	if !slices.IsSorted(l.codes) || len(l.titles) != len(l.codes) {
		t.Error("codes.txt: the codes are not in order, or a code is there twice")
	}
	active := slices.DeleteFunc(slices.Clone(l.codes), func(c Code) bool { return l.retired[c] })
	if got := constants(t); !slices.Equal(got, active) {
		t.Errorf("codenames.go has the codes\n%v\nand codes.txt\n%v", got, active)
	}
}

// headings are those of each page, in order.
var headings = []string{"Why", "What to do", "Example"}

// TestCodePages checks the form of the pages, and that their titles are those of codes.txt.
func TestCodePages(t *testing.T) {
	files, err := fs.Glob(codeFiles, "codes/*.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (.*)$`)
	for _, file := range files {
		c := Code(strings.TrimSuffix(strings.TrimPrefix(file, "codes/"), ".md"))
		page, title := c.Page(), c.Title()
		if want := "# " + string(c) + ": " + title + "\n\n"; title == "" || !strings.HasPrefix(page, want) {
			t.Errorf("%s begins not with %q: the title of a code does not change", file, want)
		}
		var got []string
		for _, m := range heading.FindAllStringSubmatch(page, -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, headings) {
			t.Errorf("%s has the headings %q, want %q", file, got, headings)
		}
		if c.summary() == "" || strings.HasPrefix(c.summary(), "#") {
			t.Errorf("%s does not say what the fault means", file)
		}
		for _, m := range pageLink.FindAllStringSubmatch(page, -1) {
			if Code(m[1]).Page() == "" {
				t.Errorf("%s links to %s, which has no page", file, m[1])
			}
		}
	}
	if n := len(Codes()); n == 0 || n != len(files) {
		t.Errorf("%d codes have pages, and there are %d files", n, len(files))
	}
}

func TestParseCode(t *testing.T) {
	for text, want := range map[string]bool{"FL1001": true, "fl1001": true, "Fl9": true, "": false, "FL": false, "flux": false, "FL1001x": false} {
		if c, ok := ParseCode(text); ok != want || ok && string(c) != strings.ToUpper(text) {
			t.Errorf("%q: %s, %v", text, c, ok)
		}
	}
}

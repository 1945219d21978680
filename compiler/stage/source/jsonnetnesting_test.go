package source

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"
)

func TestMeasure(t *testing.T) {
	for _, test := range []struct {
		src             string
		chain, brackets int
	}{
		{"", 0, 0},
		{"1", 1, 0},
		{"1 + 1", 3, 0},
		{"1+-~!1", 6, 0},
		{"[1, 2, 3]", 2, 1},
		{"[1 + 2, 3]", 4, 1},
		{"[[[]]]", 3, 3},
		{"[[], [], []]", 2, 2},
		{"a.b.c", 5, 0},
		{"f(1)(2)(3)", 5, 1}, // f, three brackets, and the last argument
		{"local a = 1; a", 4, 0},
		{"local a = 1; local b = 1; local c = 1; c", 6, 0},
		{"local a = 1, b = 2, c = 3; c", 4, 0},
		{"local a=1,b=1; local a=1,b=1; local a=1,b=1; a", 6, 0}, // commas hide nothing
		{"assert x : y; assert x : y; z", 5, 0},
		{"{ local x = 1, a: x, local y = 2, b: y, assert a, c: 1 }", 7, 1},
		{"# [[[[\n1", 1, 0},
		{"// [[[[\n1", 1, 0},
		{"/* [[[[ */ 1", 1, 0},
		{"/* [[[[", 0, 0},
		{`"[[\"[[" + 1`, 3, 0},
		{`'[[\'[[' + 1`, 3, 0},
		{`@"[[\" + [1]`, 4, 1},
		{`@'[[''[[' + 1`, 3, 0},
		{`"[[[`, 1, 0},
		{"|||\n  [[[\n\n  ||| [[\n  [[\n||| + 1", 3, 0},
		{"|||-\n\n\t[[[\n\n  ||| + [1]", 4, 1},
		{"a ||| b", 2, 0}, // no text block begins in the middle of a line
		{"a || b | c", 6, 0},
		{"]])", 0, 0},
		{"12e3x", 2, 0},
		{"\x00\xff[", 3, 1},
	} {
		chain, brackets, at := measure([]byte(test.src), 100, 100)
		if chain != test.chain || brackets != test.brackets || at != len(test.src) {
			t.Errorf("%q: %d and %d to %d, want %d and %d to %d", test.src, chain, brackets, at, test.chain, test.brackets, len(test.src))
		}
	}
}

// TestDeep has texts that would end the process if they were parsed or
// evaluated.
func TestDeep(t *testing.T) {
	const n = 100_000
	for name, src := range map[string]string{
		"arrays":        strings.Repeat("[", n) + strings.Repeat("]", n),
		"open arrays":   strings.Repeat("[", n),
		"parentheses":   strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"objects":       strings.Repeat("{a:", n) + "1" + strings.Repeat("}", n),
		"negations":     strings.Repeat("!", n) + "true",
		"sums":          strings.Repeat("1+", n) + "1",
		"locals":        strings.Repeat("local a=1,b=1;", n) + "a",
		"conditions":    strings.Repeat("if false then 1 else ", n) + "1",
		"fields":        "local a={a:self}; a" + strings.Repeat(".a", n),
		"calls":         "local f(x)=x; f" + strings.Repeat("(f)", n),
		"functions":     strings.Repeat("function(x) ", n) + "1",
		"extensions":    "{}" + strings.Repeat("{}", n),
		"asserts":       strings.Repeat("assert true;", n) + "1",
		"imports":       strings.Repeat("import ", n) + "'x'",
		"slices":        "[1]" + strings.Repeat("[0:1]", n),
		"behind a text": "|||\n  a\n|||" + strings.Repeat("[", n),
	} {
		r := rendererOf(t, "-- a.jsonnet --\n"+src+"\n")
		_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
		got := textOfFaults(t, err)
		if !strings.Contains(got, `releases.app: "a.jsonnet" is not evaluated: `) || !strings.Contains(got, " nest more than ") {
			t.Errorf("%s: %s", name, got[:min(len(got), 300)])
		}
	}
}

// TestAlmostDeep evaluates texts at the limits.
func TestAlmostDeep(t *testing.T) {
	for name, src := range map[string]string{
		"parentheses": strings.Repeat("(", maxBrackets-1) + "[]" + strings.Repeat(")", maxBrackets-1),
		"negations":   strings.Repeat("!", maxChain-5) + "true",
		"sums":        "[]" + strings.Repeat("+[]", maxChain/2-3),
		"conditions":  strings.Repeat("if false then 1 else ", maxChain/5-2) + "[]",
		"locals":      strings.Repeat("local a=[],b=1;", maxChain-10) + "a",
		"all":         strings.Repeat("local a=[],b=1;", maxChain-3*maxBrackets) + strings.Repeat("[a+", maxBrackets-1) + "a" + strings.Repeat("]", maxBrackets-1),
	} {
		r := rendererOf(t, "-- a.jsonnet --\n"+src+"\n")
		req := requestOf("a.jsonnet")
		req.Params = nil
		_, err := r.Render(t.Context(), req)
		// Some results are not objects; any result is fine.
		if got := textOfFaults(t, err); strings.Contains(got, "is not evaluated") {
			t.Errorf("%s: %s", name, got[:min(len(got), 300)])
		}
	}
}

func treeDepth(node ast.Node) int {
	deepest := 0
	for _, child := range toolutils.Children(node) {
		deepest = max(deepest, treeDepth(child))
	}
	return deepest + 1
}

// checkMeasure tests that the syntax tree is not deeper than measured, except
// for nodes that the parser adds for a token.
func checkMeasure(t *testing.T, src string) {
	t.Helper()
	node, err := jsonnet.SnippetToAST("", src)
	if err != nil {
		return
	}
	chain, brackets, at := measure([]byte(src), len(src)+1, len(src)+1)
	if at != len(src) {
		t.Errorf("%q: measured to %d of %d", src, at, len(src))
	}
	if depth := treeDepth(node); depth > 10*(chain+1) || brackets > chain {
		t.Errorf("%q: the tree is %d deep, measured are %d and %d", src, depth, chain, brackets)
	}
}

// TestMeasureCorpus measures the library's own test files.
func TestMeasureCorpus(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/go-jsonnet").Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), "testdata"), func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(file, "sonnet") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		n++
		checkMeasure(t, string(data))
		if err := nesting(data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		return nil
	})
	if err != nil || n < 500 {
		t.Errorf("%d texts, %v", n, err)
	}
	checkMeasure(t, string(libraryOf(t)))
}

func FuzzMeasure(f *testing.F) {
	for _, src := range []string{"1 + 1", "local a = 1, b = [2]; {a: b}", "|||\n  [[\n||| + 'x'", "[x for x in [1] if x > 2]", "f(1)(2) { a+: super.b }", "@'[['", "/* [ */ 1 // [\n# ["} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 1000 {
			checkMeasure(t, src)
		}
	})
}

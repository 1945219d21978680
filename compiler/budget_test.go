package compiler

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strings"
	"testing"
)

// Budgets of the house, in packages and in lines of files that are not tests.
const (
	maxPackages      = 30
	maxPackageLines  = 5000 // without a reason in the package comment
	maxCompilerLines = 2000
)

// The house has few packages, and a large one says why.
func TestBudgets(t *testing.T) {
	lines, reasons := map[string]int{}, map[string]bool{}
	eachFile(t, func(pkg, file string, _ []string) {
		text, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		lines[pkg] += bytes.Count(text, []byte("\n"))
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if doc := strings.Join(strings.Fields(parsed.Doc.Text()), " "); strings.Contains(doc, "is large because") {
			reasons[pkg] = true
		}
	})
	if len(lines) > maxPackages {
		t.Errorf("%d packages, the limit is %d: move the new one into another", len(lines), maxPackages)
	}
	if n := lines["compiler"]; n >= maxCompilerLines {
		t.Errorf("package compiler has %d lines, the limit is %d", n, maxCompilerLines)
	}
	for pkg, n := range lines {
		if n > maxPackageLines && !reasons[pkg] {
			t.Errorf("%s has %d lines: say in the comment of package %s why it is large", pkg, n, path.Base(pkg))
		}
	}
}

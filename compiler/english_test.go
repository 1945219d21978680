package compiler

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// englishLimits has the number of findings that each package may still have:
// a line for each, "package count". A number only ever becomes smaller.
const englishLimits = "testdata/english.txt"

// freeRelative finds clauses such as "what is kept" that stand for a noun. Name
// the noun instead.
var freeRelative = regexp.MustCompile(`(?i)(^|[.:;,(] +|\b(and|or|but|when|if|that|because|while|as|for|of|than|like|to|with|in|from|by|at|on|into|after|before|about|until|where|unless|is|are|makes?|has|have|only|all|not) )` +
	`(what|whatever|whoever|who|that which|that of which|those of which) ([a-z]+s|[a-z]+ed|are|were|had|have|can|cannot|came|it|they|a|an|the|others|their|do|no|nothing|nobody|one|must|may|would|will)\b`)

// bannedWords are phrases that readers with little English stumble over.
var bannedWords = regexp.MustCompile(`(?i)\b(let go of|lets go of|made anew|makes? anew|somebody|nobody|is no [a-z]+|at hand|is told|are told|asked for|has a say|have a say|of its own|of their own)\b`)

// participles are names of types that are participles or adjectives, and no
// noun of the field.
var participles = regexp.MustCompile(`(?i)^(\w*(settled|kept|asked|known|gone|done|alike|ahead|seen|meant|wanted|given|found|said|noted|taken|shown|luck|hole)|[a-z]+ed)$`)

// TestEnglish counts, for each package, comments and names of types that break
// the rules of writing. The counts must be those of the list, which only
// shrinks: fewer findings need a smaller number, and more are an error.
func TestEnglish(t *testing.T) {
	found := map[string][]string{}
	eachGoFile(t, func(file string) {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, filepath.Join("..", file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		pkg := path.Dir(file)
		add := func(at token.Pos, text string) {
			p := fset.Position(at)
			found[pkg] = append(found[pkg], fmt.Sprintf("%s:%d: %s", file, p.Line, strings.TrimSpace(text)))
		}
		for _, group := range parsed.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			for _, re := range []*regexp.Regexp{freeRelative, bannedWords} {
				for _, match := range re.FindAllString(text, -1) {
					add(group.Pos(), match)
				}
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && participles.MatchString(spec.Name.Name) {
				add(spec.Pos(), "type "+spec.Name.Name)
			}
			return true
		})
	})
	limits := readLimits(t)
	packages := slices.Sorted(maps.Keys(found))
	for pkg := range limits {
		if len(found[pkg]) == 0 {
			t.Errorf("%s: remove the line of %s, which has no findings", englishLimits, pkg)
		}
	}
	for _, pkg := range packages {
		switch limit, got := limits[pkg], found[pkg]; {
		case len(got) > limit:
			t.Errorf("%s: %d findings, the limit is %d:\n\t%s", pkg, len(got), limit, strings.Join(got, "\n\t"))
		case len(got) < limit:
			t.Errorf("%s: lower the limit of %s from %d to %d", englishLimits, pkg, limit, len(got))
		}
	}
}

func readLimits(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(englishLimits)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var pkg string
		var n int
		if _, err := fmt.Sscan(line, &pkg, &n); err != nil {
			t.Fatalf("%s: %q: %v", englishLimits, line, err)
		}
		limits[pkg] = n
	}
	return limits
}

// eachGoFile calls f for every Go file of the repository, tests included.
func eachGoFile(t *testing.T, f func(file string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() && strings.HasPrefix(rel, ".") && rel != "." {
			return filepath.SkipDir
		}
		if !e.IsDir() && path.Ext(rel) == ".go" {
			f(rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

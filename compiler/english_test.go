package compiler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// freeRelative finds clauses such as "what is kept" that stand for a noun. Name
// the noun instead.
var freeRelative = regexp.MustCompile(`(?i)(^|[.:;,(] +|\b(and|or|but|when|if|that|because|while|as|for|of|than|like|to|with|in|from|by|at|on|into|after|before|about|until|where|unless|is|are|makes?|has|have|only|all|not) )` +
	`(what|whatever|whoever|who|that which|that of which|those of which) ([a-z]+s|[a-z]+ed|are|were|had|have|can|cannot|came|it|they|a|an|the|others|their|do|no|nothing|nobody|one|must|may|would|will)\b`)

// bannedWords are phrases that readers with little English stumble over.
var bannedWords = regexp.MustCompile(`(?i)\b(let go of|lets go of|made anew|makes? anew|somebody|nobody|is no [a-z]+|at hand|is told|are told|asked for|has a say|have a say|of its own|of their own)\b`)

// participles are names of types that are participles or adjectives, and no
// noun of the field.
var participles = regexp.MustCompile(`(?i)^(\w*(settled|kept|asked|known|gone|done|alike|ahead|seen|meant|wanted|given|found|said|noted|taken|shown|luck|hole)|[a-z]+ed)$`)

// verbs are English verbs, which do not name a value.
var verbs = regexp.MustCompile(`^(is|was|are|were|has|had|have|does|did|would)$`)

// TestEnglish finds comments and names of types and variables that break the rules of
// writing.
func TestEnglish(t *testing.T) {
	eachGoFile(t, func(file string) {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, filepath.Join("..", file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		add := func(at token.Pos, text string) {
			t.Errorf("%s:%d: %s", file, fset.Position(at).Line, strings.TrimSpace(text))
		}
		for _, group := range parsed.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			for _, re := range []*regexp.Regexp{freeRelative, bannedWords} {
				for _, match := range re.FindAllString(text, -1) {
					add(group.Pos(), match)
				}
			}
		}
		for _, name := range badNames(parsed) {
			add(name.Pos(), "the name "+name.Name)
		}
	})
}

// badNames returns the declared names of a file that break the rules: types that are
// participles, and variables, parameters and fields that are verbs.
func badNames(file *ast.File) []*ast.Ident {
	var bad []*ast.Ident
	variables := func(names ...*ast.Ident) {
		for _, name := range names {
			if verbs.MatchString(name.Name) {
				bad = append(bad, name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if participles.MatchString(n.Name.Name) {
				bad = append(bad, n.Name)
			}
		case *ast.ValueSpec:
			variables(n.Names...)
		case *ast.Field:
			variables(n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					variables(name)
				}
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					variables(name)
				}
			}
		}
		return true
	})
	return bad
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

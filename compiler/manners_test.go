package compiler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// forbidden are calls that only the named files may make, with the reason.
var forbidden = []struct {
	call, why string
	but       []string
}{
	{"os.Exit", "only main ends the program", []string{"cmd/fleetc/main.go"}},
	{"fmt.Print", "write to the command's stream", nil},
	{"fmt.Println", "write to the command's stream", nil},
	{"fmt.Printf", "write to the command's stream", nil},
	{"log.Print", "return an error", nil},
	{"log.Printf", "return an error", nil},
	{"log.Fatal", "return an error", nil},
	{"os.Getwd", "the caller passes the directory", nil},
	{"os.Chdir", "the caller passes the directory", nil},
	{"time.Now", "output depends on input alone", []string{"compiler/stage/chart/store.go", "compiler/cache/cache.go", "compiler/deliver/export/lock_unix.go", "compiler/deliver/export/lock_windows.go", "compiler/deliver/cluster/lease.go", "compiler/deliver/secretencrypt.go", "cmd/fleetc/secret.go", "cmd/fleetc/secretfiles.go", "cmd/fleetc/secretedit.go", "compiler/stage/chart/registryretry.go", "compiler/deliver/apply/wait.go", "compiler/deliver/apply/history.go", "compiler/deliver/rollout.go", "compiler/deliver/driftcheck.go", "compiler/deliver/driftserver.go"}},
}

// beforeMain is the file that may have a function init: it sets how the initialization of
// other packages collects garbage.
const beforeMain = "cmd/fleetc/memory/memory.go"

const (
	maxFileLines = 400
	maxFuncLines = 60
)

// TestManners checks rules of the code, such as forbidden calls and sizes.
func TestManners(t *testing.T) {
	eachFile(t, func(_, file string, _ []string) {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, "../"+file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if n := fset.Position(parsed.FileEnd).Line; n > maxFileLines {
			t.Errorf("%s: %d lines, the limit is %d", file, n, maxFileLines)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" && file != beforeMain {
					t.Errorf("%s: init(): nothing runs before main", fset.Position(n.Pos()))
				}
				if lines := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1; lines > maxFuncLines {
					t.Errorf("%s: %s has %d lines, the limit is %d", file, n.Name.Name, lines, maxFuncLines)
				}
				if n.Name.IsExported() && n.Doc == nil && !isMethodOfUnexported(n) {
					t.Errorf("%s: %s has no comment", file, n.Name.Name)
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				for _, f := range forbidden {
					if x.Name+"."+n.Sel.Name == f.call && !slices.Contains(f.but, file) {
						t.Errorf("%s: %s: %s", fset.Position(n.Pos()), f.call, f.why)
					}
				}
			case *ast.BasicLit:
				for _, bad := range []string{`"failed to`, `"unable to`, `"could not`} {
					if strings.HasPrefix(n.Value, bad) {
						t.Errorf("%s: %s: say what is wrong", fset.Position(n.Pos()), n.Value)
					}
				}
			}
			return true
		})
	})
}

// isMethodOfUnexported reports whether the function is a method of an unexported type, such
// as one that implements an interface of a library.
func isMethodOfUnexported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if g, ok := typ.(*ast.IndexListExpr); ok {
		typ = g.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && !id.IsExported()
}

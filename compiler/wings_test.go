package compiler

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fleetc/fleetc"

// wings is policy: a package imports packages of earlier wings, and others of the same
// wing where own is set. A package is in the wing of the longest directory that
// contains it.
var wings = []wing{
	{name: "base", dirs: []string{".", "compiler/base"}, own: true},
	{name: "stage", dirs: []string{"compiler/stage"}},
	{name: "compiler", dirs: []string{"compiler"}, own: true},
	{name: "outside", dirs: []string{"compiler/query", "compiler/edit", "compiler/deliver"}, own: true},
	{name: "command line", dirs: []string{"cmd"}, own: true},
}

// wing is a group of packages at the same distance from the command line.
type wing struct {
	name string
	dirs []string // directories with all packages below them
	own  bool     // packages import others of the same wing
}

// doors is policy: each heavy library enters through the packages named here
// and through no other.
var doors = map[string][]string{
	"cuelang.org/go":                         {"compiler/base/diag", "compiler/stage/load", "compiler/stage/unify", "compiler/stage/values", "compiler/stage/validate", "compiler/edit", "compiler/edit/lsp"},
	"helm.sh/helm":                           {"compiler/base/fleet", "compiler/stage/chart", "compiler/stage/values", "compiler/stage/render", "compiler/edit/importer", "compiler/deliver/cluster"},
	"github.com/google/go-containerregistry": {"compiler/stage/chart", "compiler/deliver/export"},
	"k8s.io/apiextensions-apiserver":         {"compiler/stage/validate"},
	"github.com/google/go-jsonnet":           {"compiler/stage/source"},
	"sigs.k8s.io/kustomize":                  {"compiler/stage/source"},
	"k8s.io/apiserver":                       {"compiler/stage/validate"},
	"github.com/google/cel-go":               {"compiler/base/kube"},
	"github.com/spf13":                       {"cmd/fleetc"},
	"k8s.io/client-go":                       {"compiler/deliver/cluster"},
	"net/http":                               {"compiler/stage/chart", "compiler/deliver/export", "compiler/deliver/cluster", "compiler/deliver/apply", "compiler/deliver"},
	"github.com/prometheus":                  {"compiler/deliver"},
	"os/exec":                                {"cmd/fleetc", "compiler/base/git", "compiler/deliver/apply", "compiler/deliver/cluster", "compiler/deliver", "compiler/edit/importer"},
	"github.com/creachadair/jrpc2":           {"compiler/edit/lsp"},
	"filippo.io/age":                         {"compiler/stage/secret", "compiler/deliver"},
	"github.com/bitnami-labs/sealed-secrets": {"compiler/deliver"},
}

func TestWings(t *testing.T) {
	eachFile(t, func(pkg, file string, imports []string) {
		from := wingOf(pkg)
		if from < 0 {
			t.Errorf("%s: package %s is in no wing: move it into one", file, pkg)
			return
		}
		for _, imp := range imports {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok && !mayImport(pkg, own) {
				t.Errorf("%s: %s (%s) imports %s (%s)", file, pkg, wings[from].name, own, wings[wingOf(own)].name)
			}
			for library, rooms := range doors {
				if (imp == library || strings.HasPrefix(imp, library+"/")) && !slices.Contains(rooms, pkg) {
					t.Errorf("%s: %s enters through %v, not through %s", file, imp, rooms, pkg)
				}
			}
		}
	})
}

// The rule of wings refuses imports against the order and between stages.
func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"compiler/base/fleet", "compiler/base/diag", true},
		{"compiler/base/fleet", "compiler/stage/load", false},
		{"compiler/stage/load", "compiler/base/fleet", true},
		{"compiler/stage/load", "compiler/stage/unify", false},
		{"compiler/stage/render", "compiler/stage/validate", false},
		{"compiler/stage/objects", "compiler/deliver/export", false},
		{"compiler/stage/objects", "compiler", false},
		{"compiler", "compiler/stage/objects", true},
		{"compiler/incremental", "compiler", true},
		{"compiler", "compiler/deliver", false},
		{"compiler/query", "compiler/incremental", true},
		{"compiler/incremental", "compiler/query", false},
		{"cmd/fleetc", "compiler", true},
		{"compiler", "cmd/fleetc", false},
	} {
		if got := mayImport(c.from, c.to); got != c.want {
			t.Errorf("%s imports %s: allowed is %t, want %t", c.from, c.to, got, c.want)
		}
	}
}

// mayImport reports whether the order of wings allows the import.
func mayImport(from, to string) bool {
	a, b := wingOf(from), wingOf(to)
	return b >= 0 && (b < a || b == a && wings[a].own)
}

// wingOf returns the index of the wing of a package; -1 when it is in none.
func wingOf(pkg string) int {
	best, length := -1, 0
	for i, w := range wings {
		for _, dir := range w.dirs {
			if (pkg == dir || strings.HasPrefix(pkg, dir+"/")) && len(dir) > length {
				best, length = i, len(dir)
			}
		}
	}
	return best
}

// eachFile calls f for every Go file of the house that is not a test.
func eachFile(t *testing.T, f func(pkg, file string, imports []string)) {
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
		if e.IsDir() {
			if e.Name() == "testdata" || strings.HasPrefix(rel, ".") && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range parsed.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, p)
		}
		f(path.Dir(rel), rel, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

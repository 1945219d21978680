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

// floors is policy: a package imports only packages of lower floors. A new
// stage goes on floor 2. Do not move a package to make a build pass.
var floors = [][]string{
	{"schema", "lib", "compiler/diag", "compiler/stderr"},
	{"compiler/fleet", "compiler/cuediag", "compiler/kube", "compiler/links", "compiler/faults", "compiler/git", "compiler/memo", "compiler/blockyaml", "compiler/bounded", "compiler/ordered", "compiler/registry", "compiler/live"},
	{"compiler/health", "compiler/helm", "compiler/actions", "compiler/credential", "compiler/simulate"},
	{"compiler/load", "compiler/unify", "compiler/chart", "compiler/values", "compiler/render", "compiler/jsonnet", "compiler/kustomize", "compiler/manifests", "compiler/patch", "compiler/validate", "compiler/crd", "compiler/policy", "compiler/bundle", "compiler/diff", "compiler/export", "compiler/gitops", "compiler/cache", "compiler/format", "compiler/revision", "compiler/branch", "compiler/oci", "compiler/trial", "compiler/apply"},
	{"compiler"},
	{"cmd/fleetc"},
}

// doors is policy: each heavy library enters through the packages named here
// and through no other.
var doors = map[string][]string{
	"cuelang.org/go":                         {"compiler/cuediag", "compiler/load", "compiler/unify", "compiler/values", "compiler/policy", "compiler/format"},
	"helm.sh/helm":                           {"compiler/chart", "compiler/values", "compiler/render", "compiler/helm"},
	"github.com/google/go-containerregistry": {"compiler/registry", "compiler/chart", "compiler/oci"},
	"k8s.io/apiextensions-apiserver":         {"compiler/crd"},
	"github.com/google/go-jsonnet":           {"compiler/jsonnet"},
	"sigs.k8s.io/kustomize":                  {"compiler/kustomize"},
	"k8s.io/apiserver":                       {"compiler/crd"},
	"github.com/google/cel-go":               {"compiler/health"},
	"github.com/spf13":                       {"cmd/fleetc"},
	"k8s.io/client-go":                       {"compiler/live"},
	"net/http":                               {"compiler/registry", "compiler/chart", "compiler/oci", "compiler/live", "compiler/actions"},
	"os/exec":                                {"compiler/git", "compiler/actions", "compiler/credential"},
}

// generators are programs that write parts of the house. They stand outside.
var generators = []string{"compiler/kube/gen"}

func TestFloors(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(pkg, file string, imports []string) {
		seen[pkg] = true
		floor := floorOf(pkg)
		if floor < 0 {
			t.Errorf("%s: package %s is on no floor: name it in floors", file, pkg)
			return
		}
		for _, imp := range imports {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok && floorOf(own) >= floor {
				t.Errorf("%s: %s (floor %d) imports %s (floor %d)", file, pkg, floor, own, floorOf(own))
			}
			for library, rooms := range doors {
				if (imp == library || strings.HasPrefix(imp, library+"/")) && !slices.Contains(rooms, pkg) {
					t.Errorf("%s: %s enters through %v, not through %s", file, imp, rooms, pkg)
				}
			}
		}
	})
	for _, pkg := range slices.Concat(floors...) {
		if !seen[pkg] {
			t.Errorf("package %s is on a floor and does not exist", pkg)
		}
	}
}

func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, pkg) })
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
			if slices.Contains(generators, rel) || e.Name() == "testdata" || strings.HasPrefix(rel, ".") && rel != "." {
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

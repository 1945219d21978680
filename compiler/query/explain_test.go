package query

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// valueLeaves returns the scalars, empty maps and empty lists of a tree by their
// paths.
func valueLeaves(t *fleet.Tree, path []string, to map[string]*fleet.Tree) {
	for k, f := range t.Fields {
		valueLeaves(f, append(slices.Clone(path), k), to)
	}
	for i, e := range t.List {
		valueLeaves(e, append(slices.Clone(path), strconv.Itoa(i)), to)
	}
	if len(t.Fields)+len(t.List) == 0 {
		to[fleet.FieldText(path)] = t
	}
}

// TestExplainEveryLeaf explains all values of all releases of a cluster of the
// example: what explain says is what is rendered, and every line that it names,
// when edited, changes the value or is at fault.
func TestExplainEveryLeaf(t *testing.T) {
	const id = "prod/us/east-1"
	c := &compiler.Compiler{Dir: "../..", Offline: true, Cache: t.TempDir()}
	was := allValues(t, c, id)
	x, err := Explain(t.Context(), c, id)
	if err != nil {
		t.Fatal(err)
	}
	// The paths that depend on each line.
	lines := map[diag.Pos][]string{}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		e, err := x.Field(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if e.State != fleet.Set || !reflect.DeepEqual(e.Value, was[path].Value()) {
			t.Errorf("%s is %s %v, and %v is rendered", path, e.State, e.Value, was[path].Value())
		}
		winners := 0
		for _, c := range e.Contributions {
			if c.Role == fleet.Effective {
				winners++
				for _, at := range literals(c) {
					lines[at] = append(lines[at], path)
				}
			}
		}
		if empty := reflect.DeepEqual(e.Value, map[string]any{}); winners != 1 && !empty {
			t.Errorf("%s has %d winners", path, winners)
		}
	}
	if len(was) < 80 || len(lines) < 50 {
		t.Fatalf("only %d leaves, of %d lines", len(was), len(lines))
	}
	t.Logf("%d leaves, %d lines", len(was), len(lines))
	for at, paths := range lines {
		edited := &compiler.Compiler{Dir: "../..", Offline: true, Cache: c.Cache, Edits: load.Edits{at.File: withOther(t, at)}}
		e := edited.Evaluate(t.Context(), []string{id})
		blamed := slices.ContainsFunc(diag.All(e.Faults), func(d *diag.Diag) bool {
			return slices.ContainsFunc(d.At, func(p diag.Pos) bool { return p.File == at.File && p.Line == at.Line })
		})
		if blamed {
			continue
		}
		if e.Faults != nil {
			t.Errorf("%s: edited, it is not at fault, but %v", at, e.Faults)
			continue
		}
		is := map[string]*fleet.Tree{}
		for _, r := range e.Clusters[0].Releases {
			valueLeaves(r.Values, []string{"releases", r.Name, "values"}, is)
		}
		for _, path := range paths {
			if is[path] != nil && reflect.DeepEqual(is[path].Value(), was[path].Value()) {
				t.Errorf("%s: edited, it does not change %s", at, path)
			}
		}
	}
}

// allValues returns the leaves of all values of a cluster.
func allValues(t *testing.T, c *compiler.Compiler, id string) map[string]*fleet.Tree {
	t.Helper()
	f, err := c.Clusters(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*fleet.Tree{}
	for _, r := range f.Clusters[0].Releases {
		valueLeaves(r.Values, []string{"releases", r.Name, "values"}, out)
	}
	return out
}

// literals returns where the literals are that a line, or what it refers to,
// consists of.
func literals(c *fleet.Contribution) []diag.Pos {
	if cuediag.IsType(c.At.File) {
		return nil // which fleetc carries, and nobody edits
	}
	if expr, err := parser.ParseExpr("", c.Expr); err == nil && firstLiteral(expr) != nil && c.Kind != fleet.Condition {
		return []diag.Pos{c.At}
	}
	var out []diag.Pos
	for _, s := range c.From {
		if s.Role == fleet.Effective {
			out = append(out, literals(s.Contribution)...)
		}
	}
	return out
}

// firstLiteral returns the literal that an expression is, or has as its default.
func firstLiteral(x ast.Expr) *ast.BasicLit {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x
	case *ast.UnaryExpr:
		return firstLiteral(x.X)
	case *ast.BinaryExpr:
		return firstLiteral(x.X)
	}
	return nil
}

// withOther returns a file with another literal in the place of the one in the
// expression at the position.
func withOther(t *testing.T, at diag.Pos) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", at.File))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(at.File, data)
	if err != nil {
		t.Fatal(err)
	}
	var lit *ast.BasicLit
	ast.Walk(f, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && lit == nil && x.Pos().Line() == at.Line && x.Pos().Column() == at.Col {
			lit = firstLiteral(x)
		}
		return true
	}, nil)
	if lit == nil {
		t.Fatalf("%s: no literal", at)
	}
	return slices.Concat(data[:lit.Pos().Offset()], []byte(otherLiteral(lit.Value)), data[lit.End().Offset():])
}

func otherLiteral(s string) string {
	switch n, err := strconv.Atoi(s); {
	case err == nil:
		return strconv.Itoa(n + 1)
	case s == "true":
		return "false"
	case s == "false":
		return "true"
	}
	return fmt.Sprintf("%s-other\"", strings.TrimSuffix(s, `"`))
}

// TestExplainEveryField explains all fields that there are, or may be, in
// clusters of the example, as far as CUE knows them: there is no fault and no
// panic, and what a cluster is told of a value is what it gets.
func TestExplainEveryField(t *testing.T) {
	for _, id := range []string{"prod/eu/central-1"} {
		c := &compiler.Compiler{Dir: "../..", Offline: true, Cache: t.TempDir()}
		was := allValues(t, c, id)
		x, err := Explain(t.Context(), c, id)
		if err != nil {
			t.Fatal(err)
		}
		fields := 0
		var walk func(path []string)
		walk = func(path []string) {
			for _, key := range x.Explainer.Next(path) {
				at := append(slices.Clone(path), key)
				fields++
				e, err := x.Explainer.Field(at, nil)
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				if want := was[fleet.FieldText(at)]; want != nil && e.State == fleet.Set && !reflect.DeepEqual(e.Value, want.Value()) {
					t.Errorf("%s is %v, and %v is rendered", at, e.Value, want.Value())
				}
				if e.State == fleet.Conflict || len(e.Faults) > 0 {
					t.Errorf("%s: %s, %v", at, e.State, e.Faults)
				}
				walk(at)
			}
		}
		walk(nil)
		if fields < 300 {
			t.Errorf("%s has only %d fields", id, fields)
		}
		t.Logf("%s: %d fields", id, fields)
	}
}

// BenchmarkExplain explains all values of all releases of a cluster, as if each
// were asked for alone, and in one go.
func BenchmarkExplain(b *testing.B) {
	const id = "prod/us/east-1"
	c := &compiler.Compiler{Dir: "../..", Offline: true, Cache: b.TempDir(), Build: "bench"}
	f, err := c.Clusters(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	leaves := map[string]*fleet.Tree{}
	for _, r := range f.Clusters[0].Releases {
		valueLeaves(r.Values, []string{"releases", r.Name, "values"}, leaves)
	}
	explain := func(b *testing.B, paths ...string) {
		x, err := Explain(b.Context(), c, id)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range paths {
			if _, err := x.Field(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		}
	}
	paths := slices.Sorted(maps.Keys(leaves))
	b.Run("one", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			explain(b, paths[i%len(paths)])
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			explain(b, paths...)
		}
	})
}

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
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// valueLeaves adds the scalars, empty maps and empty lists of a tree by path.
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

// TestExplainEveryLeaf explains all values of a cluster of the example. The explained value
// must be the rendered one, and an edit of each named line must change the value or cause
// a fault at that line.
func TestExplainEveryLeaf(t *testing.T) {
	const id = "prod/us/east-1"
	c := &compiler.Compiler{Dir: "../..", Offline: true, Cache: t.TempDir()}
	before := allValues(t, c, id)
	x, err := Explain(t.Context(), c, id)
	if err != nil {
		t.Fatal(err)
	}
	// The paths that depend on each line.
	lines := map[diag.Pos][]string{}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		e, err := x.Field(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if e.State != fleet.Set || !reflect.DeepEqual(e.Value, before[path].Value()) {
			t.Errorf("%s is %s %v, but %v is rendered", path, e.State, e.Value, before[path].Value())
		}
		effective := 0
		for _, c := range e.Contributions {
			if c.Role == fleet.Effective {
				effective++
				for _, at := range literals(c) {
					lines[at] = append(lines[at], path)
				}
			}
		}
		if empty := reflect.DeepEqual(e.Value, map[string]any{}); effective != 1 && !empty {
			t.Errorf("%s has %d effective values", path, effective)
		}
	}
	if len(before) < 80 || len(lines) < 50 {
		t.Fatalf("only %d leaves, of %d lines", len(before), len(lines))
	}
	t.Logf("%d leaves, %d lines", len(before), len(lines))
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
			t.Errorf("%s: an edit causes a fault elsewhere: %v", at, e.Faults)
			continue
		}
		after := map[string]*fleet.Tree{}
		for _, r := range e.Clusters[0].Releases {
			valueLeaves(r.Values, []string{"releases", r.Name, "values"}, after)
		}
		for _, path := range paths {
			if after[path] != nil && reflect.DeepEqual(after[path].Value(), before[path].Value()) {
				t.Errorf("%s: an edit does not change %s", at, path)
			}
		}
	}
}

// allValues returns the leaves of all values of a cluster by path.
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

// literals returns the positions of the literals in a line or its references.
func literals(c *fleet.Contribution) []diag.Pos {
	if diag.IsTypeFile(c.At.File) {
		return nil // in the embedded schema
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

// firstLiteral returns the first literal of an expression, nil if it has none.
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

// withOther returns the text of a file with another literal in the expression at the
// position.
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

// TestExplainEveryField explains all fields that exist or are allowed in a cluster of the
// example. There must be no fault, and explained values must be the rendered ones.
func TestExplainEveryField(t *testing.T) {
	for _, id := range []string{"prod/eu/central-1"} {
		c := &compiler.Compiler{Dir: "../..", Offline: true, Cache: t.TempDir()}
		before := allValues(t, c, id)
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
				if want := before[fleet.FieldText(at)]; want != nil && e.State == fleet.Set && !reflect.DeepEqual(e.Value, want.Value()) {
					t.Errorf("%s is %v, but %v is rendered", at, e.Value, want.Value())
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

// BenchmarkExplain explains all values of a cluster, with an evaluation for each, and with
// one evaluation.
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

package compiler_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// exportFleet compiles a fleet and exports it.
func exportFleet(tb testing.TB, dir, out string) export.Summary {
	tb.Helper()
	c := &compiler.Compiler{Dir: dir, Cache: tb.TempDir(), Offline: true}
	f, err := c.Load(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	session, err := (&export.Tree{Dir: out, Fleet: f.Module, Version: "test"}).Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer session.Close()
	for b, err := range f.Bundles(tb.Context()) {
		if err == nil {
			_, err = session.Stage(b)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	summary, err := session.Commit()
	if err != nil {
		tb.Fatal(err)
	}
	return summary
}

func BenchmarkExport(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			dir := fleets.Generate(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if s := exportFleet(b, dir, filepath.Join(b.TempDir(), "out")); len(s.Clusters) != n {
					b.Fatalf("%d clusters, want %d", len(s.Clusters), n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(n), "ms/cluster")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			dir := fleets.Generate(b, n)
			c := &compiler.Compiler{Dir: dir, Cache: b.TempDir(), Offline: true}
			for b.Loop() {
				if f, err := c.Load(b.Context()); err != nil || len(f.Clusters) != n {
					b.Fatalf("%v", err)
				}
			}
		})
	}
}

package compiler_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets/exported"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/testdata/fleets"
)

func BenchmarkExport(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			dir := fleets.Generate(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if s := exported.Fleet(b, dir, filepath.Join(b.TempDir(), "out")); len(s.Clusters) != n {
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

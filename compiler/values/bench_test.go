package values

import (
	"os"
	"path/filepath"
	"testing"
)

// charts are those of the benchmarks: the largest of ours, or all below the
// directory that FLEETC_CHARTS names.
func charts(b *testing.B) []string {
	b.Helper()
	if dir := os.Getenv("FLEETC_CHARTS"); dir != "" {
		dirs, err := filepath.Glob(filepath.Join(dir, "*", "Chart.yaml"))
		if err != nil || len(dirs) == 0 {
			b.Fatalf("no charts below %s: %v", dir, err)
		}
		for i, d := range dirs {
			dirs[i] = filepath.Dir(d)
		}
		return dirs
	}
	return []string{"../../testdata/charts/monitoring", "../../testdata/charts/cert-manager"}
}

func BenchmarkDerive(b *testing.B) {
	for _, dir := range charts(b) {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			ch := chartAt(b, dir)
			for b.Loop() {
				derive(b, ch)
			}
		})
	}
}

// BenchmarkCheck checks a release that sets every value of the chart.
func BenchmarkCheck(b *testing.B) {
	for _, dir := range charts(b) {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			ch := chartAt(b, dir)
			typ, v := derive(b, ch), tree(b, "v.yaml", string(valuesOf(ch)))
			typ.Check(v, nil) // what is done once
			for b.Loop() {
				typ.Check(v, nil)
			}
		})
	}
}

func BenchmarkCUE(b *testing.B) {
	for _, dir := range charts(b) {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			typ := derive(b, chartAt(b, dir))
			for b.Loop() {
				if _, err := typ.CUE("#Values"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

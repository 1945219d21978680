package values

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// charts returns the charts of the benchmarks: the largest of ours and of
// Istio's, or all below the directory in FLEETC_CHARTS.
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
	return []string{
		"../../../testdata/charts/monitoring", "../../../testdata/charts/cert-manager", "../../../testdata/charts/ingress-controller", istio(b)[1],
	}
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
			typ.Check(v, nil) // warm up: the first check does work that later ones reuse
			for b.Loop() {
				typ.Check(v, nil)
			}
		})
	}
}

// BenchmarkCheckCluster checks the four largest charts with a part of their
// values set: repeatedly, as for the clusters of a fleet, and for the first
// time, with types decoded from their stored form.
func BenchmarkCheckCluster(b *testing.B) {
	var all []specimenOfCluster
	for _, dir := range charts(b) {
		ch := chartAt(b, dir)
		typ := derive(b, ch)
		data, err := typ.Encode()
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, specimenOfCluster{filepath.Base(dir), typ, ch, data, someValues(tree(b, "v.yaml", string(valuesOf(ch))))})
	}
	slices.SortFunc(all, func(x, y specimenOfCluster) int { return cmp.Compare(leafCount(y.values), leafCount(x.values)) })
	all = all[:4]
	names := ""
	for _, s := range all {
		names += fmt.Sprintf(" %s (%d values)", s.name, leafCount(s.values))
	}
	b.Run("again", func(b *testing.B) {
		for _, s := range all {
			s.typ.Check(s.values, nil)
		}
		for b.Loop() {
			for _, s := range all {
				s.typ.Check(s.values, nil)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			for _, s := range all {
				typ, err := Decode(s.stored, s.chart)
				if err != nil {
					b.Fatal(err)
				}
				typ.Check(s.values, nil)
			}
		}
	})
	b.Log(names)
}

type specimenOfCluster struct {
	name   string
	typ    *Type
	chart  *fleet.Chart
	stored []byte
	values *fleet.Tree
}

// someValues returns a fifth of the values, as a user might set them.
func someValues(v *fleet.Tree) *fleet.Tree {
	n := 0
	var some func(v *fleet.Tree) *fleet.Tree
	some = func(v *fleet.Tree) *fleet.Tree {
		if !v.IsMap() {
			if n++; n%5 != 0 {
				return nil
			}
			return v
		}
		out := *v
		out.Fields = map[string]*fleet.Tree{}
		for _, k := range v.Keys() {
			if f := some(v.Fields[k]); f != nil && (!f.IsMap() || len(f.Fields) > 0) {
				out.Fields[k] = f
			}
		}
		return &out
	}
	return some(v)
}

func leafCount(v *fleet.Tree) int {
	if !v.IsMap() {
		return 1
	}
	n := 0
	for _, f := range v.Fields {
		n += leafCount(f)
	}
	return n
}

func BenchmarkEncode(b *testing.B) {
	for _, dir := range charts(b) {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			typ := derive(b, chartAt(b, dir))
			for b.Loop() {
				if _, err := typ.Encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode measures the decoding of stored types, which replaces the work
// of BenchmarkDerive.
func BenchmarkDecode(b *testing.B) {
	for _, dir := range charts(b) {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			ch := chartAt(b, dir)
			data, err := derive(b, ch).Encode()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Decode(data, ch); err != nil {
					b.Fatal(err)
				}
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

package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// BenchmarkSession times checks of F(200) after a change of one file, as an editor makes
// them. The time of a preview is that until the faults of a sample of the clusters are known.
func BenchmarkSession(b *testing.B) {
	w, err := generate(filepath.Join(b.TempDir(), "fleet"), ownCharts, 200)
	if err != nil {
		b.Fatal(err)
	}
	s := incremental.NewSession(&compiler.Compiler{Dir: w.dir, Cache: b.TempDir(), Offline: true})
	var previewed time.Duration
	check := func(b *testing.B, edits load.Edits) {
		before := processorTime(b)
		s.Preview = func(error) { previewed += processorTime(b) - before }
		if f, err := s.Check(b.Context(), edits); err != nil || len(f.Clusters) != 200 {
			b.Fatal(err)
		}
	}
	check(b, nil)
	for _, layer := range []string{"dev/c000/cluster", "dev/env", "fleet"} {
		file := "environments/" + layer + ".cue"
		text, err := os.ReadFile(filepath.Join(w.dir, file))
		if err != nil {
			b.Fatal(err)
		}
		turn := 0
		next := func() []byte {
			turn++
			return append(text[:len(text):len(text)], "\n// "+strings.Repeat("x", turn%100)...)
		}
		b.Run("edit="+path.Base(layer), func(b *testing.B) {
			defer reportCPU(b)()
			previewed = 0
			for b.Loop() {
				check(b, load.Edits{file: next()})
			}
			if previewed > 0 {
				b.ReportMetric(float64(previewed.Microseconds())/1000/float64(b.N), "preview-cpu-ms/op")
			}
		})
		b.Run("save="+path.Base(layer), func(b *testing.B) {
			defer reportCPU(b)()
			for b.Loop() {
				if err := put(w.dir, file, string(next())); err != nil {
					b.Fatal(err)
				}
				s.Changed()
				check(b, nil)
			}
		})
	}
}

// reportCPU returns a function that reports the processor time of an operation. Other
// programs change the time of the clock, and less that of the processor.
func reportCPU(b *testing.B) func() {
	before := processorTime(b)
	return func() {
		b.ReportMetric(float64((processorTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	}
}

// processorTime returns the time that the process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

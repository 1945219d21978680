// Package memory makes garbage collection less frequent while the heap is small. Go
// initializes packages in the order of their paths, after their imports: this package
// imports little, so that it comes before the libraries whose initialization allocates
// 12 MB.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Compiling allocates much short-lived memory. The first collection, of a heap that is
// at least small, is at 32 MB: many commands end before. The limit bounds the cost for
// large fleets.
const (
	first   = 800 // percent
	percent = 300
	limit   = 384 << 20
)

// GOGC and GOMEMLIMIT override the settings.
func init() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(first)
		unused := new([16]*byte)
		runtime.AddCleanup(unused, func(percent int) { debug.SetGCPercent(percent) }, percent)
	}
}

// Package exported exports fleets for tests. It is not part of the package fleets, which
// tests inside of the package compiler import.
package exported

import (
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// Fleet compiles a fleet and exports it.
func Fleet(tb testing.TB, dir, out string) export.Summary {
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

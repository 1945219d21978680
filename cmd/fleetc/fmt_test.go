package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleFormat checks that fmt has nothing to do in the example fleet: what
// fleetc chart add writes, and what fleetc init does, is in the standard format.
func TestExampleFormat(t *testing.T) {
	dir := copyExample(t)
	fleetc(t, "-C", dir, "init")
	if out := fleetc(t, "-C", dir, "fmt", "--check"); out != "" {
		t.Errorf("to be formatted:\n%s", out)
	}
	generated, err := filepath.Glob(filepath.Join(dir, "environments", "charts", "*", "chart.cue"))
	if err != nil || len(generated) < 9 {
		t.Fatalf("%d packages, %v", len(generated), err)
	}
	if out := fleetc(t, append([]string{"fmt", "--check"}, generated...)...); out != "" {
		t.Errorf("to be formatted:\n%s", strings.TrimSpace(out))
	}
}

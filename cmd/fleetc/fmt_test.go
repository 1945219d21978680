package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleFormat checks that fmt changes nothing in the example fleet:
// fleetc chart add and fleetc init write the standard format.
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

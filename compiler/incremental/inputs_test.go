package incremental

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/compiler"
)

// TestInputsAreEnough compiles each cluster of the example from its inputs
// alone: without any other file, its bundle is the same.
func TestInputsAreEnough(t *testing.T) {
	whole := newEdited(t)
	for id, inputs := range whole.inputs {
		alone := t.TempDir()
		for name := range inputs {
			file := filepath.Join(alone, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(whole.compiler.Dir, filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		e := &edited{compiler: compiler.Compiler{Dir: alone, Cache: t.TempDir(), Offline: true}}
		if got := e.compile(t, []string{id})[id]; got != whole.digests[id] {
			t.Errorf("%s: of %d files comes %s, want %s", id, len(inputs), got, whole.digests[id])
		}
		again, err := ReadInputs(t.Context(), &e.compiler)
		if err != nil || len(again) != 1 || !maps.Equal(again[id], inputs) {
			t.Errorf("%s: of its %d inputs %d are inputs, %v", id, len(inputs), len(again[id]), err)
		}
	}
}

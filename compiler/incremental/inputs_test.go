package incremental

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/compiler"
)

// TestInputsAreComplete compiles each cluster of the example in a directory that has only
// its inputs. The bundle must be the same.
func TestInputsAreComplete(t *testing.T) {
	whole := newExampleCopy(t)
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
		e := &exampleCopy{compiler: compiler.Compiler{Dir: alone, Cache: t.TempDir(), Offline: true}}
		if got := e.compile(t, []string{id})[id]; got != whole.digests[id] {
			t.Errorf("%s: the bundle of its %d inputs is %s, want %s", id, len(inputs), got, whole.digests[id])
		}
		again, err := ReadInputs(t.Context(), &e.compiler)
		if err != nil || len(again) != 1 || !maps.Equal(again[id], inputs) {
			t.Errorf("%s: the copy of its %d inputs has %d inputs, %v", id, len(inputs), len(again[id]), err)
		}
	}
}

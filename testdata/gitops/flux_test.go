package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A build has the CRDs of all controllers.
func TestCopyCRDs(t *testing.T) {
	modules := t.TempDir()
	module := func(path string) (string, error) {
		dir := filepath.Join(modules, filepath.Base(path))
		return dir, os.MkdirAll(filepath.Join(dir, "config", "crd", "bases"), 0o700)
	}
	for _, c := range controllers {
		if err := copyCRDs(t.TempDir(), module); err == nil || !strings.Contains(err.Error(), "no CRDs in "+filepath.Join(modules, c)) {
			t.Errorf("without those of %s: %v", c, err)
		}
		if err := os.WriteFile(filepath.Join(modules, c, "config", "crd", "bases", c+".yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := copyCRDs(dir, module); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, crds, "*.yaml")); len(files) != len(controllers) {
		t.Errorf("the CRDs are %q", files)
	}
	gone := errors.New("no such module")
	if err := copyCRDs(t.TempDir(), func(string) (string, error) { return "", gone }); !errors.Is(err, gone) {
		t.Errorf("without modules: %v", err)
	}
}

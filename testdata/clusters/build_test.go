package clusters

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The key of a build depends on its inputs, and only one process builds.
func TestBuildKey(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	module := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() *build {
		b := &build{Recipe: controlPlane, module: module, log: io.Discard}
		if err := b.read(); err != nil {
			t.Fatal(err)
		}
		return b
	}
	write("go.mod", "require (\n\tk8s.io/kubernetes v1.37.1 // indirect\n\tsigs.k8s.io/kwok v0.8.0\n)\n")
	write("go.sum", "a")
	first := read()
	if v := first.result.Versions; v[kubernetesModule] != "v1.37.1" || v[kwokModule] != "v0.8.0" || !strings.HasPrefix(first.result.Dir, cache) {
		t.Errorf("%+v", first.result)
	}
	if again := read(); !reflect.DeepEqual(again.result, first.result) {
		t.Errorf("%+v and %+v", first.result, again.result)
	}
	write("go.sum", "b")
	if other := read(); other.result.Dir == first.result.Dir {
		t.Error("another go.sum is the same build")
	}
	write("go.mod", "require sigs.k8s.io/kwok v0.8.0\n")
	if err := (&build{Recipe: controlPlane, module: module}).read(); err == nil || !strings.Contains(err.Error(), "does not require") {
		t.Errorf("a module without Kubernetes: %v", err)
	}
}

// A second process waits for the first.
func TestBuildLock(t *testing.T) {
	b := &build{result: BuildResult{Dir: filepath.Join(t.TempDir(), "key")}, log: io.Discard}
	unlock, err := b.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := b.lock(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = b.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

// A build without one of its parts is incomplete.
func TestBuildIncomplete(t *testing.T) {
	b := &build{Recipe: controlPlane, result: BuildResult{Dir: t.TempDir()}}
	for _, name := range b.Parts {
		if b.exists() {
			t.Errorf("done without %s", name)
		}
		if err := os.WriteFile(filepath.Join(b.result.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !b.exists() {
		t.Error("not done")
	}
}

// A failed build returns the error and leaves no result.
func TestBuildFails(t *testing.T) {
	module := t.TempDir()
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module m\n\ntool example.invalid/none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	b := &build{Recipe: controlPlane, module: module, log: io.Discard, result: BuildResult{Dir: filepath.Join(cache, "key")}}
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "example.invalid/none") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); left != nil {
		t.Errorf("%q is left", left)
	}
}

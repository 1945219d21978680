package clusters

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The version of a cluster is one that the server can behave as.
func TestEmulate(t *testing.T) {
	tools := &Tools{Kubernetes: "v1.37.1"}
	for version, want := range map[string]string{"": "", "1.37": "", "1.36": "1.36", "1.34": "1.34"} {
		if got, err := tools.emulate(version); got != want || err != nil {
			t.Errorf("%q: %q, %v", version, got, err)
		}
	}
	for _, version := range []string{"1.33", "1.38", "2.36", "36", "1.", "1.36.1", "x"} {
		if got, err := tools.emulate(version); err == nil {
			t.Errorf("%q is emulated as %q", version, got)
		}
	}
}

// The key of a build changes with what is built, and only one process builds.
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
		b := &build{module: module, log: io.Discard}
		if err := b.read(); err != nil {
			t.Fatal(err)
		}
		return b
	}
	write("go.mod", "require (\n\tk8s.io/kubernetes v1.37.1 // indirect\n\tsigs.k8s.io/kwok v0.8.0\n)\n")
	write("go.sum", "a")
	first := read()
	if first.tools.Kubernetes != "v1.37.1" || first.tools.Kwok != "v0.8.0" || !strings.HasPrefix(first.tools.Dir, cache) {
		t.Errorf("%+v", first.tools)
	}
	if again := read(); again.tools != first.tools {
		t.Errorf("%+v and %+v", first.tools, again.tools)
	}
	write("go.sum", "b")
	if other := read(); other.tools.Dir == first.tools.Dir {
		t.Error("another go.sum is the same build")
	}
	write("go.mod", "require sigs.k8s.io/kwok v0.8.0\n")
	if err := (&build{module: module}).read(); err == nil || !strings.Contains(err.Error(), "does not require") {
		t.Errorf("a module without Kubernetes: %v", err)
	}
}

// A second process waits for the first.
func TestBuildLock(t *testing.T) {
	b := &build{tools: Tools{Dir: filepath.Join(t.TempDir(), "key")}, log: io.Discard}
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

// A build that lacks a part is none.
func TestBuildIncomplete(t *testing.T) {
	b := &build{tools: Tools{Dir: t.TempDir()}}
	for _, name := range append([]string{"stages"}, programs...) {
		if b.done() {
			t.Errorf("done without %s", name)
		}
		if err := os.WriteFile(b.tools.file(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !b.done() {
		t.Error("not done")
	}
}

// A build that goes wrong says why and leaves nothing that looks like one.
func TestBuildFails(t *testing.T) {
	module := t.TempDir()
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module m\n\ntool example.invalid/none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	b := &build{module: module, log: io.Discard, tools: Tools{Dir: filepath.Join(cache, "key"), Kubernetes: "v1.37.1"}}
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "example.invalid/none") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); left != nil {
		t.Errorf("%q is left", left)
	}
}

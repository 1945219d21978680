package main

import (
	"strings"
	"testing"
)

// TestCheckTypes finds what Windows does not have, in a package and in a test.
func TestCheckTypes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/a\n\ngo 1.26\n")
	write(t, dir, "a.go", "package a\n")
	write(t, dir, "a_test.go", "package a\n\nimport (\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestA(*testing.T) { _ = syscall.Mkfifo(\"a\", 0) }\n")
	write(t, dir, "b/b_unix.go", "package b\n\nimport \"syscall\"\n\nfunc Kill() { _ = syscall.Kill(1, 9) }\n")
	if err := checkTypes(t.Context(), dir, []string{"linux/arm64", "darwin/arm64"}, "./..."); err != nil {
		t.Error(err)
	}
	err := checkTypes(t.Context(), dir, []string{"windows/arm64"}, "./...")
	for _, want := range []string{"windows/arm64: ", "a_test.go:8:", "syscall.Mkfifo", "b_unix.go:5:", "syscall.Kill"} {
		if !strings.Contains(text(err), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

//go:build unix

package source

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestKustomizeBounds(t *testing.T) {
	root := unpack(t, []byte("-- app/kustomization.yaml --\nresources: [big.yaml, pipe]\nconfigMapGenerator: [{name: a, files: [big.yaml]}]\n"))
	big, err := os.Create(filepath.Join(root, "app/big.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(maxKustomizeFile + 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "app/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
	got := faults(t, err)
	for _, want := range []string{"1:13: releases.web.kustomize: big.yaml is larger than 16 MiB", "1:23: releases.web.kustomize: pipe is not a file"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

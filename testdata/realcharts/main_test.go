package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "some", "charts")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if err := write(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	whole := func() {
		t.Helper()
		for name := range charts() {
			for _, file := range []string{"Chart.yaml", "values.yaml", "templates/zzz_profile.yaml", "files/profile-demo.yaml"} {
				if info, err := os.Stat(filepath.Join(dir, name, file)); err != nil || info.Size() == 0 {
					t.Errorf("%s/%s: %v", name, file, err)
				}
			}
		}
		entries, err := os.ReadDir(filepath.Dir(dir))
		if err != nil || len(entries) != 1 {
			t.Errorf("left beside the charts: %v %v", entries, err)
		}
	}
	whole()

	// Written already: a mark in it stays.
	mark := filepath.Join(dir, "mark")
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("the charts were written again")
	}

	// Of another version: replaced as a whole.
	if err := os.WriteFile(filepath.Join(dir, stamp), []byte("v0.0.0"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Error("charts of another version were not replaced")
	}
	whole()
}

func TestWriteIntoEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "base", "Chart.yaml")); err != nil {
		t.Error(err)
	}
}

// A directory that holds something else is not touched.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "x" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

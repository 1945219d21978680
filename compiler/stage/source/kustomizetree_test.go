package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// link makes symbolic links below a root.
func link(t *testing.T, root string, links map[string]string) {
	t.Helper()
	for from, to := range links {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
}

func newTree(t *testing.T, root string) *kustomizeTree {
	t.Helper()
	sys, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.Close() })
	return &kustomizeTree{ctx: t.Context(), root: sys, files: map[string][]byte{}, also: map[string]bool{}}
}

// TestPathsStayInside has every way out of the root, in every field.
func TestPathsStayInside(t *testing.T) {
	for place, text := range places {
		if strings.Contains(text, "helmChart") || strings.Contains(text, "HelmChart") || strings.Contains(text, "openapi") || place == "executed" || place == "not inline" || place == "container" || place == "directory" {
			continue // always a fault
		}
		for path, want := range map[string]string{
			"OUT":                 "is an absolute path [FL1405]",
			"../../out/k":         "is outside of the fleet's directory [FL1405]",
			"../../fleet/x":       "is outside of the fleet's directory [FL1405]", // of a root that is called so
			"out":                 "is outside of the fleet's directory [FL1405]",
			"out/k":               "is outside of the fleet's directory [FL1405]",
			"absolute":            "is outside of the fleet's directory [FL1405]",
			"chain":               "is outside of the fleet's directory [FL1405]",
			"round":               "has too many symbolic links",
			"./../app/.././out/k": "is outside of the fleet's directory [FL1405]",
		} {
			above := t.TempDir()
			root := filepath.Join(above, "fleet")
			archive := "-- app/kustomization.yaml --\n" + strings.ReplaceAll(text, "ADDRESS", strings.ReplaceAll(path, "OUT", above+"/out/k")) + "\n"
			if err := os.Rename(unpack(t, []byte(archive)), root); err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string]string{"out/k": "secret", "out/kustomization.yaml": "namePrefix: x"} {
				if err := os.MkdirAll(filepath.Join(above, "out"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(above, name), []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			dirs := []string{"app"}
			if strings.Contains(text, "base/") {
				dirs = append(dirs, "base")
			}
			link(t, root, map[string]string{"out": "../out"})
			for _, dir := range dirs {
				link(t, root, map[string]string{
					dir + "/out": "../../out", dir + "/absolute": filepath.Join(above, "out"), dir + "/chain": "out", dir + "/round": "round",
				})
			}
			_, reads, err := BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
			if got := faults(t, err); !strings.Contains(got, want) {
				t.Errorf("%s of %s:\n%s", place, path, got)
			}
			for _, r := range reads {
				if strings.Contains(r, "out") {
					t.Errorf("%s of %s: %s was read", place, path, r)
				}
			}
		}
	}
}

// TestLinks has links that stay inside, which are followed as on the disk.
func TestLinks(t *testing.T) {
	root := unpack(t, []byte(`
-- app/kustomization.yaml --
resources: [base, extra.yaml]
configMapGenerator:
- {name: a, files: [conf/x.txt]}
-- real/base/kustomization.yaml --
resources: [../account.yaml]
-- real/account.yaml --
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}
-- real/extra.yaml --
{apiVersion: v1, kind: ServiceAccount, metadata: {name: b}}
-- real/conf/x.txt --
x
`))
	link(t, root, map[string]string{
		"app/base": "../real/base", "app/extra.yaml": "../real/./extra.yaml", "app/conf": "../real/base/../conf",
		"linked": "app",
	})
	for _, dir := range []string{"app", "linked"} {
		objs, reads, err := BuildKustomization(t.Context(), root, dir, release(), KustomizeInputs{})
		if err != nil {
			t.Fatal(faults(t, err))
		}
		if got, want := contents(objs), plain(t, filepath.Join(root, dir)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		want := []string{"app/conf/x.txt", "app/extra.yaml", "app/kustomization.yaml", "real/account.yaml", "real/base/kustomization.yaml", "real/conf/x.txt", "real/extra.yaml"}
		if !slices.Equal(reads, want) {
			t.Errorf("read %v", reads)
		}
	}
}

func TestTree(t *testing.T) {
	root := unpack(t, []byte("-- a/b.txt --\nb\n-- c --\nc\n"))
	link(t, root, map[string]string{"a/up": "..", "a/c": "up/a/up/c", "d": "a/"})
	tr := newTree(t, root)
	for name, want := range map[string]string{
		"/": "/ ", "": "/ ", ".": "/ ", "/a": "/a ", "a/b.txt": "/a b.txt", "/a/c": "/ c", "/d/up/d/b.txt": "/a b.txt", "/../../c": "/ c", "/a/up": "/ ",
	} {
		dir, file, err := tr.CleanedAbs(name)
		if got := filepath.ToSlash(string(dir)) + " " + file; got != want || err != nil {
			t.Errorf("CleanedAbs(%s) = %s, %v", name, got, err)
		}
	}
	if _, _, err := tr.CleanedAbs("/no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CleanedAbs of nothing: %v", err)
	}
	if !tr.IsDir("/d") || tr.IsDir("/c") || tr.IsDir("/no") || !tr.Exists("/c") || tr.Exists("/no") {
		t.Error("IsDir or Exists is wrong")
	}
	// A file has one content.
	if data, err := tr.ReadFile("/a/b.txt"); string(data) != "b\n" || err != nil {
		t.Fatal(string(data), err)
	}
	if err := os.WriteFile(filepath.Join(root, "a/b.txt"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := tr.ReadFile("a/../a/b.txt"); string(data) != "b\n" || err != nil {
		t.Error(string(data), err)
	}
	if _, err := tr.ReadFile("/a"); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a directory is read: %v", err)
	}
	for _, err := range []error{tr.Mkdir("x"), tr.MkdirAll("x"), tr.RemoveAll("c"), tr.WriteFile("c", nil), tr.Walk(".", nil)} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the tree is changed: %v", err)
		}
	}
}

// TestSpent tests the limits for reads, including repeated reads.
func TestSpent(t *testing.T) {
	tr := newTree(t, unpack(t, []byte("-- a --\na\n")))
	for range maxKustomizeReads {
		if _, err := tr.ReadFile("/a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tr.ReadFile("/a"); !errors.Is(err, errSpent) || !tr.spent {
		t.Errorf("one file too many: %v", err)
	}
	tr = newTree(t, unpack(t, []byte("-- a --\n"+strings.Repeat("a", maxKustomizeFile-1)+"\n")))
	for range maxKustomizeTotal / maxKustomizeFile {
		if _, err := tr.ReadFile("/a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tr.ReadFile("/a"); !errors.Is(err, errSpent) {
		t.Errorf("one byte too many: %v", err)
	}
}

// TestDoubling has bases that each include the next one twice: 2^30 objects.
func TestDoubling(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		for _, side := range []string{"a", "b"} {
			fmt.Fprintf(&b, "-- %s%d/kustomization.yaml --\nnamePrefix: %s\nresources: [../a%d, ../b%d]\n", side, i, side, i+1, i+1)
		}
	}
	for _, side := range []string{"a", "b"} {
		fmt.Fprintf(&b, "-- %s30/kustomization.yaml --\nnamePrefix: %s\nresources: [x.yaml]\n-- %s30/x.yaml --\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}\n", side, side, side)
	}
	_, _, err := BuildKustomization(t.Context(), unpack(t, []byte(b.String())), "a0", release(), KustomizeInputs{})
	want := "a19/kustomization.yaml: releases.web.kustomize: 2048 objects exceed the limit of 2000: the time of kustomize grows with the square of their number [FL1403]\n" + at +
		"    hint: make it several releases\n"
	if got := faults(t, err); got != want+strings.Replace(want, "a19", "b19", 1) {
		t.Errorf("the faults are\n%s", got)
	}
}

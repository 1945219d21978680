package export

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Excluded directories are not checked out, but are part of the commit. All
// other files are checked out.
func TestWithout(t *testing.T) {
	for _, path := range []string{"", "clusters"} {
		below := func(name string) string { return strings.TrimPrefix(path+"/"+name, "/") }
		s := serve(t, map[string]string{
			below("prod/a/x"): "1", below("prod/a/deep/y"): "2", below("prod/b/x"): "3", below("prod/ab/x"): "4", below("dev*/c/x"): "5",
			below("top"): "6", below("prod/file"): "7", "elsewhere/prod/a/x": "8", "clusters.md": "9",
		})
		dirs := []string{"prod/a", "dev*/c"}
		l, err := s.open(t).List(t.Context(), "main", path)
		trees := l.Trees
		if err != nil || trees["prod/file"] != "" || trees["none"] != "" {
			t.Fatalf("%v, %v", trees, err)
		}
		wantThere := []string{"dev*/c/x", "prod/a/deep/y", "prod/a/x", "prod/ab/x", "prod/b/x", "prod/file", "top"}
		if path == "" {
			wantThere = append(wantThere, "clusters.md", "elsewhere/prod/a/x")
		}
		if slices.Sort(wantThere); !slices.Equal(l.Files, wantThere) {
			t.Errorf("there are %q, want %q", l.Files, wantThere)
		}
		for _, d := range dirs {
			if want := strings.TrimSpace(s.git(t, "-C", s.bare, "rev-parse", "main:"+below(d))); trees[d] != want {
				t.Errorf("the tree of %s is %s, want %s", d, trees[d], want)
			}
		}
		if l, err := s.open(t).List(t.Context(), "other", path); l.Trees != nil || err != nil {
			t.Errorf("of a branch that is not there: %v, %v", l, err)
		}
		if _, err := s.open(t).List(t.Context(), "main", "../x"); err == nil {
			t.Error("a path that leads out")
		}

		var there []string
		writeFiles := writes(map[string]string{"prod/b/x": "new", "prod/d/x": "new", "top": ""})
		u := BranchUpdate{Branch: "main", Path: path, Without: Without{"prod/a": trees["prod/a"], "dev*/c": "", "prod/file": "", "none": ""}}
		u.Write = func(ctx context.Context, dir, base string) (BranchChange, error) {
			err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					there = append(there, name)
				}
				return err
			})
			if err != nil {
				return BranchChange{}, err
			}
			c, err := writeFiles(ctx, dir, base)
			c.Directories = []string{"prod/b", "prod/d", "none"}
			return c, err
		}
		result := s.mustPush(t, u, BranchCommitted)
		want := []string{"prod/ab/x", "prod/b/x", "prod/file", "top"}
		if path == "" {
			want = append(want, "elsewhere/prod/a/x", "clusters.md")
		}
		if slices.Sort(want); !slices.Equal(there, want) {
			t.Errorf("there were %q, want %q", there, want)
		}
		wantTrees := map[string]string{}
		for _, d := range []string{"prod/b", "prod/d"} {
			wantTrees[d] = strings.TrimSpace(s.git(t, "-C", s.bare, "rev-parse", "main:"+below(d)))
		}
		if !reflect.DeepEqual(result.Trees, wantTrees) {
			t.Errorf("the trees are %v, want %v", result.Trees, wantTrees)
		}
		files := s.files(t, "main")
		for name, want := range map[string]string{
			below("prod/a/x"): "1", below("prod/a/deep/y"): "2", below("prod/b/x"): "new", below("prod/ab/x"): "4", below("dev*/c/x"): "5",
			below("top"): "", below("prod/file"): "7", below("prod/d/x"): "new", "elsewhere/prod/a/x": "8", "clusters.md": "9",
		} {
			if files[name] != want {
				t.Errorf("%s has %q, want %q", name, files[name], want)
			}
		}
		if u.Write = writes(nil); s.mustPush(t, u, BranchUnchanged).Commit != s.tip(t, "main") {
			t.Error("it is not the tip")
		}
	}
}

// An excluded directory with another tree than expected ends the update before
// Write runs.
func TestTreeMismatch(t *testing.T) {
	s := serve(t, map[string]string{"a/x": "1", "b/x": "1"})
	r := s.open(t)
	l, err := r.List(t.Context(), "main", "")
	if err != nil {
		t.Fatal(err)
	}
	trees := l.Trees
	u := BranchUpdate{Branch: "main", Without: Without{"a": trees["a"]}, Write: writes(map[string]string{"b/x": "2"})}
	s.commit(t, "main", map[string]string{"a/x": "2"})
	if _, err := r.Push(t.Context(), false, u); !errors.Is(err, ErrTreeMismatch) {
		t.Errorf("another file: %v", err)
	}
	s.commit(t, "main", map[string]string{"a/x": ""})
	if _, err := r.Push(t.Context(), false, u); !errors.Is(err, ErrTreeMismatch) {
		t.Errorf("no file: %v", err)
	}
	u.Branch, u.Without = "new", Without{"a": trees["a"], "b": ""}
	if _, err := s.open(t).Push(t.Context(), false, u); !errors.Is(err, ErrTreeMismatch) {
		t.Errorf("another branch: %v", err)
	}
	if s.pushes != 0 || s.files(t, "main")["b/x"] != "1" {
		t.Errorf("%d pushes", s.pushes)
	}
	empty := serve(t, nil)
	if _, err := empty.open(t).Push(t.Context(), false, BranchUpdate{Branch: "main", Without: Without{"a": trees["a"]}, Write: writes(nil)}); !errors.Is(err, ErrTreeMismatch) {
		t.Errorf("an empty repository: %v", err)
	}
}

// The contents of excluded files are not fetched if the server supports
// filters.
func TestWithoutFetchesLess(t *testing.T) {
	noise := strings.Repeat("0123456789abcdef", 1<<10)
	s := serve(t, map[string]string{"a/x": "1", "b/x": noise})
	r := s.open(t)
	u := BranchUpdate{Branch: "main", Without: Without{"b": ""}, Write: func(ctx context.Context, dir, base string) (BranchChange, error) {
		data, err := os.ReadFile(filepath.Join(dir, "a", "x"))
		if string(data) != "1" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		return writes(map[string]string{"a/x": "2"})(ctx, dir, base)
	}}
	if _, err := r.Push(t.Context(), false, u); err != nil {
		t.Fatal(err)
	}
	blob := strings.TrimSpace(s.git(t, "-C", s.bare, "rev-parse", "main:b/x"))
	missing, err := r.run(t.Context(), "rev-list", "--objects", "--missing=print", "--no-object-names", s.tip(t, "main"))
	if err != nil || !strings.Contains(missing, "?"+blob) {
		t.Errorf("it was fetched: %v, %s", err, missing)
	}
	if s.files(t, "main")["b/x"] != noise {
		t.Error("it is another")
	}
}

// Invalid file names are faults and do not loop.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"/x", "/", "//", "../x", ".git/x"} {
		s := serve(t, map[string]string{"a/x": "1"})
		blob, err := hex.DecodeString(s.object(t, "blob", "evil"))
		if err != nil {
			t.Fatal(err)
		}
		tree := s.object(t, "tree", "100644 "+name+"\x00"+string(blob))
		commit := strings.TrimSpace(s.git(t, "-C", s.bare, "commit-tree", "-m", "x", tree))
		s.git(t, "-C", s.bare, "update-ref", "refs/heads/main", commit)
		_, err = s.push(t, BranchUpdate{Branch: "main", Without: Without{"b": ""}, Write: writes(map[string]string{"c/x": "2"})})
		wantFault(t, err, "invalid path '"+name+"'")
		if _, err := s.open(t).List(t.Context(), "main", ""); err != nil {
			t.Error(err)
		}
	}
}

// More directories than fit on a command line.
func TestWithoutMany(t *testing.T) {
	s := serve(t, map[string]string{"a/x": "1"})
	w := Without{}
	for i := range 50_000 {
		w[fmt.Sprintf("prod/europe-west-1/a-cluster-%06d", i)] = ""
	}
	s.mustPush(t, BranchUpdate{Branch: "main", Without: w, Write: writes(map[string]string{"b/x": "2"})}, BranchCommitted)
}

// object writes an object and returns its ID.
func (s *server) object(t *testing.T, kind, content string) string {
	t.Helper()
	cmd := exec.Command("git", "-C", s.bare, "hash-object", "--literally", "-w", "-t", kind, "--stdin")
	cmd.Stdin = strings.NewReader(content)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

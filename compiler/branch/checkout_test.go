package branch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What an update leaves alone is not there for it, and is in the commit all the
// same; what is there is all of the rest.
func TestWithout(t *testing.T) {
	for _, path := range []string{"", "clusters"} {
		below := func(name string) string { return strings.TrimPrefix(path+"/"+name, "/") }
		s := serve(t, map[string]string{
			below("prod/a/x"): "1", below("prod/a/deep/y"): "2", below("prod/b/x"): "3", below("prod/ab/x"): "4", below("dev*/c/x"): "5",
			below("top"): "6", below("prod/file"): "7", "elsewhere/prod/a/x": "8", "clusters.md": "9",
		})
		dirs := []string{"prod/a", "dev*/c", "prod/file", "none"}
		trees, err := s.open(t).Trees(t.Context(), "main", path, dirs)
		if err != nil || len(trees) != 2 {
			t.Fatalf("%v, %v", trees, err)
		}
		for _, d := range dirs[:2] {
			if want := strings.TrimSpace(s.git(t, "-C", s.bare, "rev-parse", "main:"+below(d))); trees[d] != want {
				t.Errorf("the tree of %s is %s, want %s", d, trees[d], want)
			}
		}
		if trees, err := s.open(t).Trees(t.Context(), "other", path, dirs); trees != nil || err != nil {
			t.Errorf("of a branch that is not there: %v, %v", trees, err)
		}

		var there []string
		write := writes(map[string]string{"prod/b/x": "new", "prod/d/x": "new", "top": ""})
		u := Update{Branch: "main", Path: path, Without: Without{"prod/a": trees["prod/a"], "dev*/c": "", "prod/file": "", "none": ""}}
		u.Write = func(ctx context.Context, dir string) (Change, error) {
			err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					there = append(there, name)
				}
				return err
			})
			if err != nil {
				return Change{}, err
			}
			c, err := write(ctx, dir)
			c.Directories = []string{"prod/b", "prod/d", "none"}
			return c, err
		}
		result := s.mustPush(t, u, Committed)
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
		if u.Write = writes(nil); s.mustPush(t, u, Unchanged).Commit != s.tip(t, "main") {
			t.Error("it is not the tip")
		}
	}
}

// What is left alone and is another tree than it has to be ends the update, before
// anything is written.
func TestOtherTree(t *testing.T) {
	s := serve(t, map[string]string{"a/x": "1", "b/x": "1"})
	r := s.open(t)
	trees, err := r.Trees(t.Context(), "main", "", []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	u := Update{Branch: "main", Without: Without{"a": trees["a"]}, Write: writes(map[string]string{"b/x": "2"})}
	s.commit(t, "main", map[string]string{"a/x": "2"})
	if _, err := r.Push(t.Context(), false, u); !errors.Is(err, ErrOther) {
		t.Errorf("another file: %v", err)
	}
	s.commit(t, "main", map[string]string{"a/x": ""})
	if _, err := r.Push(t.Context(), false, u); !errors.Is(err, ErrOther) {
		t.Errorf("no file: %v", err)
	}
	u.Branch, u.Without = "new", Without{"a": trees["a"], "b": ""}
	if _, err := s.open(t).Push(t.Context(), false, u); !errors.Is(err, ErrOther) {
		t.Errorf("another branch: %v", err)
	}
	if s.pushes != 0 || s.files(t, "main")["b/x"] != "1" {
		t.Errorf("%d pushes", s.pushes)
	}
	empty := serve(t, nil)
	if _, err := empty.open(t).Push(t.Context(), false, Update{Branch: "main", Without: Without{"a": trees["a"]}, Write: writes(nil)}); !errors.Is(err, ErrOther) {
		t.Errorf("an empty repository: %v", err)
	}
}

// Contents of files that are left alone are not fetched, where the server can do
// that.
func TestWithoutFetchesLess(t *testing.T) {
	noise := strings.Repeat("0123456789abcdef", 1<<10)
	s := serve(t, map[string]string{"a/x": "1", "b/x": noise})
	r := s.open(t)
	u := Update{Branch: "main", Without: Without{"b": ""}, Write: func(ctx context.Context, dir string) (Change, error) {
		data, err := os.ReadFile(filepath.Join(dir, "a", "x"))
		if string(data) != "1" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		return writes(map[string]string{"a/x": "2"})(ctx, dir)
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

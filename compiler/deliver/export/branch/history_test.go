package branch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An exclusive update decides again on every new tip, even if others changed other files.
func TestExclusive(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		s := serve(t, map[string]string{"ours/x": "0", "theirs/x": "0"})
		script := "#!/bin/sh\nif ! [ -e moved ]; then touch moved; git update-ref refs/heads/main " + moved(t, s) + "; fi\n"
		if err := os.WriteFile(filepath.Join(s.bare, "hooks", "update"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		var bases []string
		result, err := s.push(t, Update{Branch: "main", Exclusive: exclusive, Write: func(ctx context.Context, dir, base string) (Change, error) {
			bases = append(bases, base)
			return writes(map[string]string{"ours/x": "1"})(ctx, dir, base)
		}})
		if err != nil || result.State != Committed {
			t.Fatalf("%+v, %v", result, err)
		}
		wantFiles(t, s.files(t, "main"), map[string]string{"ours/x": "1", "theirs/x": "1"})
		if want := map[bool]int{false: 1, true: 2}[exclusive]; len(bases) != want {
			t.Errorf("exclusive %t: decided on %v", exclusive, bases)
		}
	}
}

// moved commits to another branch than main, on its tip, and returns the commit.
func moved(t *testing.T, s *server) string {
	t.Helper()
	s.git(t, "-C", s.bare, "branch", "next", "main")
	s.commit(t, "next", map[string]string{"theirs/x": "1"})
	return s.tip(t, "next")
}

// A detached branch starts without files, and has one commit.
func TestDetached(t *testing.T) {
	s := serve(t, map[string]string{"x": "0"})
	for _, text := range []string{"1", "2"} {
		s.mustPush(t, Update{Branch: "reports/a", Detached: true, Write: writes(map[string]string{"r": text})}, Committed)
		wantFiles(t, s.files(t, "reports/a"), map[string]string{"r": text})
		if count := s.git(t, "-C", s.bare, "rev-list", "--count", "reports/a"); count != "1\n" {
			t.Errorf("%s commits", count)
		}
	}
	empty := serve(t, nil)
	empty.mustPush(t, Update{Branch: "reports/a", Detached: true, Write: writes(map[string]string{"r": "1"})}, Committed)
}

// The history has the trees of the last commits, and says which one changed a directory.
func TestHistory(t *testing.T) {
	s := serve(t, map[string]string{"top/a/x": "0", "top/b/x": "0"})
	s.commit(t, "main", map[string]string{"top/a/x": "1"})
	changed := s.tip(t, "main")
	s.commit(t, "main", map[string]string{"top/b/x": "1"})
	oldest := strings.TrimSpace(s.git(t, "-C", s.bare, "rev-list", "--max-parents=0", "main"))
	for _, depth := range []int{2, 3} {
		r := s.open(t)
		ran := false
		_, err := r.Push(t.Context(), true, Update{Branch: "main", Path: "top", Depth: depth, Write: func(ctx context.Context, _, base string) (Change, error) {
			ran = true
			h, err := r.History(ctx, base, "top")
			if err != nil {
				return Change{}, err
			}
			if commit, at, err := h.Changed(ctx, "a", time.Time{}); commit != changed || at.IsZero() || err != nil {
				t.Errorf("a changed in %s at %v, %v, want %s", commit, at, err, changed)
			}
			tree := func(commit, dir string) string {
				id, err := h.Tree(ctx, commit, dir)
				if err != nil {
					t.Error(err)
				}
				return id
			}
			if tree(changed, "a") != tree(base, "a") || tree(changed, "b") == tree(base, "b") || tree(base, "a") == "" {
				t.Error("the trees are wrong")
			}
			if (tree(oldest, "a") == "") != (depth == 2) || tree(base, "c") != "" || tree(strings.Repeat("0", 40), "a") != "" {
				t.Errorf("trees of other commits with depth %d", depth)
			}
			if commit, _, err := h.Changed(ctx, "none", time.Time{}); commit != "" || err != nil {
				t.Errorf("a missing directory changed in %s, %v", commit, err)
			}
			return Change{}, nil
		}})
		if err != nil || !ran {
			t.Fatalf("%t, %v", ran, err)
		}
	}
}

// The oldest commit of the copy is not the change: older ones are fetched, unless the change
// is older than the limit.
func TestDeepen(t *testing.T) {
	s := serve(t, map[string]string{"top/a/x": "0", "top/b/x": "0"})
	s.commit(t, "main", map[string]string{"top/a/x": "1"})
	changed := s.tip(t, "main")
	for _, text := range []string{"1", "2", "3", "4", "5", "6"} {
		s.commit(t, "main", map[string]string{"top/b/x": text})
	}
	r := s.open(t)
	_, err := r.Push(t.Context(), true, Update{Branch: "main", Path: "top", Depth: 2, Write: func(ctx context.Context, _, base string) (Change, error) {
		h, err := r.History(ctx, base, "top")
		if err != nil {
			return Change{}, err
		}
		if commit, at, err := h.Changed(ctx, "a", time.Now().Add(time.Hour)); commit != "" || !at.IsZero() || err != nil {
			t.Errorf("before the limit, a changed in %s at %v, %v", commit, at, err)
		}
		if commit, at, err := h.Changed(ctx, "a", time.Time{}); commit != changed || at.IsZero() || err != nil {
			t.Errorf("a changed in %s at %v, %v, want %s", commit, at, err, changed)
		}
		return Change{}, nil
	}})
	if err != nil {
		t.Error(err)
	}
}

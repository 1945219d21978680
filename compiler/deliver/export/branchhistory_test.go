package export

import (
	"context"
	"os"
	"path"
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
		result, err := s.push(t, BranchUpdate{Branch: "main", Exclusive: exclusive, Write: func(ctx context.Context, dir, base string) (BranchChange, error) {
			bases = append(bases, base)
			return writes(map[string]string{"ours/x": "1"})(ctx, dir, base)
		}})
		if err != nil || result.State != BranchCommitted {
			t.Fatalf("%+v, %v", result, err)
		}
		branchWantFiles(t, s.files(t, "main"), map[string]string{"ours/x": "1", "theirs/x": "1"})
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
		s.mustPush(t, BranchUpdate{Branch: "reports/a", Detached: true, Write: writes(map[string]string{"r": text})}, BranchCommitted)
		branchWantFiles(t, s.files(t, "reports/a"), map[string]string{"r": text})
		if count := s.git(t, "-C", s.bare, "rev-list", "--count", "reports/a"); count != "1\n" {
			t.Errorf("%s commits", count)
		}
	}
	empty := serve(t, nil)
	empty.mustPush(t, BranchUpdate{Branch: "reports/a", Detached: true, Write: writes(map[string]string{"r": "1"})}, BranchCommitted)
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
		_, err := r.Push(t.Context(), true, BranchUpdate{Branch: "main", Path: "top", Depth: depth, Write: func(ctx context.Context, _, base string) (BranchChange, error) {
			ran = true
			h, err := r.History(ctx, base, "top")
			if err != nil {
				return BranchChange{}, err
			}
			changes, err := h.LastChanges(ctx, []string{"a", "b", "none"}, time.Time{})
			if a, b := changes["a"], changes["b"]; len(changes) != 2 || a.Commit != changed || b.Commit != base || a.Time.IsZero() || err != nil {
				t.Errorf("the last changes are %v, %v, want %s for a, %s for b", changes, err, changed, base)
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
			return BranchChange{}, nil
		}})
		if err != nil || !ran {
			t.Fatalf("%t, %v", ran, err)
		}
	}
}

// The last changes are those of the first parents. They do not depend on file names and
// settings of git.
func TestLastChangesOfMerges(t *testing.T) {
	for _, top := range []string{"", "top"} {
		s := serve(t, map[string]string{path.Join(top, "a/x"): "0", path.Join(top, "b/c/ü\n\" x"): "0", path.Join(top, "bc/x"): "0"})
		for key, value := range map[string]string{"log.follow": "true", "log.showSignature": "true", "diff.relative": "true", "diff.renames": "copies"} {
			s.configure(t, key, value)
		}
		first := s.tip(t, "main")
		s.git(t, "-C", s.bare, "branch", "side", "main")
		s.commit(t, "side", map[string]string{path.Join(top, "b/c/ü\n\" x"): "1"})
		s.commit(t, "main", map[string]string{path.Join(top, "a/x"): "1"})
		changed := s.tip(t, "main")
		merge := strings.TrimSpace(s.git(t, "-C", s.bare, "commit-tree", "-p", "main", "-p", "side", "-m", "merge",
			strings.TrimSpace(s.git(t, "-C", s.bare, "merge-tree", "--write-tree", "main", "side"))))
		empty := strings.TrimSpace(s.git(t, "-C", s.bare, "commit-tree", "-p", merge, "-m", "empty", merge+"^{tree}"))
		s.git(t, "-C", s.bare, "update-ref", "refs/heads/main", empty)
		r := s.open(t)
		_, err := r.Push(t.Context(), true, BranchUpdate{Branch: "main", Path: top, Depth: 10, Write: func(ctx context.Context, _, base string) (BranchChange, error) {
			h, err := r.History(ctx, base, top)
			if err != nil {
				return BranchChange{}, err
			}
			changes, err := h.LastChanges(ctx, []string{"a", "b/c", "bc", "c"}, time.Time{})
			if len(changes) != 3 || changes["a"].Commit != changed || changes["b/c"].Commit != merge || changes["bc"].Commit != first || err != nil {
				t.Errorf("below %q the last changes are %v, %v, want %s for a, %s for b/c and %s for bc", top, changes, err, changed, merge, first)
			}
			return BranchChange{}, nil
		}})
		if err != nil {
			t.Error(err)
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
	_, err := r.Push(t.Context(), true, BranchUpdate{Branch: "main", Path: "top", Depth: 2, Write: func(ctx context.Context, _, base string) (BranchChange, error) {
		h, err := r.History(ctx, base, "top")
		if err != nil {
			return BranchChange{}, err
		}
		for _, want := range []string{"", changed} {
			limit := time.Time{}
			if want == "" {
				limit = time.Now().Add(time.Hour)
			}
			changes, err := h.LastChanges(ctx, []string{"a", "b"}, limit)
			if a, b := changes["a"], changes["b"]; a.Commit != want || b.Commit != base || err != nil {
				t.Errorf("with the limit %v, the last changes are %v, %v, want %q for a, %s for b", limit, changes, err, want, base)
			}
		}
		return BranchChange{}, nil
	}})
	if err != nil {
		t.Error(err)
	}
}

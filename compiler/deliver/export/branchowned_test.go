package export

import (
	"slices"
	"strings"
	"testing"
)

// A branch of an update with Owned is replaced only if others did not change it.
func TestOwned(t *testing.T) {
	s := serve(t, map[string]string{"a": "1\n", "b": "1\n"})
	update := func(text string) BranchUpdate {
		return BranchUpdate{Branch: "fleetc/update/a", Onto: "main", Owned: true, Write: writes(map[string]string{"a": text})}
	}
	s.mustPush(t, update("2\n"), BranchCommitted)
	first := s.tip(t, "fleetc/update/a")
	s.mustPush(t, update("2\n"), BranchUnchanged)

	// Another commit of the base leaves the branch as it is.
	s.commit(t, "main", map[string]string{"b": "2\n"})
	s.mustPush(t, update("2\n"), BranchUnchanged)
	if got := s.tip(t, "fleetc/update/a"); got != first {
		t.Errorf("the branch moved to %s", got)
	}
	s.mustPush(t, update("3\n"), BranchCommitted)
	branchWantFiles(t, s.files(t, "fleetc/update/a"), map[string]string{"a": "3\n", "b": "2\n"})

	// A commit on top of it is kept.
	s.commit(t, "fleetc/update/a", map[string]string{"b": "theirs\n"})
	theirs := s.tip(t, "fleetc/update/a")
	s.mustPush(t, update("4\n"), BranchForeign)
	if got := s.tip(t, "fleetc/update/a"); got != theirs {
		t.Errorf("the commit of others was replaced by %s", got)
	}

	// A commit whose message looks like the header of a merge does not merge it.
	t.Setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z") // older than the branch, so that the shallow copy ends after it
	s.commit(t, "main", map[string]string{"b": "3\n"})
	t.Setenv("GIT_COMMITTER_DATE", "")
	quoting := s.git(t, "-C", s.bare, "commit-tree", "-p", "main", "-m", "revert\n\ntree 1\nparent "+theirs+"\nauthor a", "main^{tree}")
	s.git(t, "-C", s.bare, "update-ref", "refs/heads/main", strings.TrimSpace(quoting))
	s.mustPush(t, update("4\n"), BranchForeign)

	// After its merge, the branch is free.
	merge := s.git(t, "-C", s.bare, "commit-tree", "-p", "main", "-p", theirs, "-m", "merge", theirs+"^{tree}")
	s.git(t, "-C", s.bare, "update-ref", "refs/heads/main", strings.TrimSpace(merge))
	s.commit(t, "main", map[string]string{"c": "1\n"})
	s.mustPush(t, update("4\n"), BranchCommitted)
	s.mustPush(t, update("4\n"), BranchUnchanged)
	branchWantFiles(t, s.files(t, "fleetc/update/a"), map[string]string{"a": "4\n", "b": "theirs\n", "c": "1\n"})
	names, err := s.open(t).Branches(t.Context(), "fleetc/update/")
	if want := []string{"fleetc/update/a"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("branches %v, %v, want %v", names, err, want)
	}
}

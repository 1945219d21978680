package branch

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A History has the last commits of a branch, as many as [Update.Depth] says. It is not
// safe for concurrent use.
type History struct {
	Tip string // the commit at which it ends; empty for none

	remote  *Remote
	path    string
	commits map[string]bool
	trees   map[string]map[string]string // object IDs of directories, by commit and path below History.path
}

// History returns the history of the directory at a commit, which is the base of an update
// that is being written. An empty commit has no history.
func (r *Remote) History(ctx context.Context, commit, path string) (*History, error) {
	h := &History{remote: r, Tip: commit, path: path, commits: map[string]bool{}, trees: map[string]map[string]string{}}
	if commit == "" {
		return h, nil
	}
	out, err := r.run(ctx, "rev-list", commit)
	for id := range strings.FieldsSeq(out) {
		h.commits[id] = true
	}
	return h, r.fault(err)
}

// Tree returns the object ID of a directory below the path in a commit. It is empty if the
// commit is not in the history, or does not have the directory.
func (h *History) Tree(ctx context.Context, commit, dir string) (string, error) {
	if !h.commits[commit] {
		return "", nil
	}
	if h.trees[commit] == nil {
		all, err := h.remote.entries(ctx, commit, "-d")
		if err != nil {
			return "", err
		}
		h.trees[commit] = newListing(all, h.path).Trees
	}
	return h.trees[commit][dir], nil
}

// Changed returns the commit that gave a directory below the path its present content, and
// the time of the commit. If the directory did not change in the whole history, it is the
// oldest commit.
func (h *History) Changed(ctx context.Context, dir string) (commit string, at time.Time, err error) {
	if h.Tip == "" {
		return "", time.Time{}, nil
	}
	out, err := h.remote.run(ctx, "log", "-1", "--first-parent", "--no-show-signature", "--format=%H %ct", h.Tip, "--", ":(top,literal)"+path.Join(h.path, dir))
	if err != nil || out == "" {
		return "", time.Time{}, h.remote.fault(err)
	}
	commit, text, _ := strings.Cut(out, " ")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("git log prints %q", diag.Visible(out, diag.MaxText))
	}
	return commit, time.Unix(seconds, 0).UTC(), nil
}

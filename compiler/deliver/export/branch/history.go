package branch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	step    int // number of commits that the last deepen fetched
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
// the time of the commit. It fetches older commits when it needs them. It returns neither if
// the change is older than the time limit.
func (h *History) Changed(ctx context.Context, dir string, limit time.Time) (commit string, at time.Time, err error) {
	for {
		commit, at, err := h.lastChange(ctx, dir)
		if err != nil || commit == "" {
			return "", time.Time{}, err
		}
		boundary, err := h.remote.boundary()
		switch {
		case err != nil:
			return "", time.Time{}, err
		case !strings.Contains(boundary, commit):
			return commit, at, nil
		case at.Before(limit):
			return "", time.Time{}, nil
		}
		if err := h.deepen(ctx, boundary); err != nil {
			return "", time.Time{}, err
		}
	}
}

// lastChange returns the last commit of the copy that changed a directory, and its time. A
// commit at the boundary of the copy seems to add all its files.
func (h *History) lastChange(ctx context.Context, dir string) (commit string, at time.Time, err error) {
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

// boundary returns the IDs of the oldest commits of the copy whose parents it does not have.
func (r *Remote) boundary() (string, error) {
	ids, err := os.ReadFile(filepath.Join(r.dir, repository, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(ids), err
}

// deepen fetches commits before the boundary, twice as many each time.
func (h *History) deepen(ctx context.Context, boundary string) error {
	h.step = max(2*h.step, len(h.commits))
	_, err := h.remote.remote(ctx, "fetch", "--quiet", fmt.Sprintf("--deepen=%d", h.step), "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "origin", h.Tip)
	if err != nil {
		return h.remote.fault(err)
	}
	after, err := h.remote.boundary()
	if err == nil && after == boundary {
		err = &diag.Diag{Code: diag.CodeGitLimits, Msg: h.remote.Name + " does not send the older commits of the branch", Hint: "its own copy must have the whole history: run git fetch --unshallow there"}
	}
	return err
}

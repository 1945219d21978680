package export

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A BranchHistory has the last commits of a branch, as many as [BranchUpdate.Depth] says. It is not
// safe for concurrent use.
type BranchHistory struct {
	Tip string // the commit at which it ends; empty for none

	remote  *Remote
	path    string
	step    int // number of commits that the last deepen fetched
	commits map[string]bool
	trees   map[string]map[string]string // object IDs of directories, by commit and path below History.path
}

// History returns the history of the directory at a commit, which is the base of an update
// that is being written. An empty commit has no history.
func (r *Remote) History(ctx context.Context, commit, path string) (*BranchHistory, error) {
	h := &BranchHistory{remote: r, Tip: commit, path: path, commits: map[string]bool{}, trees: map[string]map[string]string{}}
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
func (h *BranchHistory) Tree(ctx context.Context, commit, dir string) (string, error) {
	if !h.commits[commit] {
		return "", nil
	}
	if h.trees[commit] == nil {
		all, err := h.remote.entries(ctx, "-r", "-d", commit)
		if err != nil {
			return "", err
		}
		h.trees[commit] = newListing(all, h.path).Trees
	}
	return h.trees[commit][dir], nil
}

// A LastChange is the commit that gave a directory its present content, and its time.
type LastChange struct {
	Commit string
	Time   time.Time
}

// LastChanges returns the last change of each directory below the path. It fetches older
// commits when it needs them. It leaves out the directories that the tip does not have, and
// those whose change is older than all commits of the copy and than the time limit.
func (h *BranchHistory) LastChanges(ctx context.Context, dirs []string, limit time.Time) (map[string]LastChange, error) {
	changes := map[string]LastChange{}
	for len(dirs) > 0 && h.Tip != "" {
		if err := h.readChanges(ctx, dirs, changes); err != nil {
			return nil, err
		}
		boundary, err := h.remote.boundary()
		if err != nil {
			return nil, err
		}
		var older []string
		for _, dir := range dirs {
			// A commit at the boundary seems to add all its files.
			change, found := changes[dir]
			if !found || !strings.Contains(boundary, change.Commit) {
				continue
			}
			delete(changes, dir)
			if !change.Time.Before(limit) {
				older = append(older, dir)
			}
		}
		if dirs = older; len(dirs) > 0 {
			err = h.deepen(ctx, boundary)
		}
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// readChanges reads the commits of the copy, the last one first, until it has the last
// change of each directory.
func (h *BranchHistory) readChanges(ctx context.Context, dirs []string, changes map[string]LastChange) error {
	missing := map[string]string{} // directories by path
	for _, dir := range dirs {
		missing[path.Join(h.path, dir)] = dir
	}
	complete := errors.New("complete")
	err := h.remote.git().Stream(ctx, nil, func(printed io.Reader) error {
		var change LastChange
		texts := bufio.NewScanner(printed)
		texts.Split(splitNUL)
		for texts.Scan() {
			name := strings.TrimPrefix(texts.Text(), "\n")
			if name == "" && texts.Scan() { // a commit, and then its files
				var err error
				if change, err = parseChange(texts.Text()); err != nil {
					return err
				}
				continue
			}
			for ; name != "."; name = path.Dir(name) {
				if dir, found := missing[name]; found {
					changes[dir] = change
					delete(missing, name)
				}
			}
			if len(missing) == 0 {
				return complete
			}
		}
		return texts.Err()
	}, "log", "--first-parent", "--diff-merges=first-parent", "--name-only", "--no-renames", "--no-relative", "--no-follow", "--no-show-signature", "-z", "--format=%x00%H %ct", h.Tip, "--", ":(top,literal)"+h.path)
	if errors.Is(err, complete) {
		return nil
	}
	return h.remote.fault(err)
}

// splitNUL is a [bufio.SplitFunc] for texts that end with a NUL byte.
func splitNUL(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, 0); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// parseChange parses the ID and the time of a commit.
func parseChange(text string) (LastChange, error) {
	commit, at, _ := strings.Cut(text, " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return LastChange{}, fmt.Errorf("git log prints %q", diag.Visible(text, diag.MaxText))
	}
	return LastChange{commit, time.Unix(seconds, 0).UTC()}, nil
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
func (h *BranchHistory) deepen(ctx context.Context, boundary string) error {
	h.step = max(2*h.step, len(h.commits))
	_, err := h.remote.remote(ctx, "fetch", "--quiet", fmt.Sprintf("--deepen=%d", h.step), "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "origin", h.Tip)
	if err != nil {
		return h.remote.fault(err)
	}
	after, err := h.remote.boundary()
	if err == nil && after == boundary {
		err = &diag.Diag{Code: diag.CodeGitLimits, Msg: h.remote.Name + " lacks the older commits of the branch", Hint: "run git fetch --unshallow in that repository"}
	}
	return err
}

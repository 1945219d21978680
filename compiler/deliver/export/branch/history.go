package branch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
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

// maxFiles limits the copy of the branches that [Remote.Files] reads, in bytes.
const maxFiles = 256 << 20

// Files returns the file with the name at the top of each branch that exists, by branch. The
// content is nil if a branch does not have the file, or if the file has more than limit
// bytes.
func (r *Remote) Files(ctx context.Context, branches []string, name string, limit int) (map[string][]byte, error) {
	l, err := r.list(ctx, branches...)
	if err != nil || len(l.branches) == 0 {
		return nil, err
	}
	copied := r.git()
	copied.Env = append(copied.Env, "GIT_NO_LAZY_FETCH=1") // of files above the limit
	isMissing, err := r.fetchSmall(ctx, copied, l.branches, limit)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var objects strings.Builder
	var having []string
	for i, b := range l.branches {
		files[b] = nil
		all, err := r.entries(ctx, fmt.Sprintf("refs/fleetc/file/%d", i), "-t")
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			if e.name == name && e.kind == "blob" && !isMissing[e.id] {
				having = append(having, b)
				objects.WriteString(e.id + "\n")
			}
		}
	}
	err = copied.Stream(ctx, strings.NewReader(objects.String()), func(printed io.Reader) error {
		in := bufio.NewReader(printed)
		for _, b := range having {
			data, err := readBlob(in, limit)
			if err != nil {
				return err
			}
			files[b] = data
		}
		return nil
	}, "cat-file", "--batch")
	return files, r.fault(err)
}

// fetchSmall fetches branches as refs/fleetc/file/INDEX without files of more than limit
// bytes, and returns the IDs of these files. A server without filters sends all files.
func (r *Remote) fetchSmall(ctx context.Context, copied git.Repo, branches []string, limit int) (isMissing map[string]bool, err error) {
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", fmt.Sprintf("--filter=blob:limit=%d", limit+1), "origin"}
	for i, b := range branches {
		args = append(args, fmt.Sprintf("+refs/heads/%s:refs/fleetc/file/%d", b, i))
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if _, err := copied.RunWithin(limited, maxFiles, maxPrinted, args...); err != nil {
		return nil, r.fault(err)
	}
	// git cat-file would stop at an object that is missing.
	out, err := copied.Run(ctx, nil, maxListing, "rev-list", "--objects", "--no-walk", "--missing=print", "--glob=refs/fleetc/file")
	isMissing = map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
			isMissing[id] = true
		}
	}
	return isMissing, r.fault(err)
}

// readBlob reads the next file that git cat-file --batch prints: a line with its ID, kind and
// size, and its content. It returns nil for a file with more than limit bytes.
func readBlob(in *bufio.Reader, limit int) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(strings.TrimSpace(line), " blob ")
	size, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("git cat-file prints %q", diag.Visible(line, diag.MaxText))
	}
	if size > limit {
		_, err := io.CopyN(io.Discard, in, int64(size)+1)
		return nil, err
	}
	data := make([]byte, size+1) // and the line break
	_, err = io.ReadFull(in, data)
	return data[:size], err
}

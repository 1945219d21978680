package export

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// Limits of the copy of the branches that [Remote.Files] reads, in bytes.
const (
	maxBranchFiles = 256 << 20
	maxAlone       = 32 << 20 // of one branch
)

// BranchFile is the content of a file at the top of a branch.
type BranchFile struct {
	Data []byte // nil if the branch does not have the file, or if the file is too large
	Err  error  // why the branch cannot be read
}

// Files returns the file with the name at the top of each branch that exists, by branch. A file
// with more than limit bytes is too large. A branch that cannot be read does not affect others.
func (r *Remote) Files(ctx context.Context, branches []string, name string, limit int) (map[string]BranchFile, error) {
	for _, b := range branches {
		if err := checkBranch(b); err != nil {
			return nil, err
		}
	}
	l, err := r.list(ctx, branches...)
	if err != nil || len(l.branches) == 0 {
		return nil, err
	}
	files, err := r.files(ctx, maxBranchFiles, l.branches, name, limit)
	if err == nil || ctx.Err() != nil {
		return files, err
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	files = map[string]BranchFile{}
	for _, b := range l.branches {
		files[b] = r.fileAlone(limited, b, name, limit)
	}
	return files, ctx.Err()
}

// fileAlone reads the file of one branch in another copy.
func (r *Remote) fileAlone(ctx context.Context, branch, name string, limit int) BranchFile {
	dir, err := os.MkdirTemp(r.dir, "alone-")
	if err != nil {
		return BranchFile{Err: err}
	}
	one := &Remote{Name: r.Name, remoteAddress: r.remoteAddress, dir: dir, timeout: r.timeout}
	defer func() { _ = one.Close() }() // Close of r removes it otherwise
	if err := one.init(ctx); err != nil {
		return BranchFile{Err: err}
	}
	files, err := one.files(ctx, maxAlone, []string{branch}, name, limit)
	if err != nil {
		return BranchFile{Err: err}
	}
	return files[branch]
}

// files is [Remote.Files] of branches that exist, with a limit of the copy.
func (r *Remote) files(ctx context.Context, most int64, branches []string, name string, limit int) (map[string]BranchFile, error) {
	copied := r.git()
	copied.Env = append(copied.Env, "GIT_NO_LAZY_FETCH=1") // of files above the limit
	if err := r.fetchSmall(ctx, copied, most, branches, limit); err != nil {
		return nil, err
	}
	files := map[string]BranchFile{}
	var ids, having []string
	for i, b := range branches {
		files[b] = BranchFile{}
		line, err := r.run(ctx, "ls-tree", "-z", "--full-tree", fmt.Sprintf("refs/fleetc/file/%d", i), "--", name)
		if err != nil {
			return nil, r.fault(err)
		}
		about, _, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" {
			ids, having = append(ids, f[2]), append(having, b)
		}
	}
	isThere, err := present(ctx, copied, ids)
	if err != nil {
		return nil, r.fault(err)
	}
	var objects strings.Builder
	for _, id := range ids {
		if isThere[id] {
			objects.WriteString(id + "\n")
		}
	}
	err = copied.Stream(ctx, strings.NewReader(objects.String()), func(printed io.Reader) error {
		in := bufio.NewReader(printed)
		for i, b := range having {
			if !isThere[ids[i]] {
				continue
			}
			data, err := readBlob(in, limit)
			if err != nil {
				return err
			}
			files[b] = BranchFile{Data: data}
		}
		return nil
	}, "cat-file", "--batch")
	return files, r.fault(err)
}

// fetchSmall fetches branches as refs/fleetc/file/INDEX without files of more than limit
// bytes. A server without filters sends all files.
func (r *Remote) fetchSmall(ctx context.Context, copied git.Repo, most int64, branches []string, limit int) error {
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", fmt.Sprintf("--filter=blob:limit=%d", limit+1), "origin"}
	for i, b := range branches {
		args = append(args, fmt.Sprintf("+refs/heads/%s:refs/fleetc/file/%d", b, i))
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	_, err := copied.RunWithin(limited, most, maxPrinted, args...)
	return r.fault(err)
}

// present returns which of the objects are in the copy. git cat-file would stop at one that is
// missing, and git ls-tree does not tell.
func present(ctx context.Context, copied git.Repo, ids []string) (map[string]bool, error) {
	isThere := map[string]bool{}
	for _, id := range ids {
		isThere[id] = false
	}
	err := copied.Stream(ctx, nil, func(printed io.Reader) error {
		lines := bufio.NewScanner(printed)
		for lines.Scan() {
			if _, wanted := isThere[lines.Text()]; wanted {
				isThere[lines.Text()] = true
			}
		}
		return lines.Err()
	}, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	return isThere, err
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

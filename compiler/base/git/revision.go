package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// layers is the directory of the layers of a fleet.
const layers = "environments/"

// Checkout writes the files of a commit below dir, the root of a fleet, into a
// temporary directory and returns its path without symbolic links. ref names the
// commit in any form that git accepts.
//
// Symbolic links are written unchanged, wherever they lead, except for those to files of
// the repository outside of the fleet, which become these files. A submodule becomes an
// empty directory, and file modes are lost. The caller must call done, which is
// never nil; it removes the files. They are also removed when the context ends.
//
// The error is a fault when git, the repository or the commit is missing, or when
// the commit has no fleet in this directory or too many files.
func Checkout(ctx context.Context, dir, ref string) (root string, done func(), err error) {
	done = func() {}
	c, err := open(ctx, dir, ref)
	if err != nil {
		return "", done, err
	}
	files, err := c.files(ctx)
	if err != nil {
		return "", done, err
	}
	temp, err := os.MkdirTemp("", "fleetc-")
	if err != nil {
		return "", done, diag.NoTempFile(err)
	}
	remove := func() { _ = os.RemoveAll(temp) }
	if root, err = filepath.EvalSymlinks(temp); err == nil {
		err = c.write(ctx, root, files)
	}
	if err != nil {
		remove()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", done, err
	}
	stop := context.AfterFunc(ctx, remove)
	return root, func() { stop(); remove() }, nil
}

// Changed returns the files below dir, the root of a fleet, that were added,
// changed or removed since a commit: slash-separated paths relative to dir,
// sorted. Untracked and ignored files count as added, since the fleet is read
// without git. A renamed file counts as removed and added. All files of a
// submodule count as changed. File modes do not count, except for symbolic
// links.
//
// The errors are those of [Checkout].
func Changed(ctx context.Context, dir, ref string) ([]string, error) {
	_, _, changed, err := changes(ctx, dir, ref)
	return changed, err
}

// changes returns a commit with its files, and those that were changed since.
func changes(ctx context.Context, dir, ref string) (hash string, files map[string]file, changed []string, err error) {
	c, err := open(ctx, dir, ref)
	if err != nil {
		return "", nil, nil, err
	}
	if files, err = c.files(ctx); err != nil {
		return "", nil, nil, err
	}
	changed, err = compare(ctx, dir, files)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("compare the files with %s: %w", ref, err)
	}
	return c.hash, files, changed, err
}

// Head returns the hash of the commit that is checked out at dir, the root of a
// fleet, and whether the fleet is modified: a tracked file is changed or
// removed, or there is an untracked file in a layer. Other untracked files do
// not count.
//
// The errors are those of [Checkout].
func Head(ctx context.Context, dir string) (commit string, modified bool, err error) {
	commit, files, changed, err := changes(ctx, dir, "HEAD")
	return commit, slices.ContainsFunc(changed, func(name string) bool {
		_, tracked := files[name]
		return tracked || strings.HasPrefix(name, layers)
	}), err
}

// IsBehind reports whether the commit that is checked out at dir does not contain the
// commit with a hash. It returns false if the history is not known well enough to say so: in a shallow
// clone, outside of a repository, or for a text that is not the hash of a commit.
func IsBehind(ctx context.Context, dir, hash string) bool {
	if !objectID.MatchString(hash) {
		return false
	}
	c := &commit{dir: dir, ref: "HEAD"}
	if shallow, err := c.isShallow(ctx); shallow || err != nil {
		return false
	}
	_, err := c.run(ctx, "merge-base", "--is-ancestor", hash, "HEAD")
	return Failed(err) != nil
}

// RevisionNames returns the branches and tags of the git repository that contains dir,
// sorted. The error is a fault when dir is in none.
func RevisionNames(ctx context.Context, dir string) ([]string, error) {
	c, err := open(ctx, dir, "HEAD")
	if err != nil {
		return nil, err
	}
	return c.names(ctx)
}

// FilePrefix begins the names of files of a commit in faults.
const FilePrefix = "git:"

// RevisionFaults returns faults in the files of a checkout as faults in the files of the
// commit: their files begin with [FilePrefix] and the name of the commit.
func RevisionFaults(dir, ref string, err error) error {
	plain := strings.NewReplacer(dir+string(os.PathSeparator), ref+":", dir, ref)
	return diag.Changed(err, func(d *diag.Diag) {
		d.At = slices.Clone(d.At)
		for i, p := range d.At {
			if file := strings.TrimPrefix(p.File, dir+"/"); !strings.HasPrefix(file, "/") {
				d.At[i].File = FilePrefix + ref + ":" + file
			}
		}
		if len(d.At) == 0 {
			d.At = []diag.Pos{{File: FilePrefix + ref}}
		}
		d.Path, d.Msg, d.Hint = plain.Replace(d.Path), plain.Replace(d.Msg), plain.Replace(d.Hint)
	})
}

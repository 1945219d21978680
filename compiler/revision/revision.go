// Package revision reads an earlier state of a fleet from the git repository
// that it is in.
//
//   - [Checkout] writes the fleet's files of a commit into a temporary directory.
//   - [Head] names the commit that is checked out.
//   - [Changed] names the files that are not as they are in a commit.
//   - [Names] names the branches and tags.
//
// Contents are those that git stores: no filter, line-end conversion or hook of
// anybody's configuration is run, and a file that git-lfs keeps elsewhere is
// its pointer. The package uses no network, writes nothing into the repository
// and the working tree, and does not know what the files mean.
package revision

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// layers is where the layers of a fleet are.
const layers = "environments/"

// Checkout writes the files below dir, the root of a fleet, as they are in a
// commit, into a temporary directory, and returns its path with all links
// resolved. The commit is named by ref in any way that git knows.
//
// Symbolic links are written as such, wherever they lead; a submodule is an
// empty directory, and modes are not kept. The caller calls done, which is never
// nil, when it needs the files no more; they are removed, too, when the context
// ends.
//
// The error is a fault when git, the repository or the commit is not there, when
// the commit has no fleet in this directory, or too many files.
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
		return "", done, fmt.Errorf("check out %s: %w", ref, err)
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

// Changed returns the files below dir, the root of a fleet, that are not as
// they are in a commit: their paths, slash-separated and relative to dir,
// sorted. They are those that were added, also those that git does not know or
// is told to ignore, since what reads the fleet does not ask git; those that
// were changed; and those that were removed. One that was renamed is two of
// them. All files of a submodule count as changed, and modes do not count, apart
// from what is a symbolic link.
//
// The errors are those of [Checkout].
func Changed(ctx context.Context, dir, ref string) ([]string, error) {
	c, err := open(ctx, dir, ref)
	if err != nil {
		return nil, err
	}
	files, err := c.files(ctx)
	if err != nil {
		return nil, err
	}
	changed, err := compare(ctx, dir, files)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("compare the files with %s: %w", ref, err)
	}
	return changed, err
}

// Head returns the hash of the commit that is checked out around dir, the root of
// a fleet, and whether the fleet's files are others: those that it has are
// changed or gone, or there are new ones among the layers. What else git does not
// know does not count.
//
// The errors are those of [Checkout].
func Head(ctx context.Context, dir string) (commit string, modified bool, err error) {
	c, err := open(ctx, dir, "HEAD")
	if err != nil {
		return "", false, err
	}
	files, err := c.files(ctx)
	if err != nil {
		return "", false, err
	}
	changed, err := compare(ctx, dir, files)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("compare the files with HEAD: %w", err)
	}
	return c.hash, slices.ContainsFunc(changed, func(name string) bool {
		_, known := files[name]
		return known || strings.HasPrefix(name, layers)
	}), err
}

// Names returns the names of the branches and tags of the git repository that dir is
// in, sorted. The error is a fault when there is no repository.
func Names(ctx context.Context, dir string) ([]string, error) {
	c, err := open(ctx, dir, "HEAD")
	if err != nil {
		return nil, err
	}
	return c.names(ctx)
}

package edit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Limits of a copied directory.
const (
	maxCopiedFiles = 50_000
	maxCopiedBytes = 1 << 30
)

// CopyTree copies the files of a directory into an empty one, without .git. Files are
// hard links where the file system allows it, so a copied file must be replaced and not
// modified. Symbolic links are copied as they are when they lead to a place inside the
// directory, and left out otherwise. The target may be inside of the source.
func CopyTree(ctx context.Context, from, to string) error { return copyLinked(ctx, from, to, true) }

// CopyFiles does what CopyTree does, without hard links: copied files may be modified.
func CopyFiles(ctx context.Context, from, to string) error { return copyLinked(ctx, from, to, false) }

// ReplaceCopied writes a file of such a copy. It removes the file first, which may be a hard link
// to the user's file, or a symbolic link.
func ReplaceCopied(file string, data []byte) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// copyLinked copies a directory; canLink says whether files may be hard links.
func copyLinked(ctx context.Context, from, to string, canLink bool) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if to, err = filepath.EvalSymlinks(to); err != nil {
		return err
	}
	files, size := 0, int64(0)
	return filepath.WalkDir(from, func(file string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case e.IsDir() && (e.Name() == ".git" || file == to):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			return copyLink(from, file, target)
		case !e.Type().IsRegular() || e.Name() == ".git":
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if files, size = files+1, size+info.Size(); files > maxCopiedFiles || size > maxCopiedBytes {
			return &diag.Diag{
				Code: diag.CodeImportFile,
				Msg:  fmt.Sprintf("%s has more than %d files or %d MiB", from, maxCopiedFiles, maxCopiedBytes>>20),
				Hint: "name a directory that has only the files of the clusters",
			}
		}
		if canLink && os.Link(file, target) == nil {
			return nil
		}
		return copyFile(file, target, info.Mode().Perm())
	})
}

// copyLink copies a symbolic link that stays inside of root.
func copyLink(root, file, target string) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil //nolint:nilerr // a link to nothing is left out
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return nil //nolint:nilerr // a link out of the directory is left out
	}
	to, err := os.Readlink(file)
	if err != nil || filepath.IsAbs(to) {
		return err
	}
	return os.Symlink(to, target)
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

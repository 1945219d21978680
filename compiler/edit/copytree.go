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
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/stage/load"
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
func CopyTree(ctx context.Context, from, to string) error {
	return copyTree(ctx, from, to, treeCopy{canLink: true})
}

// CopyFiles does what CopyTree does, without hard links: copied files may be modified.
func CopyFiles(ctx context.Context, from, to string) error {
	return copyTree(ctx, from, to, treeCopy{})
}

// ReplaceCopied writes a file of such a copy. It removes the file first, which may be a hard link
// to the user's file, or a symbolic link.
func ReplaceCopied(file string, data []byte) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// A treeCopy copies directories.
type treeCopy struct {
	to      string // the copy, which may be inside of a copied directory
	canLink bool   // whether files may be hard links
	top     string // of the git repository whose files links may lead to; empty if they must stay in their directory
	hint    string // when the files are too large
	files   int
	size    int64
	linked  []string // files and directories that links out of a copied directory lead to
}

func copyTree(ctx context.Context, from, to string, c treeCopy) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if c.to, err = filepath.EvalSymlinks(to); err != nil {
		return err
	}
	c.hint = "name a directory that has only the files of the clusters"
	return c.copy(ctx, from, c.to)
}

// copy copies a directory or a file. It keeps files that are already in the copy.
func (c *treeCopy) copy(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(file string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch _, err := os.Lstat(target); {
		case e.IsDir() && (e.Name() == ".git" || file == c.to):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case err == nil:
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			return c.link(from, file, target)
		case !e.Type().IsRegular() || e.Name() == ".git":
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if c.files, c.size = c.files+1, c.size+info.Size(); c.files > maxCopiedFiles || c.size > maxCopiedBytes {
			return &diag.Diag{
				Code: diag.CodeImportFile,
				Msg:  fmt.Sprintf("%s has more than %d files or %d MiB", from, maxCopiedFiles, maxCopiedBytes>>20),
				Hint: c.hint,
			}
		}
		if c.canLink && os.Link(file, target) == nil {
			return nil
		}
		return copyFile(file, target, info.Mode().Perm())
	})
}

// link copies a symbolic link that stays inside of a directory, or of the git repository.
func (c *treeCopy) link(root, file, target string) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil //nolint:nilerr // a link to nothing is left out
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return c.linkOut(real, target) // or is left out
	}
	to, err := os.Readlink(file)
	if err != nil || filepath.IsAbs(to) {
		return err
	}
	return os.Symlink(to, target)
}

// linkOut makes a symbolic link to a place in the git repository, which is copied later.
func (c *treeCopy) linkOut(real, target string) error {
	place, ok := c.place(real)
	if !ok {
		return nil
	}
	to, err := filepath.Rel(filepath.Dir(target), place)
	if err != nil {
		return err
	}
	c.linked = append(c.linked, real)
	return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.Symlink(to, target))
}

// place returns the place in the copy for a file of the git repository.
func (c *treeCopy) place(file string) (string, bool) {
	rel, err := filepath.Rel(c.top, file)
	return filepath.Join(c.to, rel), c.top != "" && err == nil && filepath.IsLocal(rel) && !git.IsDotGit(filepath.ToSlash(rel))
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

// CopyFleet copies the files that a fleet may read into a temporary directory, with edits: those in
// its directory, those of modules in its git repository, and the targets of links in them. It
// returns the temporary directory and that of the fleet in it.
func CopyFleet(ctx context.Context, root string, edits load.Edits) (dir, copied string, err error) {
	if dir, err = os.MkdirTemp("", "fleetc-update-"); err != nil {
		return dir, "", diag.NoTempFile(err)
	}
	c := treeCopy{top: root, hint: "move the files that the fleet does not read into another directory"}
	if c.to, err = filepath.EvalSymlinks(dir); err != nil {
		return dir, "", err
	}
	if top, ok := git.FindTop(root); ok {
		c.top = top
		if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil { // marks the top, as before
			return dir, "", err
		}
	}
	copied, _ = c.place(root)
	if err := c.fleet(ctx, root); err != nil {
		return dir, "", err
	}
	for name, text := range edits {
		if err := WriteFile(copied, name, text); err != nil {
			return dir, "", err
		}
	}
	return dir, copied, nil
}

// fleet copies the directory of a fleet, its modules, and the targets of links.
func (c *treeCopy) fleet(ctx context.Context, root string) error {
	c.linked = []string{root}
	for _, module := range load.ReplacingDirs(root) {
		module = filepath.Join(root, filepath.FromSlash(module))
		real, err := filepath.EvalSymlinks(module)
		if place, ok := c.place(module); err == nil && ok && real != module {
			err = c.linkOut(real, place)
		} else {
			c.linked = append(c.linked, module)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	done := map[string]bool{}
	for len(c.linked) > 0 {
		from := c.linked[0]
		c.linked = c.linked[1:]
		place, ok := c.place(from)
		if _, err := os.Stat(from); done[from] || !ok || err != nil {
			continue
		}
		done[from] = true
		if err := c.copy(ctx, from, place); err != nil {
			return err
		}
	}
	return nil
}

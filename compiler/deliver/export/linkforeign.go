package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A linker fills the new directory of a cluster with foreign files of the old
// one. It creates hard links, so that files keep their inode and time, or
// copies where the file system has no links.
type linker struct {
	*Session
	from, to    string
	replaced    map[string]bool // own files that are removed, or that exist in the new directory
	hadOwnFiles map[string]bool // directories that contained own files
}

// linkForeign fills the new directory of the plan's cluster. It creates no
// directory if there are no foreign files.
func (s *Session) linkForeign(p *plan, old *indexContents) error {
	c := &linker{
		Session: s, from: p.Cluster, to: freshDir(p.number),
		replaced: map[string]bool{}, hadOwnFiles: map[string]bool{},
	}
	for _, f := range p.Files {
		if f.Action != Added {
			c.replaced[below(p.Cluster, f.Name)] = true
		}
	}
	for name := range old.owned() {
		c.hadOwnFiles[path.Dir(name)] = true
	}
	return c.dir(".")
}

// dir links the contents of a directory.
func (c *linker) dir(name string) error {
	entries, err := c.entries(path.Join(c.from, name))
	if err != nil {
		return err
	}
	var dirs, stay []string
	for _, e := range entries {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
		case !c.replaced[path.Join(name, e.Name())]:
			stay = append(stay, e.Name())
		}
	}
	if len(stay) > 0 || len(entries) == 0 && !c.hadOwnFiles[name] {
		to := path.Join(c.to, name)
		if err := c.root.MkdirAll(to, 0o755); err != nil {
			return c.stagingError(err)
		}
		for _, file := range stay {
			if err := c.file(path.Join(c.from, name, file), path.Join(to, file)); err != nil {
				return err
			}
		}
	}
	for _, dir := range dirs {
		if err := c.dir(path.Join(name, dir)); err != nil {
			return err
		}
	}
	return c.attributes(name)
}

// attributes copies the mode of an old directory to the new one, and its time
// if it contains no own files.
func (c *linker) attributes(name string) error {
	to := path.Join(c.to, name)
	info, err := c.lstat(to)
	if info == nil || err != nil {
		return err
	}
	old, err := c.lstat(path.Join(c.from, name))
	if err != nil || old == nil {
		return err
	}
	const bits = fs.ModePerm | fs.ModeSetgid | fs.ModeSticky
	if info.Mode()&bits != old.Mode()&bits {
		if err := c.root.Chmod(to, old.Mode()&bits); err != nil {
			return fmt.Errorf("set the mode of %s: %w", c.at(to)[0].File, err)
		}
	}
	if name != "." && !c.hadOwnFiles[name] {
		if err := c.root.Chtimes(to, time.Time{}, old.ModTime()); err != nil {
			return fmt.Errorf("set the time of %s: %w", c.at(to)[0].File, err)
		}
	}
	return nil
}

// file links a file, or a symbolic link itself.
func (c *linker) file(from, to string) error {
	link := c.tree.sys.link
	if link == nil {
		link = (*os.Root).Link
	}
	if link(c.root, from, to) == nil {
		return nil
	}
	// The copy reports errors other than missing support for links.
	return c.copy(from, to)
}

func (c *linker) copy(from, to string) error {
	info, err := c.lstat(from)
	if err != nil {
		return err
	}
	switch {
	case info == nil:
		return c.changedDuringExport(from)
	case info.Mode().IsRegular():
		err = c.copyData(from, to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		if target, err = c.root.Readlink(from); err == nil {
			err = c.root.Symlink(target, to)
		}
	default:
		return &diag.Diag{Code: diag.CodeForeignFile, At: c.at(from), Msg: "the export cannot keep a special file in a directory that it replaces", Hint: "move it away"}
	}
	if errors.Is(err, fs.ErrExist) {
		return c.changedDuringExport(from)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", c.at(from)[0].File, err)
	}
	return nil
}

func (c *linker) copyData(from, to string, info fs.FileInfo) (err error) {
	in, err := c.root.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	return c.root.Chtimes(to, time.Time{}, info.ModTime())
}

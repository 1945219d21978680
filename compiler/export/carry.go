package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A carrier fills the new directory of a cluster with what stays of the old
// one: hard links to files, so that they keep their inode and time, and copies
// where the file system has no links.
type carrier struct {
	*Session
	from, to string
	replaced map[string]bool // files of ours that go, or that the new directory has already
	held     map[string]bool // directories that held files of ours
	made     map[string]bool // directories of the new tree
}

// carry fills the new directory of the plan's cluster. It does not make one
// when nothing stays.
func (s *Session) carry(p *plan, old *Index) error {
	c := &carrier{
		Session: s, from: p.Cluster, to: freshDir(p.number),
		replaced: map[string]bool{}, held: map[string]bool{}, made: map[string]bool{},
	}
	for _, f := range p.Files {
		if f.Action != Added {
			c.replaced[below(p.Cluster, f.Name)] = true
		}
	}
	for name := range old.owned() {
		c.held[path.Dir(name)] = true
	}
	return c.dir(".")
}

// dir carries a directory over, if something in it stays.
func (c *carrier) dir(name string) error {
	entries, err := c.readDir(path.Join(c.from, name))
	if err != nil {
		return err
	}
	if len(entries) == 0 && !c.held[name] {
		if err := c.mkdir(name); err != nil {
			return err
		}
	}
	for _, e := range entries {
		sub := path.Join(name, e.Name())
		switch {
		case e.IsDir():
			err = c.dir(sub)
		case !c.replaced[sub]:
			err = c.file(name, sub)
		}
		if err != nil {
			return err
		}
	}
	return c.attributes(name)
}

// mkdir makes a directory of the new tree, and those above it.
func (c *carrier) mkdir(name string) error {
	if c.made[name] {
		return nil
	}
	if err := c.root.MkdirAll(path.Join(c.to, name), 0o755); err != nil {
		return fmt.Errorf("make the staging area: %w", err)
	}
	for dir := name; !c.made[dir]; dir = path.Dir(dir) {
		c.made[dir] = true
	}
	return nil
}

// attributes gives a directory of the new tree the mode of the old one, and its
// time when nothing of ours is in it.
func (c *carrier) attributes(name string) error {
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
	if name != "." && !c.held[name] {
		if err := c.root.Chtimes(to, time.Time{}, old.ModTime()); err != nil {
			return fmt.Errorf("set the time of %s: %w", c.at(to)[0].File, err)
		}
	}
	return nil
}

// file carries a file over, or a symbolic link as such.
func (c *carrier) file(dir, name string) error {
	if err := c.mkdir(dir); err != nil {
		return err
	}
	from, to := path.Join(c.from, name), path.Join(c.to, name)
	link := c.root.Link
	if c.tree.sys.link != nil {
		link = func(from, to string) error { return c.tree.sys.link(c.root, from, to) }
	}
	if link(from, to) == nil {
		return nil
	}
	return c.copy(from, to) // which says what is wrong when it is not the link
}

func (c *carrier) copy(from, to string) error {
	info, err := c.lstat(from)
	if err != nil {
		return err
	}
	switch {
	case info == nil:
		return c.raced(from)
	case info.Mode().IsRegular():
		err = c.copyData(from, to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		if target, err = c.root.Readlink(from); err == nil {
			err = c.root.Symlink(target, to)
		}
	default:
		return &diag.Diag{At: c.at(from), Msg: "a special file cannot stay in a directory that changes", Hint: "move it away"}
	}
	if errors.Is(err, fs.ErrExist) {
		return c.raced(from)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", c.at(from)[0].File, err)
	}
	return nil
}

func (c *carrier) copyData(from, to string, info fs.FileInfo) (err error) {
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

// readDir returns the entries of a directory, sorted by name.
func (s *Session) readDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.root.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.at(name)[0].File, err)
	}
	return entries, nil
}

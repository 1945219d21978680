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

// A carrier fills the new directory of a cluster with what stays of the old
// one: hard links to files, so that they keep their inode and time, and copies
// where the file system has no links.
type carrier struct {
	*Session
	from, to string
	replaced map[string]bool // files of ours that go, or that the new directory has already
	held     map[string]bool // directories that held files of ours
}

// carry fills the new directory of the plan's cluster. It does not make one
// when nothing stays.
func (s *Session) carry(p *plan, old *contents) error {
	c := &carrier{
		Session: s, from: p.Cluster, to: freshDir(p.number),
		replaced: map[string]bool{}, held: map[string]bool{},
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
	dirs, err := c.files(name)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := c.dir(path.Join(name, dir)); err != nil {
			return err
		}
	}
	return c.attributes(name)
}

// files carries the files of a directory over, and returns what directories are in
// it.
func (c *carrier) files(name string) (dirs []string, err error) {
	from, err := c.folder(path.Join(c.from, name))
	if err != nil {
		return nil, err
	}
	defer from.close()
	entries, err := from.entries()
	if err != nil {
		return nil, c.failed("read", path.Join(c.from, name), err)
	}
	var stay []string
	for _, e := range entries {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
		case !c.replaced[path.Join(name, e.Name())]:
			stay = append(stay, e.Name())
		}
	}
	if len(stay) == 0 && (len(entries) > 0 || c.held[name]) {
		return dirs, nil
	}
	to, err := c.staging(path.Join(c.to, name))
	if err != nil {
		return nil, err
	}
	defer to.close()
	for _, file := range stay {
		if err := c.file(from, to, file); err != nil {
			return nil, err
		}
	}
	return dirs, nil
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
func (c *carrier) file(from, to *folder, name string) error {
	link := c.tree.sys.link
	if link == nil {
		link = hardLink
	}
	if link(c.root, from, to, name) == nil {
		return nil
	}
	// It says what is wrong when it is not the link.
	return c.copy(path.Join(from.name, name), path.Join(to.name, name))
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

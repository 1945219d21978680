package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// A drain moves what is not ours from the old directory of a cluster to its
// new one, as far as it is not there as a link: what appeared since the new
// one was made, and what could only be copied.
type drain struct {
	*Session
	from, to string
	was, now map[string]string // files of ours before and after, with their digests
	moves    []string          // files
	dirs     []string          // empty directories
}

// drain finds what must move. It looks at everything before anything moves,
// so that after a fault the old directory is still whole.
func (s *Session) drain(from, to string, t turn) (*drain, error) {
	old, err := s.readIndex(from, t.was)
	if err != nil {
		return nil, err
	}
	idx, err := s.readIndex(to, t.now)
	if err != nil {
		return nil, err
	}
	d := &drain{Session: s, from: from, to: to, was: old.owned(), now: idx.owned()}
	held := map[string]bool{}
	for name := range d.was {
		held[path.Dir(name)] = true
	}
	return d, d.dir(".", held)
}

// move does what drain found.
func (d *drain) move() error {
	for _, name := range d.moves {
		from, to := path.Join(d.from, name), path.Join(d.to, name)
		err := d.root.MkdirAll(path.Dir(to), 0o755)
		if err == nil {
			err = d.root.Rename(from, to)
		}
		if err != nil {
			return fmt.Errorf("move %s: %w", d.at(from)[0].File, err)
		}
	}
	for _, name := range d.dirs {
		if err := d.root.MkdirAll(path.Join(d.to, name), 0o755); err != nil {
			return fmt.Errorf("make %s: %w", d.at(path.Join(d.to, name))[0].File, err)
		}
	}
	return nil
}

func (d *drain) dir(name string, held map[string]bool) error {
	dirs, err := d.files(name, held)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := d.dir(path.Join(name, dir), held); err != nil {
			return err
		}
	}
	return nil
}

// files decides which files of a directory move, and whether it does itself. It
// returns what directories are in it.
func (d *drain) files(name string, held map[string]bool) (dirs []string, err error) {
	from, err := d.folder(path.Join(d.from, name))
	if err != nil {
		return nil, err
	}
	defer from.close()
	entries, err := from.entries()
	if err != nil {
		return nil, d.failed("read", path.Join(d.from, name), err)
	}
	to, blocked := d.folder(path.Join(d.to, name))
	defer to.close()
	if len(entries) == 0 && name != "." && !held[name] {
		have, err := d.lstat(path.Join(d.to, name))
		if err != nil {
			return nil, err
		}
		if have == nil {
			d.dirs = append(d.dirs, name)
		}
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
			continue
		case blocked != nil:
			return nil, d.raced(path.Join(d.to, name, e.Name()))
		}
		if err := d.file(e, to, path.Join(name, e.Name())); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// file decides whether a file of the old directory moves.
func (d *drain) file(e fs.DirEntry, to *folder, name string) error {
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return d.failed("look at", path.Join(d.from, name), err)
	}
	have, err := to.lstat(e.Name())
	if err != nil {
		return d.failed("look at", path.Join(d.to, name), err)
	}
	if have != nil && os.SameFile(info, have) {
		return nil
	}
	before, was := d.was[name]
	after, now := d.now[name]
	switch {
	case was && !now, was && before != after:
		return nil
	case now:
		return d.ours(name, info, have, after, was)
	case have == nil:
	case have.IsDir():
		return d.raced(path.Join(d.to, name))
	case have.ModTime().After(info.ModTime()):
		return nil // changed again since, in its new place
	}
	d.moves = append(d.moves, name)
	return nil
}

// ours decides about a file of ours that should not have changed, or that was
// a foreign one before: it moves when its content is right, to keep its inode.
func (d *drain) ours(name string, info, have fs.FileInfo, digest string, was bool) error {
	if name == indexFile {
		return nil
	}
	same := false
	if have != nil && info.Mode().IsRegular() && info.Size() == have.Size() {
		data, err := d.readFile(path.Join(d.from, name), info.Size())
		if err != nil {
			return err
		}
		same = digestOf(data) == digest
	}
	switch {
	case same:
		d.moves = append(d.moves, name)
	case !was:
		return d.raced(path.Join(d.to, name))
	}
	return nil
}

package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// A mover moves foreign files from the old directory of a cluster to the new
// one that are not linked there: files that appeared after linking, and files
// that could only be copied.
type mover struct {
	*Session
	from, to            string
	ownBefore, ownAfter map[string]string // own files with their digests
	moves               []string          // files to move
	dirs                []string          // empty directories to create
}

// planMoves finds the files to move. It checks everything first, so that a
// fault leaves the old directory unchanged.
func (s *Session) planMoves(from, to string, t directoryChange) (*mover, error) {
	old, err := s.readIndex(from, t.before)
	if err != nil {
		return nil, err
	}
	idx, err := s.readIndex(to, t.after)
	if err != nil {
		return nil, err
	}
	d := &mover{Session: s, from: from, to: to, ownBefore: old.owned(), ownAfter: idx.owned()}
	held := map[string]bool{}
	for name := range d.ownBefore {
		held[path.Dir(name)] = true
	}
	return d, d.dir(".", held)
}

// move executes the plan.
func (d *mover) move() error {
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

// dir decides which files of a directory and those in it move, and which empty directories are
// created. held has the directories that contained own files.
func (d *mover) dir(name string, held map[string]bool) error {
	entries, err := d.entries(path.Join(d.from, name))
	if err != nil {
		return err
	}
	blocked := d.directories(path.Join(d.to, name))
	if len(entries) == 0 && name != "." && !held[name] {
		existing, err := d.lstat(path.Join(d.to, name))
		if err != nil {
			return err
		}
		if existing == nil {
			d.dirs = append(d.dirs, name)
		}
	}
	var dirs []string
	for _, e := range entries {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
			continue
		case blocked != nil:
			return d.changedDuringExport(path.Join(d.to, name, e.Name()))
		}
		if err := d.file(e, path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		if err := d.dir(path.Join(name, dir), held); err != nil {
			return err
		}
	}
	return nil
}

// file decides whether a file of the old directory moves.
func (d *mover) file(e fs.DirEntry, name string) error {
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return d.fileError("look at", path.Join(d.from, name), err)
	}
	existing, err := d.lstat(path.Join(d.to, name))
	if err != nil {
		return err
	}
	if existing != nil && os.SameFile(info, existing) {
		return nil
	}
	before, wasOwn := d.ownBefore[name]
	after, isOwn := d.ownAfter[name]
	switch {
	case wasOwn && !isOwn, wasOwn && before != after:
		return nil
	case isOwn:
		return d.ownFile(name, info, existing, after, wasOwn)
	case existing == nil:
	case existing.IsDir():
		return d.changedDuringExport(path.Join(d.to, name))
	case existing.ModTime().After(info.ModTime()):
		return nil // the file in the new directory is newer
	}
	d.moves = append(d.moves, name)
	return nil
}

// ownFile decides about an own file that should be unchanged, or that was
// foreign before. It moves if its content is right, to keep its inode.
func (d *mover) ownFile(name string, info, existing fs.FileInfo, digest string, wasOwn bool) error {
	if name == indexFile {
		return nil
	}
	same := false
	if existing != nil && info.Mode().IsRegular() && info.Size() == existing.Size() {
		data, err := d.readFile(path.Join(d.from, name), info.Size())
		if err != nil {
			return err
		}
		same = digestOf(data) == digest
	}
	switch {
	case same:
		d.moves = append(d.moves, name)
	case !wasOwn:
		return d.changedDuringExport(path.Join(d.to, name))
	}
	return nil
}

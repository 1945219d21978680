package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

const (
	journalFile   = stagingArea + "/journal"
	journalFormat = "fleetc.export/v1"
)

// A journal records the change of a cluster's directory. It is written before
// the first visible step and removed after the last. After a kill, the journal
// and the file system tell which steps were done.
type journal struct {
	Format  string `json:"format"`
	Cluster string `json:"cluster"`
	Number  int    `json:"number"`
	Retired bool   `json:"retired,omitempty"`
	Inode   string `json:"inode,omitempty"` // inode of the new directory, if directories are exchanged
}

// fresh is the new directory or, after an exchange, the old one.
func (j journal) fresh() string { return freshDir(j.Number) }

// old is the path to which the old directory is renamed.
func (j journal) old() string { return path.Join(stagingArea, "old", strconv.Itoa(j.Number)) }

// log writes the journal.
func (s *Session) log(j journal) error {
	data, err := json.Marshal(j)
	if err == nil {
		err = s.root.WriteFile(journalFile+".new", data, 0o644)
	}
	if err == nil {
		err = s.root.Rename(journalFile+".new", journalFile)
	}
	if err != nil {
		return fmt.Errorf("write the journal of %s: %w", j.Cluster, err)
	}
	return nil
}

// clean completes the change in the journal, and removes the staging area.
func (s *Session) clean() error {
	info, err := s.lstat(stagingArea)
	if err != nil {
		return err
	}
	if info == nil {
		s.stagingOpen = false
		return nil
	}
	if !info.IsDir() {
		return s.foreign(stagingArea, "expected the staging area of an export, got "+kindOf(info))
	}
	j, err := s.readJournal()
	if err != nil {
		return err
	}
	if j != nil {
		if err := s.finish(*j, directoryChange{}); err != nil {
			return err
		}
	}
	if err := s.removeArea(); err != nil {
		return fmt.Errorf("remove the staging area: %w", err)
	}
	s.stagingOpen = false
	return nil
}

// removeArea removes the staging area, several directories in parallel.
func (s *Session) removeArea() error {
	var dirs []string
	for _, in := range []string{path.Join(stagingArea, "new"), path.Join(stagingArea, "old")} {
		if !s.isDir(stagingArea) || !s.isDir(in) {
			continue // remove a link itself, not its target
		}
		// Unreadable directories cause an error when they are removed.
		entries, _ := fs.ReadDir(s.root.FS(), in)
		for _, e := range entries {
			dirs = append(dirs, path.Join(in, e.Name()))
		}
	}
	err := par.ForEach(context.Background(), s.tree.jobs(), len(dirs), func(_ context.Context, i int) error { return s.removeAll(dirs[i]) })
	if err != nil {
		return err
	}
	return s.removeAll(stagingArea)
}

// isDir reports whether the name is a directory, not a link to one.
func (s *Session) isDir(name string) bool {
	info, err := s.lstat(name)
	return err == nil && info != nil && info.IsDir()
}

// readJournal returns the journal, or nil if there is none.
func (s *Session) readJournal() (*journal, error) {
	info, err := s.lstat(journalFile)
	if info == nil || err != nil {
		return nil, err
	}
	damaged := &diag.Diag{
		Code: diag.CodeDamagedExport,
		At:   s.at(journalFile), Msg: "the journal of an export that was killed is damaged",
		Hint: "look for files of yours in " + s.at(stagingArea)[0].File + ", remove it, then run fleetc export again",
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil, damaged
	}
	data, err := s.readFile(journalFile, info.Size())
	if err != nil {
		return nil, err
	}
	var j journal
	if json.Unmarshal(data, &j) != nil || j.Format != journalFormat || j.Number < 0 || !legalID(j.Cluster) {
		return nil, damaged
	}
	for _, dir := range []string{j.Cluster, j.fresh(), j.old()} {
		if err := s.directories(dir); err != nil {
			return nil, err
		}
	}
	return &j, nil
}

// finish completes a change after any of its steps, and removes the journal. t
// may be zero.
func (s *Session) finish(j journal, t directoryChange) error {
	fresh, err1 := s.lstat(j.fresh())
	old, err2 := s.lstat(j.old())
	place, err3 := s.lstat(j.Cluster)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	from := ""
	switch {
	case j.Inode != "":
		if fresh != nil && inode(fresh) != j.Inode {
			from = j.fresh()
		}
	case old != nil:
		from = j.old()
		if fresh != nil && place == nil {
			if err := s.moveIntoPlace(j); err != nil {
				return err
			}
		}
	}
	if from != "" {
		d, err := s.planMoves(from, j.Cluster, t)
		if err != nil && !j.Retired {
			return errors.Join(err, s.revert(j))
		}
		if err == nil {
			err = d.move()
		}
		if err != nil {
			return err // keep the journal and the files
		}
	}
	place, err := s.lstat(j.Cluster)
	if err != nil {
		return err
	}
	if place == nil {
		s.prune(j.Cluster)
	}
	if err := s.root.Remove(journalFile); err != nil {
		return fmt.Errorf("remove the journal of %s: %w", j.Cluster, err)
	}
	return nil
}

// revert restores the old directory of a cluster.
func (s *Session) revert(j journal) error {
	var err error
	if j.Inode != "" {
		err = s.exchange(j)
	} else {
		if info, lerr := s.lstat(j.Cluster); lerr == nil && info != nil {
			err = s.root.Rename(j.Cluster, j.fresh())
		}
		if err == nil {
			err = s.root.Rename(j.old(), j.Cluster)
		}
	}
	if err == nil {
		err = s.root.Remove(journalFile)
	}
	if err != nil {
		return fmt.Errorf("bring %s back: %w", j.Cluster, err)
	}
	return nil
}

// removeAll removes a directory of the staging area, even if directories in it
// are read-only.
func (s *Session) removeAll(name string) error {
	err := s.root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	walk := func(dir string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			return s.root.Chmod(dir, 0o755)
		}
		return nil
	}
	// Errors appear when the directory is removed.
	_ = fs.WalkDir(s.root.FS(), name, walk)
	return s.root.RemoveAll(name)
}

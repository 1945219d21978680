package export

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const hintMove = "move it away, or export to another directory"

// An Action is the change of a file by an export.
type Action string

// The actions. A file without action is up to date.
const (
	Added   Action = "added"
	Changed Action = "changed"
	Removed Action = "removed"
)

// A File is a file with its action.
type File struct {
	Name   string `json:"name"` // relative to Dir, slash-separated
	Action Action `json:"action"`
}

// A Result is the change of one cluster's directory. The counts include
// bundle.json.
type Result struct {
	Cluster   string `json:"id"`
	Retired   bool   `json:"retired"` // whether the cluster was removed from the fleet
	Added     int    `json:"-"`       // number of files, as the next ones
	Changed   int    `json:"-"`
	Removed   int    `json:"-"`
	Unchanged int    `json:"unchanged"`
	Files     []File `json:"files"` // files with an action, sorted by name
	Index     string `json:"-"`     // digest of the new bundle.json, for staged clusters
	Before    string `json:"-"`     // digest of the bundle in the directory; empty if there is none
}

// Changes returns the number of files with an action.
func (r Result) Changes() int { return len(r.Files) }

// A plan is the change of one cluster by Commit. It contains only names: the
// contents are in the staging area.
type plan struct {
	Result
	number int    // number of the cluster's directory in the staging area
	index  string // digest of the previous bundle.json; empty if there was none
}

// Stage compares the bundle with its cluster's directory, and writes changed
// files to the staging area. Nothing is visible yet, and the session does not
// keep the bundle. Stage returns the changes that Commit will make. Files that
// prevent the export are faults: Stage returns all of the cluster's faults in
// one [diag.List], and Commit fails. Stage may be called by several
// goroutines.
func (s *Session) Stage(b *fleet.Bundle) (Result, error) {
	p, err := s.stage(b)
	return s.add(p, err)
}

// add adds a plan, or records its fault.
func (s *Session) add(p *plan, err error) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.faults.Add(err)
		return Result{}, err
	}
	s.plans = append(s.plans, p)
	return p.Result, nil
}

func (s *Session) stage(b *fleet.Bundle) (*plan, error) {
	id := b.Cluster.ID
	p, err := s.claim(id)
	if err != nil {
		return nil, err
	}
	files, err := s.tree.Files(b)
	if err != nil {
		return nil, diag.In(id, err)
	}
	old, err := s.ownIndex(id)
	if err != nil {
		return nil, diag.In(id, err)
	}
	p.Index, p.index = files[indexFile].Sum().String(), old.digest
	if old.indexContents != nil {
		p.Before = old.Digest
	}
	err = s.compare(&p.Result, old.owned(), files)
	if err == nil && !s.check && !s.hasFaults() {
		err = s.write(p, files)
	}
	return p, diag.In(id, err)
}

// hasFaults reports whether Commit will fail.
func (s *Session) hasFaults() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults) > 0
}

// Files returns the files of the cluster's directory for a bundle, by name.
func (t *Tree) Files(b *fleet.Bundle) (map[string]fleet.Text, error) {
	names := namesOf(b)
	idx, err := t.newIndex(b, names).encode()
	if err != nil {
		return nil, err
	}
	files := make(map[string]fleet.Text, len(names)+len(b.Files)+1)
	for i, name := range names {
		files[name] = b.YAML[i]
	}
	for _, f := range b.Files {
		files[f.Name] = fleet.Text{f.Data}
	}
	if len(files) < len(names)+len(b.Files) {
		return nil, fmt.Errorf("name the files of %s: two of its objects have the same ID", b.Cluster.ID)
	}
	files[indexFile] = fleet.Text{idx}
	return files, nil
}

// claim returns an empty plan for a cluster. It fails if the ID is not a valid
// path, or if two clusters have the same path: the fault belongs to the second
// by name, in any order of calls.
func (s *Session) claim(id string) (*plan, error) {
	if !legalID(id) {
		return nil, &diag.Diag{Code: diag.CodeDestination, Clusters: []string{id}, Msg: fmt.Sprintf("%q is not a valid directory for a cluster", id), Hint: "rename the directory of the cluster"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.claimedIDs {
		if strings.EqualFold(other, id) {
			s.claimedIDs[i] = min(other, id)
			return nil, &diag.Diag{
				Code:     diag.CodeDestination,
				Clusters: []string{max(other, id)},
				Msg:      fmt.Sprintf("two clusters have the same directory %q except for letter case", max(other, id)),
				Hint:     "rename one of them",
			}
		}
	}
	s.claimedIDs = append(s.claimedIDs, id)
	return &plan{Result: Result{Cluster: id, Files: []File{}}, number: len(s.claimedIDs) - 1}, nil
}

// legalID reports whether an ID is a valid path of a cluster's directory.
func legalID(id string) bool {
	legal := fs.ValidPath(id) && id != "." && !strings.ContainsAny(id, "\\:\x00")
	for part := range strings.SplitSeq(id, "/") {
		// Directories with such names are no layers, and the staging area is one.
		legal = legal && part[0] != '.' && part[0] != '_'
	}
	return legal
}

// ownIndex returns the index in the directory of a cluster, which must belong
// to this fleet. It is zero if there is none.
func (s *Session) ownIndex(id string) (ownedIndex, error) {
	if err := s.directories(id); err != nil {
		return ownedIndex{}, err
	}
	idx, err := s.readIndex(id, ownedIndex{})
	if idx.indexContents == nil || err != nil {
		return ownedIndex{}, err
	}
	at := s.at(IndexPath(id))
	switch {
	case idx.Fleet != s.tree.Fleet:
		return ownedIndex{}, &diag.Diag{
			Code: diag.CodeOtherBundle,
			At:   at, Msg: fmt.Sprintf("the directory belongs to the fleet %q, not to %q", idx.Fleet, s.tree.Fleet),
			Hint: "name another directory",
		}
	case idx.Cluster != id:
		return ownedIndex{}, &diag.Diag{
			Code: diag.CodeOtherBundle,
			At:   at, Msg: fmt.Sprintf("the directory is for the cluster %q, but contains the bundle of %q", id, idx.Cluster),
			Hint: "move the directory away, then run fleetc export again",
		}
	}
	return idx, nil
}

// directories checks that every existing part of the path is a directory.
func (s *Session) directories(dir string) error {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		info, err := s.lstat(dir[:i])
		if err != nil || info == nil {
			return err
		}
		if !info.IsDir() {
			return s.foreign(dir[:i], "expected a directory of the bundle, got "+kindOf(info))
		}
	}
	return nil
}

// compare determines the actions for a cluster's directory. owned are the
// files that an export may replace, files the new contents.
func (s *Session) compare(r *Result, owned map[string]string, files map[string]fleet.Text) error {
	var faults diag.List
	names := slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Keys(owned))
	slices.Sort(names)
	w := walker{open: s.directory}
	defer w.close()
	for _, name := range slices.Compact(names) {
		_, isOwn := owned[name]
		text, inBundle := files[name]
		var action Action
		var err error
		if inBundle {
			action, err = s.action(&w, path.Join(r.Cluster, name), isOwn, text)
		} else {
			action, err = s.remove(&w, r.Cluster, name, owned)
		}
		if err != nil {
			faults.Add(err)
			continue
		}
		r.count(path.Join(r.Cluster, name), action, inBundle)
	}
	return faults.Err()
}

func (r *Result) count(name string, action Action, inBundle bool) {
	switch action {
	case Added:
		r.Added++
	case Changed:
		r.Changed++
	case Removed:
		r.Removed++
	default:
		if inBundle {
			r.Unchanged++
		}
		return
	}
	r.Files = append(r.Files, File{Name: name, Action: action})
}

// action returns the action for a file of the bundle. isOwn means that the
// index lists it.
func (s *Session) action(w *walker, name string, isOwn bool, text fleet.Text) (Action, error) {
	in, err := w.to(name)
	if err != nil {
		return "", err
	}
	info, err := lstat(in, path.Base(name))
	switch {
	case err != nil:
		return "", s.fileError("look at", name, err)
	case info == nil:
		return Added, nil
	case !info.Mode().IsRegular():
		return "", s.foreign(name, "expected a file of the bundle, got "+kindOf(info))
	}
	same := info.Size() == int64(text.Len())
	if same {
		data, err := w.read(path.Base(name), info.Size())
		if err != nil {
			return "", s.fileError("read", name, err)
		}
		same = text.Equal(data)
	}
	switch {
	case same:
		return "", nil
	case !isOwn:
		return "", s.foreign(name, "the export would overwrite this file, which fleetc did not write")
	}
	return Changed, nil
}

// write writes added and changed files to the staging area.
func (s *Session) write(p *plan, files map[string]fleet.Text) error {
	w := walker{open: s.staging}
	defer w.close()
	for _, f := range p.Files {
		if f.Action == Removed {
			continue
		}
		if err := s.open(); err != nil {
			return err
		}
		name := below(p.Cluster, f.Name)
		to := path.Join(freshDir(p.number), name)
		in, err := w.to(to)
		if err != nil {
			return err
		}
		w.data = files[name].AppendTo(w.data[:0])
		if err := in.WriteFile(path.Base(to), w.data, 0o644); err != nil {
			return s.fileError("write", to, err)
		}
	}
	return nil
}

// Retire stages the removal of clusters of this fleet for which gone reports
// true. Foreign files in their directories stay. Call it once, and only if the
// whole fleet is exported.
func (s *Session) Retire(gone func(id string) bool) error {
	if s.root == nil {
		return nil
	}
	var faults diag.List
	err := s.eachDirectory(func(name string) {
		if !gone(name) {
			return
		}
		p, err := s.retire(name)
		faults.Add(diag.In(name, err))
		if p != nil {
			s.plans = append(s.plans, p)
		}
	})
	err = cmp.Or(err, faults.Err())
	s.faults.Add(err)
	return err
}

// eachDirectory calls visit for the directories below Dir that may belong to
// clusters, in name order.
func (s *Session) eachDirectory(visit func(name string)) error {
	// An os.Root calls lstat for every directory entry, which is slow. So
	// names are listed without it; all other operations use it.
	return fs.WalkDir(os.DirFS(s.tree.Dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && name != ".":
			return fs.SkipDir // an export cannot have written there
		case err != nil:
			return fmt.Errorf("look for the clusters of a tree: %w", err)
		case !entry.IsDir() || name == ".":
			return nil
		case entry.Name()[0] == '.' || entry.Name()[0] == '_':
			return fs.SkipDir
		}
		visit(name)
		return nil
	})
}

// retire returns a plan that removes the directory, or nil if it does not
// belong to a cluster of this fleet.
func (s *Session) retire(dir string) (*plan, error) {
	idx, err := s.readIndex(dir, ownedIndex{})
	switch {
	case errors.Is(err, errForeign):
		return nil, nil // other tools also use the name bundle.json
	case err != nil:
		return nil, err
	case idx.indexContents == nil || idx.Fleet != s.tree.Fleet || idx.Cluster != dir:
		return nil, nil
	}
	s.claimedIDs = append(s.claimedIDs, dir)
	p := &plan{Result: Result{Cluster: dir, Retired: true, Files: []File{}}, number: len(s.claimedIDs) - 1, index: idx.digest}
	return p, s.compare(&p.Result, idx.owned(), nil)
}

// digestOf returns the digest of a file's content.
func digestOf(data []byte) string {
	return fleet.Sum(sha256.Sum256(data)).String()
}

// freshDir returns the path of a cluster's new directory in the staging area.
func freshDir(number int) string { return path.Join(stagingArea, "new", strconv.Itoa(number)) }

// below returns the name of a file relative to the directory.
func below(dir, name string) string { return strings.TrimPrefix(name, dir+"/") }

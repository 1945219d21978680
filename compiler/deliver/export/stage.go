package export

import (
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

// An Action is what an export does to a file.
type Action string

// The actions. A file without one has the right content already.
const (
	Added   Action = "added"
	Changed Action = "changed"
	Removed Action = "removed"
)

// A File is a file with an action.
type File struct {
	Name   string // below Dir, slash-separated
	Action Action
}

// A Result says what an export does to the directory of one cluster. The index
// bundle.json counts as one of its files.
type Result struct {
	Cluster                            string // ID
	Retired                            bool   // the fleet does not have the cluster any more
	Added, Changed, Removed, Unchanged int    // files
	Files                              []File // with an action, sorted by name
	Index                              string // digest of the bundle.json that an export writes; of staged clusters
}

// Changes returns how many files have an action.
func (r Result) Changes() int { return len(r.Files) }

// A plan is what Commit does to one cluster. It holds names only: what is to
// be written lies in the staging area.
type plan struct {
	Result
	number int    // of the cluster's directory in the staging area
	index  string // digest of the bundle.json that was there; empty when none was
}

// Stage compares the bundle with its cluster's directory and puts the files
// that differ into the staging area; nothing is visible yet, and the session
// keeps nothing of the bundle. It returns what Commit will do. Whatever is in
// the way is a fault: it is returned, all of the cluster's in one
// [diag.List], and remembered, so that Commit refuses. Several goroutines may call
// it at once.
func (s *Session) Stage(b *fleet.Bundle) (Result, error) {
	p, err := s.stage(b)
	return s.add(p, err)
}

// add adds a plan, or remembers why there is none.
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
	err = s.compare(&p.Result, old.owned(), files)
	if err == nil && !s.check && !s.faulty() {
		err = s.write(p, files)
	}
	return p, diag.In(id, err)
}

// faulty reports whether nothing will be committed.
func (s *Session) faulty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults) > 0
}

// Files returns the files that an export of the bundle puts into the directory
// of its cluster: their content by their names below it.
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
		return nil, fmt.Errorf("name the files of %s: two of its objects have one ID", b.Cluster.ID)
	}
	files[indexFile] = fleet.Text{idx}
	return files, nil
}

// claim returns an empty plan of a cluster, which may have a directory by its ID and
// has it once. Of two that want the same one, the fault is that of the second by
// name, whoever comes first.
func (s *Session) claim(id string) (*plan, error) {
	if !legalID(id) {
		return nil, &diag.Diag{Clusters: []string{id}, Msg: fmt.Sprintf("%q is no path for a directory of a cluster", id)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.claimed {
		if strings.EqualFold(other, id) {
			s.claimed[i] = min(other, id)
			return nil, &diag.Diag{
				Clusters: []string{max(other, id)},
				Msg:      fmt.Sprintf("two clusters go into the directory %q, where case does not count", max(other, id)),
				Hint:     "rename one of them",
			}
		}
	}
	s.claimed = append(s.claimed, id)
	return &plan{Result: Result{Cluster: id}, number: len(s.claimed) - 1}, nil
}

// legalID reports whether a path may be the directory of a cluster.
func legalID(id string) bool {
	legal := fs.ValidPath(id) && id != "." && !strings.ContainsAny(id, "\\:\x00")
	for part := range strings.SplitSeq(id, "/") {
		// Directories with such names are no layers, and the staging area is one.
		legal = legal && part[0] != '.' && part[0] != '_'
	}
	return legal
}

// ownIndex returns the index in the directory of a cluster, which must be
// ours; its Index is nil when there is none.
func (s *Session) ownIndex(id string) (ownedIndex, error) {
	if err := s.directories(id); err != nil {
		return ownedIndex{}, err
	}
	idx, err := s.readIndex(id, ownedIndex{})
	if idx.contents == nil || err != nil {
		return ownedIndex{}, err
	}
	at := s.at(path.Join(id, indexFile))
	switch {
	case idx.Fleet != s.tree.Fleet:
		return ownedIndex{}, &diag.Diag{
			At: at, Msg: fmt.Sprintf("the directory belongs to the fleet %q, and this is %q", idx.Fleet, s.tree.Fleet),
			Hint: "export to another directory",
		}
	case idx.Cluster != id:
		return ownedIndex{}, &diag.Diag{
			At: at, Msg: fmt.Sprintf("the directory belongs to the cluster %q, and lies where %q goes", idx.Cluster, id),
			Hint: "move the directory away, then run fleetc export again",
		}
	}
	return idx, nil
}

// directories checks that every part of the path that exists is a directory.
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
			return &diag.Diag{
				At: s.at(dir[:i]), Msg: "this is " + kindOf(info) + " in the place of a directory of the bundle",
				Hint: hintMove,
			}
		}
	}
	return nil
}

// compare finds what must be done for the directory of a cluster to have the
// given files, when the owned ones are there for an export to replace.
func (s *Session) compare(r *Result, owned map[string]string, files map[string]fleet.Text) error {
	var faults diag.List
	names := slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Keys(owned))
	slices.Sort(names)
	w := walker{open: s.folder}
	defer func() { w.close() }()
	for _, name := range slices.Compact(names) {
		_, mine := owned[name]
		text, wanted := files[name]
		var action Action
		var err error
		if wanted {
			action, err = s.action(&w, path.Join(r.Cluster, name), mine, text)
		} else {
			action, err = s.remove(&w, r.Cluster, name, owned)
		}
		if err != nil {
			faults.Add(err)
			continue
		}
		r.count(path.Join(r.Cluster, name), action, wanted)
	}
	return faults.Err()
}

func (r *Result) count(name string, action Action, wanted bool) {
	switch action {
	case Added:
		r.Added++
	case Changed:
		r.Changed++
	case Removed:
		r.Removed++
	default:
		if wanted {
			r.Unchanged++
		}
		return
	}
	r.Files = append(r.Files, File{Name: name, Action: action})
}

// action returns what must be done for a file to have the text. It is ours when the
// index lists it.
func (s *Session) action(w *walker, name string, mine bool, text fleet.Text) (Action, error) {
	in, err := w.to(name)
	if err != nil {
		return "", err
	}
	info, err := in.lstat(path.Base(name))
	switch {
	case err != nil:
		return "", s.failed("look at", name, err)
	case info == nil:
		return Added, nil
	case !info.Mode().IsRegular():
		return "", &diag.Diag{
			At: s.at(name), Msg: "this is " + kindOf(info) + " in the place of a file of the bundle", Hint: hintMove,
		}
	}
	same := info.Size() == int64(text.Len())
	if same {
		data, err := w.read(path.Base(name), info.Size())
		if err != nil {
			return "", s.failed("read", name, err)
		}
		same = text.Equal(data)
	}
	switch {
	case same:
		return "", nil
	case !mine:
		return "", &diag.Diag{
			At: s.at(name), Msg: "fleetc did not write this file, and the bundle needs its place", Hint: hintMove,
		}
	}
	return Changed, nil
}

// write puts the files that are added or changed into the staging area.
func (s *Session) write(p *plan, files map[string]fleet.Text) error {
	w := walker{open: s.staging}
	defer func() { w.close() }()
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
			return s.failed("write", to, err)
		}
	}
	return nil
}

// Retire has the directories of clusters that the fleet does not have any more
// removed: those of this fleet whose ID is gone. Foreign files in them stay. It
// returns what Commit will do, sorted by ID. Call it once, and only when the
// whole fleet is exported.
func (s *Session) Retire(gone func(id string) bool) ([]Result, error) {
	if s.root == nil {
		return nil, nil
	}
	var out []Result
	var faults diag.List
	err := s.eachDirectory(func(name string) {
		if !gone(name) {
			return
		}
		p, err := s.retire(name)
		faults.Add(diag.In(name, err))
		if p != nil {
			s.plans = append(s.plans, p)
			out = append(out, p.Result)
		}
	})
	if err == nil {
		err = faults.Err()
	}
	s.faults.Add(err)
	return out, err
}

// eachDirectory calls visit with the directories below Dir that may be those of
// clusters, in the order of their names.
func (s *Session) eachDirectory(visit func(name string)) error {
	// To list a directory, an os.Root looks at every file in it. Names are found
	// without one, and nothing is read or done by them but through one.
	return fs.WalkDir(os.DirFS(s.tree.Dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && name != ".":
			return fs.SkipDir // no export of ours could have written there
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

// retire returns the plan that removes the directory, nil when it is not one
// of a cluster of ours.
func (s *Session) retire(dir string) (*plan, error) {
	idx, err := s.readIndex(dir, ownedIndex{})
	switch {
	case errors.Is(err, errForeign):
		return nil, nil // other tools have a bundle.json as well
	case err != nil:
		return nil, err
	case idx.contents == nil || idx.Fleet != s.tree.Fleet || idx.Cluster != dir:
		return nil, nil
	}
	s.claimed = append(s.claimed, dir)
	p := &plan{Result: Result{Cluster: dir, Retired: true}, number: len(s.claimed) - 1, index: idx.digest}
	return p, s.compare(&p.Result, idx.owned(), nil)
}

// digestOf returns the digest of a file's content.
func digestOf(data []byte) string {
	return fleet.Sum(sha256.Sum256(data)).String()
}

// freshDir is where in the staging area the new directory of a cluster is made.
func freshDir(number int) string { return path.Join(area, "new", strconv.Itoa(number)) }

// below returns the name of a file within the directory.
func below(dir, name string) string { return strings.TrimPrefix(name, dir+"/") }

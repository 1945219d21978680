package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/ordered"
)

// A Summary says what an export did, or what one would do.
type Summary struct {
	Clusters                           []Result // of all clusters, sorted by ID
	Added, Changed, Removed, Unchanged int      // files of all clusters
}

// Changes returns how many files have an action.
func (s Summary) Changes() int { return s.Added + s.Changed + s.Removed }

// Join returns what several exports of different clusters did.
func Join(parts ...Summary) Summary {
	var all []Result
	for _, p := range parts {
		all = append(all, p.Clusters...)
	}
	slices.SortFunc(all, func(a, b Result) int { return cmp.Compare(a.Cluster, b.Cluster) })
	var sum Summary
	for _, r := range all {
		sum.add(r)
	}
	return sum
}

func (s *Summary) add(r Result) {
	s.Clusters = append(s.Clusters, r)
	s.Added += r.Added
	s.Changed += r.Changed
	s.Removed += r.Removed
	s.Unchanged += r.Unchanged
}

// Commit makes the staged bundles visible, cluster by cluster, each in one
// step. When staging found faults it returns them and
// changes nothing. On any other error the summary has the clusters that were
// done. In a comparison it only returns the summary.
func (s *Session) Commit() (Summary, error) {
	if err := s.faults.Err(); err != nil {
		return Summary{}, err
	}
	slices.SortFunc(s.plans, func(p, q *plan) int { return cmp.Compare(p.Cluster, q.Cluster) })
	plans := s.plans
	s.plans = nil
	changes := func(p *plan) bool { return p.Changes() > 0 && !s.check }
	changing := map[string]bool{} // directories, in lower case
	for _, p := range plans {
		if changes(p) {
			changing[strings.ToLower(p.Cluster)] = true
		}
	}
	if len(changing) > 0 {
		if err := s.open(); err != nil {
			return Summary{}, err
		}
	}
	// Links take time, and nobody sees them before a directory changes places. What
	// is in another that changes is linked when that has.
	ready := ordered.Map(context.Background(), s.tree.jobs(), len(plans), func(_ context.Context, i int) (turn, error) {
		if p := plans[i]; changes(p) && !within(p.Cluster, changing) {
			return s.prepare(p)
		}
		return turn{}, nil
	})
	var sum Summary
	for t, err := range ready {
		p := plans[len(sum.Clusters)]
		if err == nil && changes(p) && within(p.Cluster, changing) {
			t, err = s.prepare(p)
		}
		if err == nil && changes(p) {
			err = s.publish(p.journal(), t)
		}
		if err != nil {
			return sum, diag.In(p.Cluster, err)
		}
		sum.add(p.Result)
	}
	return sum, nil
}

// within reports whether a directory is in one of the others, which are in lower
// case.
func within(dir string, others map[string]bool) bool {
	for dir = path.Dir(strings.ToLower(dir)); dir != "."; dir = path.Dir(dir) {
		if others[dir] {
			return true
		}
	}
	return false
}

// open makes the staging area.
func (s *Session) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return nil
	}
	s.opened = true
	for _, dir := range []string{area, path.Join(area, "new"), path.Join(area, "old")} {
		if err := s.root.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make the staging area: %w", err)
		}
	}
	// In case of a kill, the next commit to the checkout is without it.
	if err := s.root.WriteFile(path.Join(area, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return fmt.Errorf("make the staging area: %w", err)
	}
	return nil
}

func (p *plan) journal() journal {
	return journal{Format: journalFormat, Cluster: p.Cluster, Number: p.number, Retired: p.Retired}
}

// A turn is what is known when the directory of a cluster is to change: whether
// it is there, and the indexes of the old one and of the new one, as far as there
// are any.
type turn struct {
	there    bool
	was, now ownedIndex
}

// prepare completes the new directory of the plan's cluster in the staging area.
// Several goroutines call it at once, for different plans.
func (s *Session) prepare(p *plan) (t turn, err error) {
	if t.was, err = s.current(p); err != nil {
		return t, err
	}
	there, err := s.lstat(p.Cluster)
	if there == nil || err != nil {
		return t, err
	}
	t.there = true
	if err := s.carry(p, t.was.contents); err != nil {
		return t, err
	}
	t.now, err = s.readIndex(freshDir(p.number), ownedIndex{})
	return t, err
}

// current returns the index in a cluster's directory, after a check that the
// plan was made for it: between Stage and Commit, somebody else may have
// changed it.
func (s *Session) current(p *plan) (ownedIndex, error) {
	old, err := s.ownIndex(p.Cluster)
	if err == nil && old.digest != p.index {
		err = s.raced(path.Join(p.Cluster, indexFile))
	}
	return old, err
}

// raced is the fault of a file that changed while the export was running.
func (s *Session) raced(name string) error {
	return &diag.Diag{
		At: s.at(name), Msg: "the file appeared or changed during the export",
		Hint: "move it away if it is yours, then run fleetc export again",
	}
}

// publish puts the new directory of a cluster, if there is one, into the place
// of the old one, if there is one.
func (s *Session) publish(j journal, t turn) error {
	fresh, err := s.lstat(j.fresh())
	if err != nil {
		return err
	}
	if t.there && fresh != nil {
		done, err := s.trade(&j, inode(fresh), t)
		if done || err != nil {
			return err
		}
	}
	if err := s.log(j); err != nil {
		return err
	}
	if t.there {
		if err := s.root.Rename(j.Cluster, j.old()); err != nil {
			return fmt.Errorf("move %s to the staging area: %w", s.at(j.Cluster)[0].File, err)
		}
	}
	if fresh != nil {
		if err := s.place(j); err != nil {
			return err
		}
	}
	return s.finish(j, t)
}

// trade exchanges the old directory and the new one, if the system can.
func (s *Session) trade(j *journal, ino string, t turn) (done bool, err error) {
	if ino == "" {
		return false, nil
	}
	j.Inode = ino
	if err := s.log(*j); err != nil {
		return false, err
	}
	err = s.exchange(*j)
	if errors.Is(err, errors.ErrUnsupported) {
		j.Inode = ""
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("exchange %s with its successor: %w", s.at(j.Cluster)[0].File, err)
	}
	return true, s.finish(*j, t)
}

func (s *Session) exchange(j journal) error {
	if s.tree.sys.exchange != nil {
		return s.tree.sys.exchange(s.root, j.fresh(), j.Cluster)
	}
	return exchange(s.root, j.fresh(), j.Cluster)
}

// place moves the new directory of a cluster to where nothing is.
func (s *Session) place(j journal) error {
	if parent := path.Dir(j.Cluster); parent != "." {
		if err := s.root.MkdirAll(parent, 0o755); err != nil {
			return fmt.Errorf("make the directory of %s: %w", j.Cluster, err)
		}
	}
	if err := s.root.Rename(j.fresh(), j.Cluster); err != nil {
		return fmt.Errorf("move %s into its place: %w", s.at(j.Cluster)[0].File, err)
	}
	return nil
}

// prune removes the directories above a cluster that became empty.
func (s *Session) prune(id string) {
	for dir := path.Dir(id); dir != "."; dir = path.Dir(dir) {
		if info, err := s.lstat(dir); err != nil || info != nil && !info.IsDir() {
			return
		}
		if err := s.root.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // not empty
		}
	}
}

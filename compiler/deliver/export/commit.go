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
	"github.com/fleetc/fleetc/compiler/base/par"
)

// A Summary is the result of an export or comparison.
type Summary struct {
	Added     int      `json:"added"` // number of files in all clusters, as the next ones
	Changed   int      `json:"changed"`
	Removed   int      `json:"removed"`
	Unchanged int      `json:"unchanged"`
	Clusters  []Result `json:"clusters"` // all clusters, sorted by ID
}

// Changes returns the number of files with an action.
func (s Summary) Changes() int { return s.Added + s.Changed + s.Removed }

// Join combines the summaries of exports of different clusters.
func Join(parts ...Summary) Summary {
	all := slices.Concat(diag.Each(parts, func(p Summary) []Result { return p.Clusters })...)
	slices.SortFunc(all, func(a, b Result) int { return cmp.Compare(a.Cluster, b.Cluster) })
	sum := Summary{Clusters: []Result{}}
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

// Keep drops the staged bundles of other clusters, so that Commit does not change these.
// Removed clusters stay. Do not call it at the same time as Stage.
func (s *Session) Keep(isKept func(id string) bool) {
	s.plans = slices.DeleteFunc(s.plans, func(p *plan) bool { return !p.Retired && !isKept(p.Cluster) })
}

// HoldRemovals drops the staged removals, and returns the IDs of their clusters, sorted.
func (s *Session) HoldRemovals() []string {
	var ids []string
	s.plans = slices.DeleteFunc(s.plans, func(p *plan) bool {
		if p.Retired && p.Changes() > 0 {
			ids = append(ids, p.Cluster)
		}
		return p.Retired
	})
	slices.Sort(ids)
	return ids
}

// Commit makes the staged bundles visible, one cluster after the other, each
// in one step. It changes nothing and returns the faults if staging found any.
// On another error, the summary contains the clusters that were changed. In a
// comparison it only returns the summary.
func (s *Session) Commit() (Summary, error) {
	if err := s.faults.Err(); err != nil {
		return Summary{}, err
	}
	slices.SortFunc(s.plans, func(p, q *plan) int { return cmp.Compare(p.Cluster, q.Cluster) })
	plans := s.plans
	s.plans = nil
	changes := func(p *plan) bool { return p.Changes() > 0 && !s.check }
	changing := map[string]bool{} // directories in lower case
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
	// Linking is slow and invisible until the directory is exchanged, so it
	// runs in parallel. A directory inside a changing one is linked after that
	// has changed.
	ready := par.Map(context.Background(), s.tree.jobs(), len(plans), func(_ context.Context, i int) (directoryChange, error) {
		if p := plans[i]; changes(p) && !within(p.Cluster, changing) {
			return s.prepare(p)
		}
		return directoryChange{}, nil
	})
	sum := Summary{Clusters: []Result{}}
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

// within reports whether a directory is inside one of others, which are in
// lower case.
func within(dir string, others map[string]bool) bool {
	for dir = path.Dir(strings.ToLower(dir)); dir != "."; dir = path.Dir(dir) {
		if others[dir] {
			return true
		}
	}
	return false
}

// open creates the staging area.
func (s *Session) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stagingOpen {
		return nil
	}
	s.stagingOpen = true
	for _, dir := range []string{stagingArea, path.Join(stagingArea, "new"), path.Join(stagingArea, "old")} {
		if err := s.root.Mkdir(dir, 0o755); err != nil {
			return s.stagingError(err)
		}
	}
	// A commit to the checkout after a kill must not include the area.
	if err := s.root.WriteFile(path.Join(stagingArea, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return s.stagingError(err)
	}
	return nil
}

// stagingError adds the directory of the tree to an error about its staging area.
func (s *Session) stagingError(err error) error {
	return fmt.Errorf("create the staging area in %s: %w", s.at(".")[0].File, err)
}

func (p *plan) journal() journal {
	return journal{Format: journalFormat, Cluster: p.Cluster, Number: p.number, Retired: p.Retired}
}

// A directoryChange describes the change of a cluster's directory: whether it
// exists, and its indexes before and after, if there are any.
type directoryChange struct {
	exists        bool
	before, after ownedIndex
}

// prepare completes the new directory of a cluster in the staging area. It is
// called in parallel for different plans.
func (s *Session) prepare(p *plan) (t directoryChange, err error) {
	if t.before, err = s.currentIndex(p); err != nil {
		return t, err
	}
	there, err := s.lstat(p.Cluster)
	if there == nil || err != nil {
		return t, err
	}
	t.exists = true
	if err := s.linkForeign(p, t.before.indexContents); err != nil {
		return t, err
	}
	t.after, err = s.readIndex(freshDir(p.number), ownedIndex{})
	return t, err
}

// currentIndex returns the index in a cluster's directory. It fails if the
// index has changed between Stage and Commit.
func (s *Session) currentIndex(p *plan) (ownedIndex, error) {
	old, err := s.ownIndex(p.Cluster)
	if err == nil && old.digest != p.index {
		err = s.changedDuringExport(IndexPath(p.Cluster))
	}
	return old, err
}

// changedDuringExport returns the fault of a file that changed during the
// export.
func (s *Session) changedDuringExport(name string) error {
	return &diag.Diag{
		Code: diag.CodeConcurrentExport,
		At:   s.at(name), Msg: "the file appeared or changed during the export",
		Hint: "move it away if it is yours, then run fleetc export again",
	}
}

// publish replaces the old directory of a cluster by the new one. Either may
// be missing.
func (s *Session) publish(j journal, t directoryChange) error {
	fresh, err := s.lstat(j.fresh())
	if err != nil {
		return err
	}
	if t.exists && fresh != nil {
		done, err := s.exchangeDirectories(&j, inode(fresh), t)
		if done || err != nil {
			return err
		}
	}
	if err := s.log(j); err != nil {
		return err
	}
	if t.exists {
		if err := s.root.Rename(j.Cluster, j.old()); err != nil {
			return fmt.Errorf("move %s to the staging area: %w", s.at(j.Cluster)[0].File, err)
		}
	}
	if fresh != nil {
		if err := s.moveIntoPlace(j); err != nil {
			return err
		}
	}
	return s.finish(j, t)
}

// exchangeDirectories swaps the old and the new directory, if the system
// supports it.
func (s *Session) exchangeDirectories(j *journal, ino string, t directoryChange) (done bool, err error) {
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
		return false, fmt.Errorf("replace %s: %w", s.at(j.Cluster)[0].File, err)
	}
	return true, s.finish(*j, t)
}

func (s *Session) exchange(j journal) error {
	if s.tree.sys.exchange != nil {
		return s.tree.sys.exchange(s.root, j.fresh(), j.Cluster)
	}
	return exchange(s.root, j.fresh(), j.Cluster)
}

// moveIntoPlace moves the new directory of a cluster to its path, which must
// not exist.
func (s *Session) moveIntoPlace(j journal) error {
	if parent := path.Dir(j.Cluster); parent != "." {
		if err := s.root.MkdirAll(parent, 0o755); err != nil {
			return fmt.Errorf("create the directory of %s: %w", j.Cluster, err)
		}
	}
	if err := s.root.Rename(j.fresh(), j.Cluster); err != nil {
		return fmt.Errorf("move %s into its place: %w", s.at(j.Cluster)[0].File, err)
	}
	return nil
}

// prune removes empty directories above a cluster.
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

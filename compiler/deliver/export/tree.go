// Package export writes bundles into a directory that may hold other files
// too, such as a git checkout:
//
//	<Dir>/<cluster ID>/<release>/<kind>-[<namespace>-]<name>.yaml
//	<Dir>/<cluster ID>/bundle.json
//
// A bundle with a layout determines the directories of its objects, and adds
// files.
//
// A cluster's directory changes in one step: after a kill it has its old or
// its new content, and the next export cleans up. Files that bundle.json lists
// are replaced and removed. Other files stay; if one is in the place of a file
// of the bundle, the export fails before it changes anything. Files that are
// up to date are not written.
//
// A [BranchUpdate] commits files to a branch of a remote git repository and pushes it:
//
//	fetch     the tips of the branches, without history     repository -> temporary copy
//	write     the caller changes files in a working tree    tip        -> tree
//	commit    if the tree differs from that of the tip      tree       -> commit
//	push      if the branch has not moved                   commit     -> repository
//
// When the branch has moved, the update starts again from the new tip; texts are
// never merged. Commits that others pushed in the meantime stay; if they changed
// the same files, the caller writes these again. A branch gets one commit or none.
// The git program runs, so that credentials, signing keys and names are those of the
// user. Attributes of the repository do not change the content of files.
//
// An [Artifact] is a bundle in a registry, with the media types that Flux reads:
//
//	oci://<registry>/<path>/<cluster ID in lower case>:<tag>
//
// Equal files give an artifact with the same digest on every machine, since it
// contains no times, users or machines.
//
// A [Layouter] converts a bundle to the files that Flux or Argo CD apply: the objects, and
// Kustomizations or Applications with their order, health checks and pruning. Both layouts
// share one model, the steps of a bundle. [CheckExposedSecrets] finds values of Secrets that an
// export must not contain. [ReadGitOps] reads the progress of Flux or Argo CD from a cluster,
// and [ParseGitOpsReport] from a report that the cluster has pushed.
//
// It is large because it has three destinations and two layouts.
//
// The package does not order or encode objects, calls no API of a forge, follows no
// symbolic links below Dir, and does not sync to disk: a killed process is
// safe, a power failure is not.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// stagingArea is the directory in Dir in which new directories are created. It
// exists during an export, and after a killed one.
const stagingArea = ".fleetc-export"

// A Tree is a directory with the bundles of one or more fleets.
type Tree struct {
	Dir     string        // absolute path; created if it is missing
	Name    string        // prefix of file names in faults; empty means Dir
	Fleet   string        // module path of the fleet whose clusters are exported
	Version string        // version of fleetc, for bundle.json
	Wait    time.Duration // how long to wait for another export to Dir; 0 means ten seconds
	Jobs    int           // number of parallel clusters; 0 means GOMAXPROCS

	sys system
}

// A system replaces file system operations in tests. The zero value uses the
// real ones.
type system struct {
	link     func(root *os.Root, from, to string) error
	exchange func(root *os.Root, a, b string) error
	lock     func(root *os.Root) (unlock func() error, ok bool, err error)
}

// A Session is one export or comparison of clusters of a fleet. Use it from
// one goroutine, except for methods that say otherwise.
type Session struct {
	tree        *Tree
	root        *os.Root     // nil in a comparison with a missing directory
	check       bool         // whether this is a comparison, which writes nothing
	unlock      func() error // nil in a comparison
	createdDirs []string     // directories created by Begin, outermost first

	mu          sync.Mutex
	stagingOpen bool     // whether the staging area exists
	claimedIDs  []string // cluster IDs by plan number
	plans       []*plan
	faults      diag.List
}

func (t *Tree) jobs() int { return cmp.Or(t.Jobs, runtime.GOMAXPROCS(0)) }

// Begin starts an export. It creates and locks Dir, and completes the change
// of a killed export. It returns a fault if another export does not end in
// time, or the context's error. The caller must close the session.
func (t *Tree) Begin(ctx context.Context) (*Session, error) {
	wait := cmp.Or(t.Wait, 10*time.Second)
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	s := &Session{tree: t}
	for {
		ok, err := s.lock()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		if ok {
			break
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), s.Close())
		case <-timeout.C:
			return nil, errors.Join(&diag.Diag{
				Code: diag.CodeConcurrentExport,
				At:   s.at("."), Msg: "another export is writing to this directory",
				Hint: "wait until it has ended, then run fleetc export again",
			}, s.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := s.clean(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Check starts a comparison: a session that stages, retires and commits with
// the same results as an export, but writes nothing and takes no lock.
func (t *Tree) Check() (*Session, error) {
	s := &Session{tree: t, check: true}
	root, err := os.OpenRoot(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	s.root = root
	return s, nil
}

// lock creates, opens and locks Dir. It reports false if the lock is taken.
func (s *Session) lock() (ok bool, err error) {
	if err := s.makeDir(); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(s.tree.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // an export without changes has removed it
	}
	if err != nil {
		return false, s.unusable(err)
	}
	take := s.tree.sys.lock
	if take == nil {
		take = tryLock
	}
	unlock, ok, err := take(root)
	if err != nil || !ok {
		return false, errors.Join(err, root.Close())
	}
	// The directory may have been replaced before it was locked.
	held, err := root.Stat(".")
	now, nowErr := os.Stat(s.tree.Dir)
	if err != nil || nowErr != nil || !os.SameFile(held, now) {
		return false, errors.Join(unlock(), root.Close())
	}
	s.root, s.unlock = root, unlock
	return true, nil
}

// makeDir creates Dir and records the created directories.
func (s *Session) makeDir() error {
	var missing []string
	for dir := filepath.Clean(s.tree.Dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Reverse(missing)
	for _, dir := range missing {
		if !slices.Contains(s.createdDirs, dir) {
			s.createdDirs = append(s.createdDirs, dir)
		}
	}
	// Another export may remove the directory during MkdirAll, which then
	// reports that it exists.
	var err error
	for range 100 {
		if err = os.MkdirAll(s.tree.Dir, 0o755); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return s.unusable(err)
	}
	return nil
}

// unusable returns the error for a Dir that cannot be used.
func (s *Session) unusable(err error) error {
	if info, statErr := os.Stat(s.tree.Dir); statErr == nil && !info.IsDir() {
		return &diag.Diag{
			Code: diag.CodeDestination,
			At:   s.at("."), Msg: "expected a directory, got a file",
			Hint: "export to another directory", Cause: err,
		}
	}
	return fmt.Errorf("open the directory to export to: %w", err)
}

// Close ends the session: it removes the staging area and the lock. It may be
// called twice.
func (s *Session) Close() error {
	var errs []error
	if s.stagingOpen {
		errs = append(errs, s.clean())
	}
	// Remove created directories that are empty before the lock is released:
	// other exports that wait for the lock check the directory afterwards.
	for _, dir := range slices.Backward(s.createdDirs) {
		if os.Remove(dir) != nil {
			break
		}
	}
	s.createdDirs = nil
	if s.unlock != nil {
		errs = append(errs, s.unlock())
		s.unlock = nil
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
		s.root = nil
	}
	return errors.Join(errs...)
}

// fileError adds the file name to the error of an operation, in place of the name that
// the error has; nil stays nil.
func (s *Session) fileError(what, name string, err error) error {
	if err == nil {
		return nil
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return &fs.PathError{Op: what, Path: s.at(name)[0].File, Err: err}
}

// at returns the position of a file below Dir.
func (s *Session) at(name string) []diag.Pos {
	if s.tree.Name != "" && name == "." {
		return []diag.Pos{{File: strings.TrimSuffix(s.tree.Name, "/")}}
	}
	if s.tree.Name != "" {
		return []diag.Pos{{File: s.tree.Name + name}}
	}
	return []diag.Pos{{File: filepath.ToSlash(filepath.Join(s.tree.Dir, filepath.FromSlash(name)))}}
}

// foreign returns the fault of a path that something else has, where the bundle needs it.
func (s *Session) foreign(name, msg string) error {
	return &diag.Diag{Code: diag.CodeForeignFile, At: s.at(name), Msg: msg, Hint: hintMove}
}

// lstat returns the file info of a path below Dir, or nil if it does not
// exist.
func (s *Session) lstat(name string) (fs.FileInfo, error) {
	info, err := lstat(s.root, name)
	return info, s.fileError("look at", name, err)
}

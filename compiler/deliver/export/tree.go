// Package export writes bundles into a directory that may hold other files
// too, such as a git checkout:
//
//	<Dir>/<cluster ID>/<release>/<kind>-[<namespace>-]<name>.yaml
//	<Dir>/<cluster ID>/bundle.json
//
// A bundle that is laid out for somebody says itself where its objects go, and
// brings files of its own.
//
// A cluster's directory changes in one step, so that a process that is killed
// leaves the old or the new one, and the next export cleans up after it. Files
// that an export wrote, which bundle.json lists, are replaced and removed;
// other files stay, and one of them where a file of the bundle must go is a
// fault before anything is changed. Files whose content is right are not
// written again.
//
// The package orders and encodes nothing, makes no commits, follows no
// symbolic links below Dir, and does not flush to disk: it withstands a killed
// process and not a power cut.
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

// area is the directory in Dir where new trees are made. It is there during an
// export, and after one that was killed.
const area = ".fleetc-export"

// A Tree is a directory with the bundles of one fleet, or of several.
type Tree struct {
	Dir     string        // absolute path; an export makes it when it is missing
	Name    string        // what faults write before the names of files in Dir; Dir itself when empty
	Fleet   string        // the fleet's module path: whose clusters are ours
	Version string        // of fleetc, for bundle.json
	Wait    time.Duration // how long to wait for another export to Dir, 0 for ten seconds
	Jobs    int           // how many clusters at a time; 0 for GOMAXPROCS

	sys system
}

// A system is what the file system does for us. The zero value asks it; tests
// take abilities away.
type system struct {
	link     func(root *os.Root, from, to *folder, name string) error
	exchange func(root *os.Root, a, b string) error
	lock     func(root *os.Root) (unlock func() error, ok bool, err error)
}

// A Session is one export, or one comparison, of some clusters of a fleet. It
// is for one goroutine, but for what says that several may call it at once.
type Session struct {
	tree   *Tree
	root   *os.Root     // nil in a comparison with a directory that is not there
	check  bool         // a comparison, which writes nothing
	unlock func() error // nil in a comparison
	made   []string     // Dir and the directories above it that Begin made, outermost first

	mu      sync.Mutex
	opened  bool     // the staging area is there
	claimed []string // IDs of the clusters that have a directory, by the numbers of their plans
	plans   []*plan
	faults  diag.List
}

func (t *Tree) jobs() int { return cmp.Or(t.Jobs, runtime.GOMAXPROCS(0)) }

// Begin starts an export. It makes Dir, takes its lock, so that no two exports
// write there at once, and completes what a killed export left. It returns a
// fault when another export does not end in time, and the context's error when
// that ends first. The caller closes the session.
func (t *Tree) Begin(ctx context.Context) (*Session, error) {
	wait := t.Wait
	if wait == 0 {
		wait = 10 * time.Second
	}
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
				At: s.at("."), Msg: "another export writes to this directory",
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

// Check starts a comparison: a session that stages, retires and commits like
// an export and returns the same results, but writes nothing at all and takes
// no lock.
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

// lock makes and opens Dir and tries to lock it.
func (s *Session) lock() (ok bool, err error) {
	if err := s.makeDir(); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(s.tree.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // an export that changed nothing took it away again
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
	// The lock is worth something only when this is still the directory that
	// others find at the same path.
	held, err := root.Stat(".")
	now, nowErr := os.Stat(s.tree.Dir)
	if err != nil || nowErr != nil || !os.SameFile(held, now) {
		return false, errors.Join(unlock(), root.Close())
	}
	s.root, s.unlock = root, unlock
	return true, nil
}

// makeDir makes Dir and remembers what of its path was missing.
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
		if !slices.Contains(s.made, dir) {
			s.made = append(s.made, dir)
		}
	}
	// Another export may remove the directory between the steps of MkdirAll, which
	// then reports that it exists.
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

// unusable says why Dir cannot be a tree.
func (s *Session) unusable(err error) error {
	if info, statErr := os.Stat(s.tree.Dir); statErr == nil && !info.IsDir() {
		return &diag.Diag{
			At: s.at("."), Msg: "bundles go into a directory, and this is a file",
			Hint: "export to another directory", Cause: err,
		}
	}
	return fmt.Errorf("open the directory to export to: %w", err)
}

// Close ends the session: it removes the staging area and gives the lock back.
// Without a Commit before it, nothing has changed. It may be called twice.
func (s *Session) Close() error {
	var errs []error
	if s.opened {
		errs = append(errs, s.clean())
	}
	// A directory that we made and that stayed empty goes while the lock is
	// held: whoever waits for the lock looks whether the directory still is one.
	for _, dir := range slices.Backward(s.made) {
		if os.Remove(dir) != nil {
			break
		}
	}
	s.made = nil
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

// failed returns the error of what was done to a file below Dir; nil for a nil err.
func (s *Session) failed(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, s.at(name)[0].File, err)
}

// at returns the place of a file below Dir.
func (s *Session) at(name string) []diag.Pos {
	if s.tree.Name != "" && name == "." {
		return []diag.Pos{{File: strings.TrimSuffix(s.tree.Name, "/")}}
	}
	if s.tree.Name != "" {
		return []diag.Pos{{File: s.tree.Name + name}}
	}
	return []diag.Pos{{File: filepath.ToSlash(filepath.Join(s.tree.Dir, filepath.FromSlash(name)))}}
}

// lstat returns what is at the path below Dir, nil when nothing is.
func (s *Session) lstat(name string) (fs.FileInfo, error) {
	if s.root == nil {
		return nil, nil
	}
	info, err := lstat(s.root, name)
	return info, s.failed("look at", name, err)
}

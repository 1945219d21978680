package export

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

var errKilled = errors.New("killed")

// abandon ends a session as a kill does: it only releases the lock.
func abandon(t *testing.T, s *Session) {
	t.Helper()
	if err := errors.Join(s.unlock(), s.root.Close()); err != nil {
		t.Fatal(err)
	}
}

// prepare exports a cluster with foreign files, stages a change or its
// removal, and prepares the new directory. It returns the session before the
// first visible step.
func prepare(t *testing.T, tree *Tree, retired bool) (*Session, journal) {
	t.Helper()
	mustExport(t, tree, true, bundle("p/a", "web/Pod/x/y=1", "web/Pod/x/z=1", "gone/Pod/x/y=1"))
	write(t, filepath.Join(tree.Dir, "p/a/README"), "theirs")
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if retired {
		err = s.Retire(func(string) bool { return true })
	} else {
		_, err = s.Stage(bundle("p/a", "web/Pod/x/y=2", "web/Pod/x/z=1"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.prepare(s.plans[0]); err != nil {
		t.Fatal(err)
	}
	return s, journal{Format: journalFormat, Cluster: "p/a", Retired: retired}
}

// TestRepair stops after each step of a change, modifies the cluster's
// directory, and expects the old or new content with that modification.
func TestRepair(t *testing.T) {
	oldOurs := map[string]string{"README": "theirs", "web/pod-x-y.yaml": "text: 1\n", "web/pod-x-z.yaml": "text: 1\n", "gone/pod-x-y.yaml": "text: 1\n"}
	newOurs := map[string]string{"README": "theirs", "web/pod-x-y.yaml": "text: 2\n", "web/pod-x-z.yaml": "text: 1\n"}
	retired := map[string]string{"README": "theirs"}
	ino := func(s *Session, j *journal) error {
		info, err := s.root.Lstat(j.fresh())
		if err == nil {
			j.Inode = inode(info)
		}
		return err
	}
	log := func(s *Session, j *journal) error { return s.log(*j) }
	swap := func(s *Session, j *journal) error { return exchange(s.root, j.fresh(), j.Cluster) }
	away := func(s *Session, j *journal) error { return s.root.Rename(j.Cluster, j.old()) }
	place := func(s *Session, j *journal) error { return s.root.Rename(j.fresh(), j.Cluster) }
	type steps []func(*Session, *journal) error
	for name, c := range map[string]struct {
		steps    steps
		exchange bool
		done     bool
	}{
		"staged":            {nil, false, false},
		"exchange logged":   {steps{ino, log}, true, false},
		"exchanged":         {steps{ino, log, swap}, true, true},
		"renames logged":    {steps{log}, false, false},
		"renamed away":      {steps{log, away}, false, true},
		"renamed in place":  {steps{log, away, place}, false, true},
		"journal half done": {steps{func(s *Session, _ *journal) error { return s.root.WriteFile(journalFile+".new", []byte("{"), 0o644) }}, false, false},
	} {
		for _, retire := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				if c.exchange && !inodes() {
					return // directories are renamed on this system
				}
				tree := newTree(t)
				s, j := prepare(t, tree, retire)
				for _, step := range c.steps {
					if err := step(s, &j); err != nil {
						t.Fatal(err)
					}
				}
				abandon(t, s)
				dir := filepath.Join(tree.Dir, "p/a")
				want := oldOurs
				switch {
				case c.done && retire:
					want = retired
				case c.done:
					want = newOurs
				}
				want = maps.Clone(want)
				if _, err := os.Stat(dir); err == nil {
					want["since"] = "written after the kill"
					write(t, filepath.Join(dir, "since"), want["since"])
					want["README"] = "edited after the kill"
					write(t, filepath.Join(dir, "README.new"), want["README"])
					if err := os.Rename(filepath.Join(dir, "README.new"), filepath.Join(dir, "README")); err != nil {
						t.Fatal(err)
					}
				}
				// Another fleet's export repairs as well.
				other := *tree
				other.Fleet = "example.com/other"
				mustExport(t, &other, true)
				got := files(t, dir)
				delete(got, indexFile)
				if !maps.Equal(got, want) {
					t.Errorf("got %q\nwant %q", got, want)
				}
				wantFiles(t, filepath.Join(tree.Dir, stagingArea))
			})
		}
	}
}

// TestRepairMoves checks that files are kept which appeared in the old
// directory before an exchange, even if the process is killed after it.
func TestRepairMoves(t *testing.T) {
	tree := newTree(t)
	s, j := prepare(t, tree, false)
	s.tree.sys.exchange = func(root *os.Root, a, b string) error {
		write(t, filepath.Join(tree.Dir, "p/a/late/file"), "late")
		return errors.Join(exchange(root, a, b), errKilled)
	}
	if err := s.publish(j, directoryChange{exists: true}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	abandon(t, s)
	tree.sys = system{}
	mustExport(t, tree, false)
	wantFiles(t, tree.Dir, "p/a/README", "p/a/late/file", "p/a/web/pod-x-y.yaml", "p/a/web/pod-x-z.yaml")
}

// TestRepairBringsNothingBack checks that files which are removed after a kill
// are not restored from the staging area.
func TestRepairBringsNothingBack(t *testing.T) {
	tree := newTree(t)
	s, j := prepare(t, tree, false)
	s.tree.sys.exchange = func(*os.Root, string, string) error { return errKilled }
	if err := s.publish(j, directoryChange{exists: true}); !errors.Is(err, errKilled) && inodes() {
		t.Fatal(err)
	}
	abandon(t, s)
	tree.sys = system{}
	if err := os.Remove(filepath.Join(tree.Dir, "p/a/README")); err != nil {
		t.Fatal(err)
	}
	mustExport(t, tree, false)
	if got := files(t, filepath.Join(tree.Dir, "p/a")); got["README"] != "" {
		t.Errorf("got %q", got)
	}
}

// TestRepairOfRetired kills the removal of a retired cluster, and creates a
// directory in the place of a foreign file: both stay until one is moved away.
func TestRepairOfRetired(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, true, bundle("p/a", "web/Pod/x/y=1"))
	s, err := tree.Begin(t.Context())
	if err == nil {
		err = s.Retire(func(string) bool { return true })
	}
	if err != nil {
		t.Fatal(err)
	}
	j := journal{Format: journalFormat, Cluster: "p/a", Retired: true}
	if err := errors.Join(s.open(), s.log(j)); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(tree.Dir, "p/a")
	write(t, filepath.Join(at, "late"), "late")
	if err := s.root.Rename(j.Cluster, j.old()); err != nil {
		t.Fatal(err)
	}
	abandon(t, s)
	write(t, filepath.Join(at, "late/file"), "theirs")
	for range 2 {
		if _, err := export(tree, true); err == nil {
			t.Error("an export succeeds although a directory is in the place of a file")
		}
		if got := files(t, tree.Dir); got["p/a/late/file"] != "theirs" || got[j.old()+"/late"] != "late" {
			t.Errorf("got %q", got)
		}
	}
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	mustExport(t, tree, true)
	wantFiles(t, tree.Dir, "p/a/late")
}

// inodes reports whether this system can exchange directories.
func inodes() bool { return runtime.GOOS == "linux" || runtime.GOOS == "darwin" }

// TestRepairPrunes checks that parent directories of an unfinished new cluster
// are removed.
func TestRepairPrunes(t *testing.T) {
	tree := newTree(t)
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stage(bundle("x/y/z", "web/Pod/x/y=1")); err != nil {
		t.Fatal(err)
	}
	if err := s.log(journal{Format: journalFormat, Cluster: "x/y/z"}); err != nil {
		t.Fatal(err)
	}
	if err := s.root.MkdirAll("x/y", 0o755); err != nil {
		t.Fatal(err)
	}
	abandon(t, s)
	mustExport(t, tree, false)
	wantFiles(t, tree.Dir, "./")
}

// TestDamagedJournal checks invalid journals.
func TestDamagedJournal(t *testing.T) {
	for _, text := range []string{
		"", "{", "{}", `{"format":"fleetc.export/v1","cluster":"../x"}`, `{"format":"fleetc.export/v1","cluster":"/x"}`,
		`{"format":"fleetc.export/v1","cluster":"a","number":-1}`, `{"format":"fleetc.export/v9","cluster":"a"}`,
		`{"format":"fleetc.export/v1","cluster":".fleetc-export"}`,
	} {
		tree := newTree(t)
		write(t, filepath.Join(tree.Dir, journalFile), text)
		write(t, filepath.Join(tree.Dir, stagingArea, "old/0/file"), "precious")
		_, err := export(tree, false)
		d, ok := errors.AsType[*diag.Diag](err)
		if !ok || !strings.HasSuffix(d.Error(), ".fleetc-export/journal: the journal of an export that was killed is damaged") || d.Hint == "" {
			t.Errorf("%s: got %v", text, err)
		}
		wantFiles(t, tree.Dir, journalFile, stagingArea+"/old/0/file")
	}
}

// TestLinksInTheStagingArea checks that the targets of links in the staging
// area are not removed.
func TestLinksInTheStagingArea(t *testing.T) {
	for _, link := range []string{stagingArea + "/new", stagingArea + "/old", stagingArea} {
		dir := t.TempDir()
		notes := filepath.Join(dir, "docs", "mine", "notes.txt")
		write(t, notes, "theirs")
		at := filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		to, err := filepath.Rel(filepath.Dir(at), filepath.Join(dir, "docs"))
		if err == nil {
			err = os.Symlink(to, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, err := (&Tree{Dir: dir, Fleet: "f"}).Begin(t.Context()); err == nil {
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", link, err)
			}
		}
		if _, err := os.Stat(notes); err != nil {
			t.Errorf("%s is a link, and what it leads to is gone: %v", link, err)
		}
	}
}

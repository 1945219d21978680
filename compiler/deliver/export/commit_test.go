package export

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// systems are the real file system and variants without exchange, without hard
// links, and without both.
func systems() map[string]system {
	noLink := func(*os.Root, string, string) error { return errors.ErrUnsupported }
	noExchange := func(*os.Root, string, string) error { return errors.ErrUnsupported }
	return map[string]system{
		"all": {}, "no exchange": {exchange: noExchange}, "no links": {link: noLink}, "none": {link: noLink, exchange: noExchange},
	}
}

// foreign adds foreign files and returns a check that they are unchanged.
// Directories keep their times only where files can be linked.
func foreign(t *testing.T, dir string, links bool) (check func()) {
	t.Helper()
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	names := []string{"README", "web/NOTES", "gone/NOTES", "docs/a/b/deep.txt", "web/.hidden", "link", "web/dangling"}
	for _, name := range names {
		at := filepath.Join(dir, name)
		switch filepath.Base(name) {
		case "link", "dangling":
			if err := os.Symlink("/nowhere/"+name, at); err != nil {
				t.Fatal(err)
			}
			continue
		}
		write(t, at, "theirs: "+name)
		if err := os.Chmod(at, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "none/at/all"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "docs/a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "docs/a/b"), old, old); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		var lines []string
		for line := range strings.Lines(listing(t, dir)) {
			name, rest, _ := strings.Cut(line, " ")
			for _, n := range append(names, "none/at/all", "docs/a/b") {
				if n != name {
					continue
				}
				if info, err := os.Lstat(filepath.Join(dir, n)); err == nil && info.IsDir() {
					// The directory is new, with the same mode and time.
					part := strings.Fields(rest)
					rest = part[0]
					if n == "docs/a/b" && links {
						rest += part[1]
					}
				}
				if strings.HasSuffix(name, "link") || strings.HasSuffix(name, "dangling") {
					rest = rest[strings.Index(rest, `"`):]
				}
				lines = append(lines, name+" "+rest)
			}
		}
		return strings.Join(lines, "\n")
	}
	before := look()
	return func() {
		t.Helper()
		if after := look(); before != after {
			t.Errorf("foreign files before:\n%s\nafter:\n%s", before, after)
		}
		if info, err := os.Stat(filepath.Join(dir, "docs/a")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("docs/a: %v, %v", info, err)
		}
	}
}

func TestForeignStays(t *testing.T) {
	for name, sys := range systems() {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.sys = sys
			mustExport(t, tree, true, bundle("p/a", "web/Pod/x/y=1", "web/Pod/x/z=1", "gone/Pod/x/y=1", "empty/Pod/x/y=1"))
			dir := filepath.Join(tree.Dir, "p/a")
			kept := func() string {
				info, err := os.Stat(filepath.Join(dir, "web/pod-x-z.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				return inode(info) + info.ModTime().String()
			}
			before := kept()
			check := foreign(t, dir, sys.link == nil)
			mustExport(t, tree, true, bundle("p/a", "web/Pod/x/y=2", "web/Pod/x/z=1", "new/Pod/x/y=1"))
			check()
			if after := kept(); before != after {
				t.Errorf("unchanged file: before %s, after %s", before, after)
			}
			ours := []string{"new/pod-x-y.yaml", "web/pod-x-y.yaml", "web/pod-x-z.yaml"}
			theirs := []string{".hidden", "NOTES", "dangling"}
			wantFiles(t, filepath.Join(dir, "web"), theirs[0], theirs[1], theirs[2], "pod-x-y.yaml", "pod-x-z.yaml")
			wantFiles(t, tree.Dir, "p/a/README", "p/a/docs/a/b/deep.txt", "p/a/gone/NOTES", "p/a/link", "p/a/"+ours[0], "p/a/none/at/all/",
				"p/a/web/.hidden", "p/a/web/NOTES", "p/a/web/dangling", "p/a/"+ours[1], "p/a/"+ours[2])
			mustExport(t, tree, true, bundle("p/b"))
			check()
			wantFiles(t, tree.Dir, "p/a/README", "p/a/docs/a/b/deep.txt", "p/a/gone/NOTES", "p/a/link", "p/a/none/at/all/",
				"p/a/web/.hidden", "p/a/web/NOTES", "p/a/web/dangling")
			mustExport(t, tree, true, bundle("p/a", "web/Pod/x/y=2"))
			check()
			wantFiles(t, filepath.Join(dir, "web"), theirs[0], theirs[1], theirs[2], "pod-x-y.yaml")
		})
	}
}

// TestForeignDirectory checks that our bundle.json is replaced, and that a
// directory without one is adopted.
func TestForeignDirectory(t *testing.T) {
	for name, sys := range systems() {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.sys = sys
			write(t, filepath.Join(tree.Dir, "a/README"), "theirs")
			mustExport(t, tree, true, bundle("a", "web/Pod/x/y=1"))
			wantFiles(t, tree.Dir, "a/README", "a/web/pod-x-y.yaml")
		})
	}
}

// TestRace checks that files are kept which change during an export.
func TestRace(t *testing.T) {
	for name, sys := range systems() {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			mustExport(t, tree, true, bundle("a", "web/Pod/x/y=1", "web/Pod/x/z=1"))
			dir := filepath.Join(tree.Dir, "a")
			write(t, filepath.Join(dir, "web/edited"), "before")
			write(t, filepath.Join(dir, "web/replaced"), "before")
			tree.sys = sys
			next := sys.exchange
			if next == nil {
				next = exchange
			}
			tree.sys.exchange = func(root *os.Root, a, b string) error {
				write(t, filepath.Join(dir, "web/edited"), "after")
				write(t, filepath.Join(dir, "web/replaced.new"), "after")
				if err := os.Rename(filepath.Join(dir, "web/replaced.new"), filepath.Join(dir, "web/replaced")); err != nil {
					t.Error(err)
				}
				write(t, filepath.Join(dir, "appeared/deep/file"), "after")
				write(t, filepath.Join(dir, "web/pod-x-q.yaml"), "after")
				if err := os.MkdirAll(filepath.Join(dir, "none/at/all"), 0o755); err != nil {
					t.Error(err)
				}
				return next(root, a, b)
			}
			mustExport(t, tree, true, bundle("a", "web/Pod/x/y=2", "web/Pod/x/z=1"))
			got := files(t, dir)
			delete(got, indexFile)
			want := map[string]string{
				"web/edited": "after", "web/replaced": "after", "appeared/deep/file": "after", "none/at/all/": "",
				"web/pod-x-q.yaml": "after", "web/pod-x-y.yaml": "text: 2\n", "web/pod-x-z.yaml": "text: 1\n",
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}

// TestRaceInTheWay checks that a file which appears in the place of a bundle's
// file fails the export of its cluster, and that the directory is unchanged.
func TestRaceInTheWay(t *testing.T) {
	for name, sys := range systems() {
		for _, late := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				tree := newTree(t)
				tree.sys = sys
				mustExport(t, tree, true, bundle("a", "web/Pod/x/y=1"), bundle("b", "web/Pod/x/y=1"))
				dir := filepath.Join(tree.Dir, "a")
				write(t, filepath.Join(dir, "README"), "theirs")
				want := files(t, dir)
				want["web/pod-x-new.yaml"] = "theirs"
				interfere := func() { write(t, filepath.Join(dir, "web/pod-x-new.yaml"), "theirs") }
				next := sys.exchange
				if next == nil {
					next = exchange
				}
				s, err := tree.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range []*fleet.Bundle{bundle("a", "web/Pod/x/y=2", "web/Pod/x/new=2"), bundle("b", "web/Pod/x/y=2")} {
					if _, err := s.Stage(b); err != nil {
						t.Fatal(err)
					}
				}
				if late {
					tree.sys.exchange = func(root *os.Root, a, b string) error {
						interfere()
						return next(root, a, b)
					}
				} else {
					interfere()
				}
				_, err = s.Commit()
				d, ok := errors.AsType[*diag.Diag](err)
				if !ok || !strings.Contains(d.Error(), "pod-x-new.yaml: the file appeared or changed during the export") {
					t.Errorf("got %v", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if got := files(t, dir); !maps.Equal(got, want) {
					t.Errorf("got %q\nwant %q", got, want)
				}
				wantFiles(t, tree.Dir, "a/README", "a/web/pod-x-new.yaml", "a/web/pod-x-y.yaml", "b/web/pod-x-y.yaml")
			})
		}
	}
}

// TestIndexChanges checks that a directory which changes between Stage and
// Commit is not replaced.
func TestIndexChanges(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, true, bundle("a", "web/Pod/x/y=1"))
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stage(bundle("a", "web/Pod/x/y=2")); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(tree.Dir, "a", indexFile)
	data, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	write(t, index, string(data)+"\n")
	want := files(t, filepath.Join(tree.Dir, "a"))
	_, err = s.Commit()
	wantFaults(t, tree.Dir, err, "a/bundle.json: the file appeared or changed during the export")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, filepath.Join(tree.Dir, "a")); !maps.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestReadOnlyDirectory checks that read-only directories are linked and
// cleaned up.
func TestReadOnlyDirectory(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, true, bundle("a", "web/Pod/x/y=1"))
	locked := filepath.Join(tree.Dir, "a/locked")
	write(t, filepath.Join(locked, "file"), "theirs")
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(locked, 0o755); err != nil {
			t.Error(err)
		}
	})
	mustExport(t, tree, true, bundle("a", "web/Pod/x/y=2"))
	if info, err := os.Stat(locked); err != nil || info.Mode() != fs.ModeDir|0o555 {
		t.Errorf("got %v, %v", info, err)
	}
	wantFiles(t, tree.Dir, "a/locked/file", "a/web/pod-x-y.yaml")
}

func TestCommitNothing(t *testing.T) {
	tree := newTree(t)
	s, err := tree.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	sum, err := s.Commit()
	if err != nil || sum.Changes() != 0 || len(sum.Clusters) != 0 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tree.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
}

// Directories of clusters inside of each other change in one commit: a cluster that moved
// into the directory of a retired one, and two that both change.
func TestNestedCommit(t *testing.T) {
	for name, sys := range systems() {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.sys = sys
			mustExport(t, tree, true, bundle("a", "web/Pod/s/x=1"))
			mustExport(t, tree, true, bundle("a/b", "web/Pod/s/x=2"))
			wantFiles(t, tree.Dir, "a/b/web/pod-s-x.yaml")

			mustExport(t, tree, true, bundle("a", "web/Pod/s/x=3"), bundle("a/b", "web/Pod/s/x=4"))
			mustExport(t, tree, true, bundle("a", "web/Pod/s/x=5"), bundle("a/b", "web/Pod/s/x=6", "web/Pod/s/y=7"))
			got := files(t, tree.Dir)
			for file, want := range map[string]string{"a/web/pod-s-x.yaml": "text: 5\n", "a/b/web/pod-s-x.yaml": "text: 6\n", "a/b/web/pod-s-y.yaml": "text: 7\n"} {
				if got[file] != want {
					t.Errorf("%s has %q, want %q", file, got[file], want)
				}
			}
		})
	}
}

package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// bundle returns the bundle of a cluster. An object is
// "release/Kind/namespace/name=text".
func bundle(id string, objects ...string) *fleet.Bundle {
	b := &fleet.Bundle{Cluster: &fleet.Cluster{ID: id, KubeVersion: "1.36"}}
	sum := sha256.New()
	releases := map[string]*fleet.Release{}
	for _, spec := range objects {
		head, text, _ := strings.Cut(spec, "=")
		part := strings.SplitN(head, "/", 4)
		rel := releases[part[0]]
		if rel == nil {
			rel = &fleet.Release{Name: part[0], Stage: "apps"}
			releases[part[0]] = rel
			b.Charts = append(b.Charts, fleet.Pin{Release: part[0], Chart: fleet.ChartRef{Path: "charts/" + part[0], Digest: "sha256:00"}})
		}
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetAPIVersion("v1")
		u.SetKind(part[1])
		u.SetNamespace(part[2])
		u.SetName(part[3])
		b.Objects = append(b.Objects, fleet.Object{Unstructured: u, Release: rel})
		b.YAML = append(b.YAML, fleet.Text{[]byte(textOf(id, text))})
		fmt.Fprintf(sum, "%q\n", spec)
	}
	b.Digest = fmt.Sprintf("sha256:%x", sum.Sum(nil))
	return b
}

// textOf returns the text of an object with its marks.
func textOf(id, text string) string {
	return "metadata:\n  annotations:\n    fleetc.dev/cluster: " + id + "\n    fleetc.dev/fleet: example.com/fleet\ntext: " + text + "\n"
}

func newTree(t *testing.T) *Tree {
	return &Tree{Dir: filepath.Join(t.TempDir(), "out"), Fleet: "example.com/fleet", Version: "v1.2.3"}
}

// run stages the bundles and commits. With retire, all other clusters are
// removed.
func run(s *Session, retire bool, bundles ...*fleet.Bundle) (Summary, error) {
	var faults diag.List
	var keep []string
	for _, b := range bundles {
		_, err := s.Stage(b)
		faults.Add(err)
		keep = append(keep, b.Cluster.ID)
	}
	if retire {
		err := s.Retire(func(id string) bool { return !slices.Contains(keep, id) })
		faults.Add(err)
	}
	sum, err := s.Commit()
	if want := faults.Err(); want != nil && (err == nil || err.Error() != want.Error()) {
		err = fmt.Errorf("Commit returned %w, and staging %w", err, want)
	}
	return sum, errors.Join(err, s.Close())
}

func export(t *Tree, retire bool, bundles ...*fleet.Bundle) (Summary, error) {
	s, err := t.Begin(context.Background())
	if err != nil {
		return Summary{}, err
	}
	return run(s, retire, bundles...)
}

func mustExport(t *testing.T, tree *Tree, retire bool, bundles ...*fleet.Bundle) Summary {
	t.Helper()
	sum, err := export(tree, retire, bundles...)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// files returns the contents of all files below dir. Empty directories end in
// a slash, and links have their targets.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	walk(t, dir, func(name string, info fs.FileInfo) {
		switch {
		case info.IsDir():
			if entries, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(entries) == 0 {
				out[name+"/"] = ""
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			out[name] = "-> " + target
		default:
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(data)
			if _, text, ok := strings.Cut(out[name], "\ntext: "); ok {
				out[name] = "text: " + text // without marks
			}
		}
	})
	return out
}

// listing returns mode, time and inode of everything below dir.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	content := files(t, dir)
	walk(t, dir, func(name string, info fs.FileInfo) {
		fmt.Fprintf(&b, "%s %s %s %s %q\n", name, info.Mode(), info.ModTime().Format(time.RFC3339Nano), inode(info), content[name])
	})
	return b.String()
}

func walk(t *testing.T, dir string, f func(name string, info fs.FileInfo)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		f(filepath.ToSlash(name), info)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantFiles compares the file names below dir, without indexes.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	for _, name := range slices.Sorted(maps.Keys(files(t, dir))) {
		if filepath.Base(name) != indexFile {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got files %q\nwant      %q", got, want)
	}
}

// wantFaults compares the first lines of faults, without the path of dir.
func wantFaults(t *testing.T, dir string, err error, want ...string) {
	t.Helper()
	var got []string
	for _, d := range diag.All(err) {
		got = append(got, strings.TrimPrefix(d.Error(), filepath.ToSlash(dir)+"/"))
		if d.Hint == "" && len(d.At) > 0 {
			t.Errorf("%s: no hint", d.Error())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got faults %q\nwant       %q", got, want)
	}
}

func TestExport(t *testing.T) {
	tree := newTree(t)
	tree.Dir = filepath.Join(tree.Dir, "deep", "er")
	one := bundle("prod/eu-1", "web/Deployment/shop/web=1", "web/Namespace//shop=2", "db/Secret/shop/db=3")
	sum := mustExport(t, tree, true, one, bundle("dev", "web/Namespace//dev=4"))
	want := map[string]string{
		"prod/eu-1/web/deployment-shop-web.yaml": "text: 1\n",
		"prod/eu-1/web/namespace-shop.yaml":      "text: 2\n",
		"prod/eu-1/db/secret-shop-db.yaml":       "text: 3\n",
		"dev/web/namespace-dev.yaml":             "text: 4\n",
	}
	got := files(t, tree.Dir)
	delete(got, "prod/eu-1/bundle.json")
	delete(got, "dev/bundle.json")
	if !maps.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if sum.Added != 6 || sum.Changes() != 6 || len(sum.Clusters) != 2 || sum.Clusters[0].Cluster != "dev" {
		t.Errorf("summary %+v", sum)
	}
	if runtime.GOOS != "windows" {
		walk(t, tree.Dir, func(name string, info fs.FileInfo) {
			if mode := info.Mode().Perm(); info.IsDir() && mode != 0o755 || !info.IsDir() && mode != 0o644 {
				t.Errorf("%s has the mode %v", name, mode)
			}
		})
	}
}

func TestExportTwice(t *testing.T) {
	tree := newTree(t)
	bundles := []*fleet.Bundle{bundle("prod/eu-1", "web/Deployment/shop/web=1", "web/Namespace//shop=2"), bundle("empty")}
	mustExport(t, tree, true, bundles...)
	before := listing(t, tree.Dir)
	sum := mustExport(t, tree, true, bundles...)
	if sum.Changes() != 0 || sum.Unchanged != 4 {
		t.Errorf("summary %+v", sum)
	}
	if after := listing(t, tree.Dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestExportChange checks that unchanged files keep their inode and time.
func TestExportChange(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, true, bundle("a", "web/Deployment/s/web=1", "web/Namespace//s=2", "old/Pod/s/x=3"))
	before := listing(t, filepath.Join(tree.Dir, "a", "web"))
	sum := mustExport(t, tree, true, bundle("a", "web/Deployment/s/web=changed", "web/Namespace//s=2", "new/Pod/s/y=3"))
	want := []File{
		{"a/bundle.json", Changed},
		{"a/new/pod-s-y.yaml", Added},
		{"a/old/pod-s-x.yaml", Removed},
		{"a/web/deployment-s-web.yaml", Changed},
	}
	if r := sum.Clusters[0]; !slices.Equal(r.Files, want) || r.Added != 1 || r.Changed != 2 || r.Removed != 1 || r.Unchanged != 1 {
		t.Errorf("summary %+v", sum)
	}
	wantFiles(t, tree.Dir, "a/new/pod-s-y.yaml", "a/web/deployment-s-web.yaml", "a/web/namespace-s.yaml")
	line := func(l string) string {
		i := strings.Index(l, "namespace-s.yaml")
		return l[i : i+strings.Index(l[i:], "\n")]
	}
	if after := listing(t, filepath.Join(tree.Dir, "a", "web")); line(before) != line(after) {
		t.Errorf("before %s\nafter  %s", line(before), line(after))
	}
	if got := files(t, tree.Dir)["a/web/deployment-s-web.yaml"]; got != "text: changed\n" {
		t.Errorf("got %q", got)
	}
}

func TestCloseWithoutCommit(t *testing.T) {
	tree := newTree(t)
	parent := filepath.Dir(tree.Dir)
	before := files(t, parent)
	tree.Dir = filepath.Join(tree.Dir, "sub")
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stage(bundle("a", "web/Pod/x/y=1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := files(t, parent); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	mustExport(t, tree, true, bundle("a", "web/Pod/x/y=1"))
	listed := listing(t, filepath.Join(tree.Dir, "a"))
	if s, err = tree.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stage(bundle("a", "web/Pod/x/y=2")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, filepath.Join(tree.Dir, "a")); after != listed {
		t.Errorf("before:\n%s\nafter:\n%s", listed, after)
	}
	wantFiles(t, tree.Dir, "a/web/pod-x-y.yaml")
}

func TestDirIsFile(t *testing.T) {
	tree := newTree(t)
	write(t, tree.Dir, "x")
	_, err := tree.Begin(t.Context())
	wantFaults(t, filepath.Dir(tree.Dir), err, "out: expected a directory, got a file")
	_, err = tree.Check()
	wantFaults(t, filepath.Dir(tree.Dir), err, "out: expected a directory, got a file")
	tree.Dir = filepath.Join(tree.Dir, "below")
	if _, err = tree.Begin(t.Context()); err == nil {
		t.Error("no error for a directory below a file")
	}
}

func TestLock(t *testing.T) {
	tree := newTree(t)
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := *tree
	second.Wait = 60 * time.Millisecond
	_, err = second.Begin(t.Context())
	wantFaults(t, filepath.Dir(tree.Dir), err, "out: another export is writing to this directory")
	if text, _, _ := strings.Cut(diag.Texts(err)[0], "\n"); !strings.HasSuffix(text, " [FL2005]") {
		t.Errorf("the fault is printed as %q", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = second.Begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// A waiting export continues when the first ends, even if that removes the
	// directory that it created.
	second.Wait = time.Minute
	done := make(chan error)
	go func() {
		_, err := export(&second, true, bundle("a", "web/Pod/x/y=1"))
		done <- err
	}()
	time.Sleep(30 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantFiles(t, tree.Dir, "a/web/pod-x-y.yaml")
}

// TestLockIsOfDirectory checks that an export which waited for the lock of a
// removed directory locks the directory at the path.
func TestLockIsOfDirectory(t *testing.T) {
	tree := newTree(t)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 200 {
				s, err := tree.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				held, err := s.root.Stat(".")
				now, nowErr := os.Stat(tree.Dir)
				if err != nil || nowErr != nil || !os.SameFile(held, now) {
					t.Errorf("the lock is of a directory that is gone: %v, %v", err, nowErr)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}

// TestLockAfterReplacement replaces the directory between opening and locking:
// the export must lock the new one and write there.
func TestLockAfterReplacement(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, false, bundle("a", "web/Pod/x/y=1"))
	locks := 0
	tree.sys.lock = func(root *os.Root) (func() error, bool, error) {
		if locks++; locks == 1 {
			if err := os.Rename(tree.Dir, tree.Dir+".moved"); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(tree.Dir, "README"), "theirs")
		}
		return tryLock(root)
	}
	mustExport(t, tree, false, bundle("a", "web/Pod/x/y=2"))
	if locks != 2 {
		t.Errorf("%d locks were taken, want those of the old and the new directory", locks)
	}
	wantFiles(t, tree.Dir, "README", "a/web/pod-x-y.yaml")
	if got := files(t, tree.Dir+".moved")["a/web/pod-x-y.yaml"]; got != "text: 1\n" {
		t.Errorf("the directory that was moved away has changed: %q", got)
	}
}

// TestStageKeepsNoText checks that staging writes nothing visible, keeps no
// text, and writes nothing if everything is up to date.
func TestStageKeepsNoText(t *testing.T) {
	tree := newTree(t)
	s, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := bundle("a", "web/Pod/x/y=1")
	b.YAML[0] = fleet.Text{bytes.Repeat([]byte("x"), 64<<20)}
	gone := make(chan bool)
	runtime.SetFinalizer(&b.YAML[0][0][0], func(*byte) { close(gone) })
	if _, err := s.Stage(b); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, tree.Dir, stagingArea+"/.gitignore", stagingArea+"/new/0/web/pod-x-y.yaml", stagingArea+"/old/")
	b = nil
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the session keeps the text of a bundle")
}

// BenchmarkExport writes and compares 50 clusters of 200 objects, and changes
// one object of each.
func BenchmarkExport(b *testing.B) {
	fleetOf := func(v int) (bundles []*fleet.Bundle) {
		for c := range 50 {
			objs := []string{fmt.Sprintf("web/Pod/x/changing=%d", v)}
			for i := range 199 {
				objs = append(objs, fmt.Sprintf("web%d/Pod/x/y%d=%s", i%10, i, strings.Repeat("x", 2000)))
			}
			bundles = append(bundles, bundle(fmt.Sprintf("prod/c%d", c), objs...))
		}
		return bundles
	}
	versions := [][]*fleet.Bundle{fleetOf(0), fleetOf(1)}
	for _, name := range []string{"new", "same", "changed"} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			tree := &Tree{Dir: filepath.Join(dir, "out"), Fleet: "example.com/fleet"}
			n := 0
			if _, err := export(tree, true, versions[0]...); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				switch name {
				case "new":
					tree.Dir = filepath.Join(dir, fmt.Sprint(n))
					n++
				case "changed":
					n = 1 - n
				}
				if _, err := export(tree, true, versions[n%2]...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The error of a file names the file once, with its path below the tree's directory.
func TestFileError(t *testing.T) {
	s := &Session{tree: &Tree{Dir: "/clusters"}}
	err := s.fileError("write", "web/a.yaml", &fs.PathError{Op: "openat", Path: "a.yaml", Err: syscall.ENOSPC})
	if want := "write /clusters/web/a.yaml: " + syscall.ENOSPC.Error(); err.Error() != want || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want %s", err, want)
	}
}

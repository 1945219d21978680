package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestMain runs the test binary as the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("EXPORT_CHILD_DIR"); dir != "" {
		if err := child(dir, os.Getenv("EXPORT_CHILD_SYSTEM"), os.Getenv("EXPORT_CHILD_ROUNDS")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child exports both versions in turn, rounds times or, if rounds is 0, until
// it is killed.
func child(dir, sys, rounds string) error {
	n, err := strconv.Atoi(rounds)
	if err != nil {
		return err
	}
	tree := &Tree{Dir: dir, Fleet: "example.com/fleet", Wait: time.Minute, sys: systems()[sys]}
	fmt.Println("ready")
	for i := 0; n == 0 || i < n; i++ {
		if _, err := export(tree, true, version(i%2)...); err != nil {
			return err
		}
	}
	return nil
}

// version returns the bundles of one of two versions of a fleet: files of a
// change, p/b and c are added or removed, and d is unchanged.
func version(v int) []*fleet.Bundle {
	var objs []string
	for i := range 12 {
		switch {
		case i < 8:
			objs = append(objs, fmt.Sprintf("web/Pod/x/y%d=%d", i, i))
		default:
			objs = append(objs, fmt.Sprintf("web/Pod/x/y%d=%d", i, v))
		}
	}
	objs = append(objs, fmt.Sprintf("only%d/Pod/x/z=1", v))
	bundles := []*fleet.Bundle{bundle("a", objs...), bundle("d", "web/Pod/x/y=1")}
	if v == 1 {
		bundles = append(bundles, bundle("p/b", objs...), bundle("c", objs...))
	}
	return bundles
}

// setUp exports version 0 and adds foreign files.
func setUp(t *testing.T, dir string) {
	t.Helper()
	mustExport(t, &Tree{Dir: dir, Fleet: "example.com/fleet"}, true, version(0)...)
	write(t, filepath.Join(dir, "a/README"), "theirs")
	write(t, filepath.Join(dir, "a/only0/NOTES"), "theirs")
	write(t, filepath.Join(dir, "c/docs/README"), "theirs")
}

// expected returns the two valid contents of each cluster's directory.
func expected(t *testing.T) map[string][2]map[string]string {
	t.Helper()
	out := map[string][2]map[string]string{}
	dir := t.TempDir()
	setUp(t, dir)
	for v := range 2 {
		mustExport(t, &Tree{Dir: dir, Fleet: "example.com/fleet"}, true, version(v)...)
		for _, id := range []string{"a", "c", "d", "p/b"} {
			both := out[id]
			both[v] = files(t, filepath.Join(dir, id))
			out[id] = both
		}
	}
	return out
}

func whole(t *testing.T, dir string, want map[string][2]map[string]string) {
	t.Helper()
	for id, both := range want {
		got := files(t, filepath.Join(dir, id))
		if !maps.Equal(got, both[0]) && !maps.Equal(got, both[1]) {
			t.Fatalf("%s is neither the old nor the new one: %q", id, got)
		}
	}
}

func start(t *testing.T, dir, sys string, rounds int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "EXPORT_CHILD_DIR="+dir, "EXPORT_CHILD_SYSTEM="+sys, "EXPORT_CHILD_ROUNDS="+strconv.Itoa(rounds))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return cmd
}

func TestKill(t *testing.T) {
	want := expected(t)
	for name := range systems() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			setUp(t, dir)
			tree := &Tree{Dir: dir, Fleet: "example.com/fleet"}
			before := identity(t, filepath.Join(dir, "a/README"))
			began := time.Now()
			for v := range 3 {
				mustExport(t, tree, true, version(v%2)...)
			}
			takes := time.Since(began) // for both versions
			left := 0
			for range 12 {
				cmd := start(t, dir, name, 0)
				time.Sleep(rand.N(takes))
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("the child ended with %v", err)
				}
				if systems()[name].exchange == nil {
					whole(t, dir, want) // before a repair
				}
				if _, err := os.Lstat(filepath.Join(dir, stagingArea)); err == nil {
					left++
				}
				s, err := tree.Begin(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				whole(t, dir, want)
				if _, err := os.Lstat(filepath.Join(dir, stagingArea)); !errors.Is(err, fs.ErrNotExist) {
					t.Fatalf("the staging area is there: %v", err)
				}
			}
			t.Logf("%d of 12 kills left something to repair", left)
			if after := identity(t, filepath.Join(dir, "a/README")); after != before {
				t.Errorf("the foreign file was %s and is %s", before, after)
			}
			for v := range 2 {
				mustExport(t, tree, true, version(v)...)
				for id, both := range want {
					if got := files(t, filepath.Join(dir, id)); !maps.Equal(got, both[v]) {
						t.Errorf("%s: got %q\nwant %q", id, got, both[v])
					}
				}
				if _, err := os.Stat(filepath.Join(dir, "p")); (err == nil) != (v == 1) {
					t.Errorf("version %d: the directory above p/b: %v", v, err)
				}
			}
		})
	}
}

func identity(t *testing.T, name string) string {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return inode(info) + " " + info.ModTime().String()
}

// TestTwoProcesses checks that a second export to the directory waits.
func TestTwoProcesses(t *testing.T) {
	want := expected(t)
	dir := filepath.Join(t.TempDir(), "out")
	setUp(t, dir)
	one, two := start(t, dir, "all", 12), start(t, dir, "all", 12)
	if err := errors.Join(one.Wait(), two.Wait()); err != nil {
		t.Fatal(err)
	}
	for id, both := range want {
		if got := files(t, filepath.Join(dir, id)); !maps.Equal(got, both[1]) {
			t.Errorf("%s: got %q\nwant %q", id, got, both[1])
		}
	}
	wantFiles(t, filepath.Join(dir, stagingArea))
}

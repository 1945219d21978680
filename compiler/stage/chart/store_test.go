package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// writerEnv is the variable that makes the test binary write to the store in its
// value.
const writerEnv = "FLEETC_TEST_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeUntilKilled(store{dir})
	}
	os.Exit(m.Run())
}

func writeUntilKilled(s store) {
	for i := 0; ; i++ {
		data := bytes.Repeat([]byte(fmt.Sprintf("%07d\n", i%50)), 1<<17)
		if err := s.write(digest(data), data); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// TestKilledWriters kills two processes that write the same files. All files with
// final names must be complete.
func TestKilledWriters(t *testing.T) {
	s := store{t.TempDir()}
	var writers []*exec.Cmd
	ended := make(chan string, 2)
	for range 2 {
		cmd := exec.Command(os.Args[0])
		var errout bytes.Buffer
		cmd.Env, cmd.Stderr = append(os.Environ(), writerEnv+"="+s.dir), &errout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writers = append(writers, cmd)
		go func() {
			_ = cmd.Wait()
			ended <- errout.String()
		}()
	}
	stored := func() []string {
		list, err := filepath.Glob(filepath.Join(s.charts(), "[0-9a-f]*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for len(stored()) < 20 {
		for _, name := range stored() {
			if _, state, err := s.read("sha256:" + filepath.Base(name)); err != nil || state != intact {
				t.Errorf("%s: state %d, %v", name, state, err)
			}
		}
		if len(ended) > 0 {
			t.Fatalf("a writer ended: %s", <-ended)
		}
	}
	for _, cmd := range writers {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	for range writers {
		if text := <-ended; text != "" {
			t.Errorf("a writer says %s", text)
		}
	}
	for _, name := range stored() {
		if _, state, err := s.read("sha256:" + filepath.Base(name)); err != nil || state != intact {
			t.Errorf("after the kill, %s: state %d, %v", name, state, err)
		}
	}
}

func TestConcurrentWrites(t *testing.T) {
	s := store{filepath.Join(t.TempDir(), "new")}
	data := bytes.Repeat([]byte("x"), 1<<20)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := s.write(digest(data), data); err != nil {
				t.Error(err)
			}
			if got, state, err := s.read(digest(data)); state != intact || err != nil || !bytes.Equal(got, data) {
				t.Errorf("state %d, %v", state, err)
			}
		})
	}
	wait.Wait()
	if left, _ := filepath.Glob(filepath.Join(s.charts(), tempPrefix+"*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestSweep(t *testing.T) {
	src := source(t)
	s := store{src.Cache}
	old, recent := time.Now().Add(-stale-time.Hour), time.Now().Add(-stale+time.Hour)
	for name, when := range map[string]time.Time{
		"charts/sha256/.tmp-old": old, "charts/sha256/.tmp-new": recent, "charts/sha256/" + strings.Repeat("a", 64): old,
		"work/.tmp-old/x": old, "work/.tmp-new/x": recent, "work/foreign": old,
	} {
		write(t, s.dir, map[string]string{name: "x"})
		for _, n := range []string{name, filepath.Dir(name)} {
			if strings.Contains(n, "-") {
				if err := os.Chtimes(filepath.Join(s.dir, n), when, when); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	if _, err := src.Chart(t.Context(), repo.pin(t, "web", "1.0.0")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"charts/sha256/.tmp-old": false, "charts/sha256/.tmp-new": true, "charts/sha256/" + strings.Repeat("a", 64): true,
		"work/.tmp-old": false, "work/.tmp-new/x": true, "work/foreign": true,
	} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); (err == nil) != want {
			t.Errorf("%s: there %t, want %t", name, err == nil, want)
		}
	}
}

func TestStoreFolder(t *testing.T) {
	s := source(t)
	s.Cache = ""
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := s.store(); err != nil || st.dir != filepath.Join(user, "fleetc") {
		t.Errorf("got %v, %v", st, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err = s.store()
	wantFault(t, err, "no folder for the chart store", "--cache-dir")
	if _, err := s.Resolve(t.Context(), Request{Ref: "https://127.0.0.1:1/web"}); err == nil {
		t.Error("nothing at port 1, and no error")
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), map[string]string{"file": ""})
	if err := (store{file}).write(digest(nil), nil); err == nil || !strings.Contains(err.Error(), "write the chart store: ") {
		t.Errorf("got %v", err)
	}
	if _, err := (store{file}).tempDir(); err == nil {
		t.Error("a directory below a file")
	}
}

func TestStoreOnFullDisk(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: filepath.Join("/cache", tempPrefix+"123456"), Err: syscall.ENOSPC}
	err := storeFault("write", errors.Join(full, errors.New("of the removal")))
	if want := "write the chart store: write " + filepath.Dir(full.Path) + ": no space left on device"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	wantFault(t, err, "free disk space, or name another directory with --cache-dir")
}

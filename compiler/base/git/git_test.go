package git

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// limit is larger than all outputs of the tests.
const limit = 1 << 20

// repo makes a repository with one commit.
func repo(t *testing.T) Repo {
	t.Helper()
	r := Repo{Dir: t.TempDir(), Name: "here", For: "this test", Settings: []string{"user.name=t", "user.email=t@example.com"}}
	for _, args := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "--message", "first"}} {
		if _, err := r.Run(t.Context(), nil, limit, args...); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRun(t *testing.T) {
	r := repo(t)
	out, err := r.Run(t.Context(), strings.NewReader("text"), limit, "hash-object", "--stdin")
	if err != nil || string(out) != "f3a34851d44d6b97c90fbb99dfc78fb4d3d5e9fb\n" && len(out) != 41 {
		t.Errorf("%q, %v", out, err)
	}
	_, err = r.Run(t.Context(), nil, limit, "rev-parse", "--verify", "nothing^{commit}")
	if Failed(err) == nil || !strings.Contains(err.Error(), "single revision") {
		t.Errorf("got %v", err)
	}
	_, err = r.Run(t.Context(), nil, 10, "log", "--format=%H%H%H")
	if d := diag.All(err); Failed(err) != nil || len(d) != 1 || !strings.HasPrefix(d[0].Msg, "here: git log prints more than") {
		t.Errorf("got %v", err)
	}
}

// The environment of the caller selects neither the repository nor programs to
// run.
func TestEnvironment(t *testing.T) {
	r := repo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(r.Dir, ".git", "hooks", "pre-commit")
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, ".git", "config"), []byte("[core]\n\tfsmonitor = touch "+ran+"\n\thooksPath = .git/hooks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_DIR", t.TempDir())
	t.Setenv("GIT_INDEX_FILE", filepath.Join(t.TempDir(), "index"))
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	for _, args := range [][]string{{"status"}, {"commit", "--quiet", "--allow-empty", "--message", "second"}} {
		if _, err := r.Run(t.Context(), nil, limit, args...); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook or another program ran")
	}
}

func TestProtocols(t *testing.T) {
	r, other := repo(t), repo(t)
	for protocols, allowed := range map[string]bool{"": false, "https": false, "file": true} {
		r.Protocols = protocols
		_, err := r.Run(t.Context(), nil, limit, "fetch", "--quiet", "file://"+other.Dir)
		if (err == nil) != allowed {
			t.Errorf("with %q: %v", protocols, err)
		}
	}
}

func TestStream(t *testing.T) {
	r := repo(t)
	stop := errors.New("enough")
	err := r.Stream(t.Context(), nil, func(printed io.Reader) error {
		if _, err := io.ReadFull(printed, make([]byte, 4)); err != nil {
			return err
		}
		return stop
	}, "cat-file", "--batch-all-objects", "--batch")
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	// git's own error explains an unexpected end.
	err = r.Stream(t.Context(), nil, func(printed io.Reader) error {
		_, err := io.ReadFull(printed, make([]byte, 4))
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		return err
	}, "cat-file", "blob", "nothing")
	if Failed(err) == nil {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	r := repo(t)
	ctx, cancel := context.WithCancel(t.Context())
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer hold.Close()
	err = r.Stream(ctx, in, func(printed io.Reader) error {
		cancel()
		_, err := io.Copy(io.Discard, printed)
		return err
	}, "cat-file", "--batch")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Repo{Dir: t.TempDir(), For: "this test"}.Run(t.Context(), nil, limit, "status")
	if d := diag.All(err); len(d) != 1 || d[0].Msg != "this test needs the git command" || d[0].Hint != "install git" {
		t.Errorf("got %v", err)
	}
}

func TestError(t *testing.T) {
	cause := errors.New("exit status 128")
	for text, want := range map[string]string{
		"warning: x\nfatal: no\x1b[31m such\nmore": "no", "error: a\nb": "error: a b", "": "exit status 128",
	} {
		if got := (&Error{text, cause}).Error(); !strings.HasPrefix(got, want) || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if !errors.Is(&Error{"x", cause}, cause) || Failed(cause) != nil {
		t.Error("the cause is lost")
	}
}

func TestPasswords(t *testing.T) {
	r := repo(t)
	r.Protocols = "http"
	_, err := r.Run(t.Context(), nil, limit, "fetch", "--quiet", "http://name:secret@127.0.0.1:1/x")
	if Failed(err) == nil || strings.Contains(Failed(err).Text, "secret") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	_, err = r.Run(t.Context(), nil, limit, "fetch", "--quiet", "http://name:one@secret'@127.0.0.1:1/x")
	if Failed(err) == nil || strings.Contains(Failed(err).Text, "secret") {
		t.Errorf("got %v", err)
	}
}

func TestHead(t *testing.T) {
	var h headBuffer
	for range 3 {
		if n, err := h.Write(slices.Repeat([]byte("x"), 40<<10)); n != 40<<10 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if h.Len() != 64<<10 {
		t.Errorf("keeps %d bytes", h.Len())
	}
}

// A command is stopped when its files exceed the limit.
func TestRunWithin(t *testing.T) {
	r := repo(t)
	if _, err := r.RunWithin(t.Context(), 1<<30, limit, "status"); err != nil {
		t.Error(err)
	}
	r.Settings = append(r.Settings, "alias.wait=!sleep 60")
	_, err := r.RunWithin(t.Context(), 10, limit, "wait")
	if d := diag.All(err); len(d) != 1 || Failed(err) != nil || !strings.HasPrefix(d[0].Msg, "here is larger than 0 MiB") {
		t.Errorf("got %v", err)
	}
}

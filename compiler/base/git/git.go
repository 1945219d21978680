// Package git runs the git program safely in untrusted repositories and
// environments. Hooks and file watchers do not run, git never prompts, its
// output is limited, and it ends with its context.
//
// The rest of the user's configuration applies: credential helpers, keys,
// proxies and URL rewrites.
//
// [Checkout], [Head], [Changed] and [RevisionNames] read commits of the repository
// that contains a fleet. File contents are those that git stores, with the line ends
// of the working tree if git converts them: filters and hooks do not run, and a
// git-lfs file is its pointer. They use no network and write neither to the repository
// nor to the working tree. [ResolveLink] follows symbolic links inside a repository.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Repo is a repository, or a directory inside of one.
type Repo struct {
	Dir  string // working directory of git
	Name string // name of the repository in messages: its address, or a ref
	For  string // the operation that needs git, for messages

	// Protocols are the allowed protocols in the form of GIT_ALLOW_PROTOCOL.
	// Without any, git cannot use the network.
	Protocols string
	Settings  []string // further settings, as key=value
	Env       []string // further variables
}

// deniedFile matches the message of a local file. ssh adds methods: Permission denied (publickey).
var deniedFile = regexp.MustCompile(`(?m): Permission denied$`)

// An Error is the error message of a git command.
type Error struct {
	Text  string // standard error, without passwords
	Cause error
}

// Error returns git's fatal message, or the whole text, as one line.
func (e *Error) Error() string {
	text := e.Text
	if _, fatal, ok := strings.Cut(text, "fatal: "); ok {
		text, _, _ = strings.Cut(fatal, "\n")
	}
	if text = diag.Line(text, diag.MaxText); text != "" {
		return text
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Hint returns the next step if the text of git determines it, and otherwise the given one.
func (e *Error) Hint(otherwise string) string {
	const trust = "git config --global --add safe.directory "
	if e.IsFullDisk() {
		return "free disk space, or set TMPDIR to a directory with more space"
	}
	if deniedFile.MatchString(e.Text) {
		return "check the owner and the mode of the file and its directory"
	}
	if _, dir, ok := strings.Cut(e.Text, trust); ok {
		dir, _, _ = strings.Cut(dir, "\n")
		return "run " + trust + diag.Visible(dir, diag.MaxText) + ", or run fleetc as the owner of the repository"
	}
	return otherwise
}

// IsFullDisk reports whether git says that a disk is full.
func (e *Error) IsFullDisk() bool {
	return strings.Contains(e.Text, "No space left on device") || strings.Contains(e.Text, "Disk quota exceeded")
}

// Failed returns the [Error] in err, or nil.
func Failed(err error) *Error {
	failed, _ := errors.AsType[*Error](err)
	return failed
}

// Run runs git with in as standard input, which may be nil, and returns its
// output. Output of more than limit bytes is a fault. The error is an [Error]
// when git fails, and that of ctx when ctx ends.
func (r Repo) Run(ctx context.Context, in io.Reader, limit int, args ...string) ([]byte, error) {
	var out []byte
	err := r.Stream(ctx, in, func(printed io.Reader) (err error) {
		out, err = io.ReadAll(io.LimitReader(printed, int64(limit)+1))
		if len(out) > limit {
			return &diag.Diag{Code: diag.CodeGitLimits, Msg: fmt.Sprintf("%s: git %s prints more than %d MiB", r.Name, args[0], limit>>20), Hint: "use a repository with fewer and smaller files"}
		}
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Stream runs git like [Repo.Run] and passes the output to read while git runs.
// An error of read stops git and is returned, except for an unexpected EOF if
// git itself failed.
func (r Repo) Stream(ctx context.Context, in io.Reader, read func(printed io.Reader) error, args ...string) error {
	settings := []string{"--no-replace-objects", "--no-optional-locks"}
	for _, s := range append([]string{"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "protocol.ext.allow=never", "safe.bareRepository=explicit"}, r.Settings...) {
		settings = append(settings, "-c", s)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, r.environment(os.Environ()), in
	Detach(cmd)
	cmd.WaitDelay = 5 * time.Second
	var stderr headBuffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return &diag.Diag{Code: diag.CodeProgram, Msg: r.For + " needs the git command", Hint: "install git", Cause: err}
	}
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	readErr := read(out)
	if readErr != nil {
		cancel() // the rest is not read
	}
	err = cmd.Wait()
	switch {
	case readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF):
		return readErr
	case err != nil && ctx.Err() != nil && readErr == nil:
		return ctx.Err()
	case err != nil:
		return &Error{diag.WithoutUserinfo(stderr.String()), fmt.Errorf("git %s: %w", args[0], err)}
	}
	return readErr
}

// environment returns the environment for git: that of the user, without
// variables that select another repository, without prompts, and with messages in
// English.
func (r Repo) environment(environ []string) []string {
	local := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_TEMPLATE_DIR",
		"GIT_CEILING_DIRECTORIES", "GIT_DEFAULT_HASH", "GIT_TRACE", "GIT_EXTERNAL_DIFF", "LC_ALL", "LANGUAGE",
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name)
	})
	protocols := cmp.Or(r.Protocols, "none")
	return slices.Concat(env, []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=" + protocols, "GIT_PAGER=cat", "LC_ALL=C",
	}, r.Env)
}

// headBuffer stores the first 64 KiB written to it.
type headBuffer struct{ bytes.Buffer }

// Write implements [io.Writer].
func (h *headBuffer) Write(p []byte) (int, error) {
	const most = 64 << 10
	if n := most - h.Len(); n > 0 {
		h.Buffer.Write(p[:min(n, len(p))])
	}
	return len(p), nil
}

// Pauses between two size checks of [Repo.RunWithin].
const (
	minPause = 200 * time.Millisecond
	maxPause = 3 * time.Second
)

// RunWithin is [Repo.Run] for commands that fetch: it stops git with a fault
// when the files below Dir become larger than most bytes.
func (r Repo) RunWithin(ctx context.Context, most int64, limit int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { cancel(nil); <-done }()
	go func() {
		defer close(done)
		for pause := minPause; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				if size(r.Dir) > most {
					cancel(&diag.Diag{Code: diag.CodeGitLimits, Msg: fmt.Sprintf("%s is larger than %d MiB", r.Name, most>>20), Hint: "use a smaller repository"})
				}
				pause = min(2*pause, maxPause) // walking many files costs more than git
			}
		}
	}()
	out, err := r.Run(ctx, nil, limit, args...)
	if d, ok := errors.AsType[*diag.Diag](context.Cause(ctx)); ok && err != nil {
		return nil, d
	}
	return out, err
}

// size returns the size of the files below a directory while it is being
// written.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

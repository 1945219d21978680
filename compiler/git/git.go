// Package git runs the git program: in a repository that others may have made,
// and in surroundings that may be set for another one. No hook runs, no program
// that a configuration names to watch files, and nothing asks a question; what
// git prints is bounded, and it ends with its context.
//
// The user's configuration holds otherwise: credential helpers, keys, proxies
// and addresses that stand for others.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A Repo is a repository, or a directory inside of one, that git works on.
type Repo struct {
	Dir  string // where git runs
	Name string // what faults call it: its address, or what is wanted of it
	For  string // what cannot be done without git, as a clause

	// Protocols are those that may be used, as GIT_ALLOW_PROTOCOL has them; no
	// network is used when it is empty.
	Protocols string
	Settings  []string // further settings, as key=value
	Env       []string // further variables
}

// An Error is git's own word on what went wrong.
type Error struct {
	Text  string // what it wrote to standard error, without passwords
	Cause error
}

// Error returns the first line that tells why git ended, as one line.
func (e *Error) Error() string {
	text := e.Text
	if _, fatal, ok := strings.Cut(text, "fatal: "); ok {
		text, _, _ = strings.Cut(fatal, "\n")
	}
	if text = diag.Visible(strings.Join(strings.Fields(text), " "), diag.MaxText); text != "" {
		return text
	}
	return e.Cause.Error()
}

// Unwrap returns the error behind it.
func (e *Error) Unwrap() error { return e.Cause }

// Failed returns git's own word in err; nil when it is another error.
func Failed(err error) *Error {
	failed, _ := errors.AsType[*Error](err)
	return failed
}

// Run runs git with in as its input, which may be nil, and returns what it
// prints. More than limit bytes of it is a fault. The error is an [Error] when
// git fails, and that of ctx when ctx ends.
func (r Repo) Run(ctx context.Context, in io.Reader, limit int, args ...string) ([]byte, error) {
	var out []byte
	err := r.Stream(ctx, in, func(printed io.Reader) (err error) {
		out, err = io.ReadAll(io.LimitReader(printed, int64(limit)+1))
		if len(out) > limit {
			return &diag.Diag{Msg: fmt.Sprintf("%s: git %s prints more than %d MiB", r.Name, args[0], limit>>20)}
		}
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Stream is [Repo.Run] with read in place of a limit, which has what git prints
// while it runs. An error of read ends git, and is returned; but for an
// unexpected end, which git's own error explains if there is one.
func (r Repo) Stream(ctx context.Context, in io.Reader, read func(printed io.Reader) error, args ...string) error {
	settings := []string{"--no-replace-objects", "--no-optional-locks"}
	for _, s := range append([]string{"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "protocol.ext.allow=never"}, r.Settings...) {
		settings = append(settings, "-c", s)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, r.environment(os.Environ()), in
	Alone(cmd)
	cmd.WaitDelay = 5 * time.Second
	var complaint head
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return &diag.Diag{Msg: r.For + " needs the git command", Hint: "install git", Cause: err}
	}
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	unread := read(out)
	if unread != nil {
		cancel() // what is left is not read
	}
	err = cmd.Wait()
	switch {
	case unread != nil && !errors.Is(unread, io.ErrUnexpectedEOF):
		return unread
	case err != nil && ctx.Err() != nil && unread == nil:
		return ctx.Err()
	case err != nil:
		return &Error{userinfo.ReplaceAllString(complaint.String(), "://"), fmt.Errorf("git %s: %w", args[0], err)}
	}
	return unread
}

// userinfo matches the name and password in an address.
var userinfo = regexp.MustCompile(`://[^/\s]*@`)

// environment is the environment for git: the user's, without what would point
// it at another repository, as hooks have it, with no way to ask a question, and
// in one language.
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
	protocols := r.Protocols
	if protocols == "" {
		protocols = "none"
	}
	return slices.Concat(env, []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=" + protocols, "GIT_PAGER=cat", "LC_ALL=C",
	}, r.Env)
}

// head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

// Write implements [io.Writer].
func (h *head) Write(p []byte) (int, error) {
	const most = 64 << 10
	if keep := most - h.Len(); keep > 0 {
		h.Buffer.Write(p[:min(keep, len(p))])
	}
	return len(p), nil
}

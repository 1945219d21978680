package revision

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
	"strconv"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	moduleFile = "cue.mod/module.cue" // makes a directory the root of a fleet

	maxFiles   = 200_000
	maxBytes   = 1 << 30  // of all files
	maxListing = 32 << 20 // bytes that git may list
)

var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// A commit is one of the repository around a fleet.
type commit struct {
	dir    string // the fleet's root
	prefix string // its path in the repository, with a slash at the end; empty at the top
	ref    string // as the user names it
	hash   string
}

// A file is one in a commit.
type file struct {
	id   string
	mode string // 100644, 100755, or 120000 for a symbolic link
	size int64
}

const linkMode = "120000"

// open finds the repository around a directory, and the commit.
func open(ctx context.Context, dir, ref string) (*commit, error) {
	c := &commit{dir: dir, ref: diag.Visible(ref, diag.MaxText)}
	here, err := c.run(ctx, "rev-parse", "--is-inside-work-tree", "--show-prefix")
	inside, prefix, _ := strings.Cut(string(here), "\n")
	if err != nil || inside != "true" {
		return nil, c.noRepository(err)
	}
	c.prefix = strings.TrimSuffix(prefix, "\n")
	out, err := c.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if c.hash = strings.TrimSpace(string(out)); err == nil && objectID.MatchString(c.hash) {
		return c, nil
	}
	if _, ok := errors.AsType[*gitError](err); err != nil && !ok {
		return nil, err
	}
	return nil, c.noCommit(ctx, ref)
}

// noRepository makes git's error about the repository a fault; nil stands for
// one without a working tree.
func (c *commit) noRepository(err error) error {
	failed, ok := errors.AsType[*gitError](err)
	if err != nil && !ok {
		return err
	}
	if err == nil || strings.Contains(failed.text, "not a git repository") {
		return &diag.Diag{
			Msg: "the fleet is in no git repository, so there is no " + c.ref + " to read", Cause: err,
			Hint: "run git init and commit the fleet, or compare with an exported tree",
		}
	}
	return &diag.Diag{Msg: "git: " + failed.Error(), Hint: "run git status in the fleet's directory: it has to work", Cause: err}
}

// noCommit says that there is no such commit, and which branch or tag is near.
func (c *commit) noCommit(ctx context.Context, ref string) error {
	if ref == "" {
		return &diag.Diag{Msg: "no commit is named", Hint: "name a branch, a tag or a commit, as in git:main"}
	}
	out, err := c.run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return err
	}
	var names []string
	for name := range strings.Lines(string(out)) {
		names = append(names, diag.Visible(strings.TrimSpace(name), diag.MaxText))
	}
	slices.Sort(names)
	hint := diag.DidYouMean(ref, slices.Compact(names))
	shallow, err := c.run(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(shallow)) == "true" {
		return &diag.Diag{
			Msg:  "this shallow clone has no commit " + c.ref,
			Hint: "run git fetch --unshallow" + strings.TrimSuffix("; "+hint, "; "),
		}
	}
	if hint == "" {
		hint = diag.OneOf(ref, names)
	}
	if hint == "" {
		hint = "run git fetch, or name another branch, tag or commit"
	}
	return &diag.Diag{Msg: "the repository has no commit " + c.ref, Hint: hint}
}

// files lists the files of the commit below the fleet's root. Submodules are
// left out.
func (c *commit) files(ctx context.Context) (map[string]file, error) {
	if _, err := c.run(ctx, "rev-parse", "--verify", "--quiet", c.hash+":"+c.prefix+moduleFile); err != nil {
		if _, ok := errors.AsType[*gitError](err); ok {
			return nil, c.noFleet()
		}
		return nil, err
	}
	tree := c.hash + ":" + strings.TrimSuffix(c.prefix, "/")
	listing, err := c.run(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
	if _, ok := errors.AsType[*gitError](err); ok {
		return nil, c.incomplete(err)
	}
	if err != nil {
		return nil, err
	}
	files, total := map[string]file{}, int64(0)
	for entry := range strings.SplitSeq(string(listing), "\x00") {
		if entry == "" {
			continue
		}
		about, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(about)
		if len(fields) == 4 && fields[1] == "commit" {
			continue
		}
		if len(fields) != 4 || fields[1] != "blob" || !objectID.MatchString(fields[2]) {
			return nil, fmt.Errorf("git lists %q", diag.Visible(entry, diag.MaxText))
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return nil, c.incomplete(err) // git says BAD
		}
		if total += size; total > maxBytes || len(files) == maxFiles {
			return nil, &diag.Diag{
				Msg:  fmt.Sprintf("%s has more than %d files or %d MiB below the fleet's root", c.ref, maxFiles, maxBytes>>20),
				Hint: "move the fleet into a directory of its own",
			}
		}
		files[name] = file{fields[2], fields[0], size}
	}
	return files, nil
}

// noFleet says that the commit does not have this fleet.
func (c *commit) noFleet() error {
	return &diag.Diag{
		Msg:  fmt.Sprintf("%s has no fleet here: no %s", c.ref, diag.Visible(c.prefix+moduleFile, diag.MaxText)),
		Hint: "name a commit that has the fleet in the same directory",
	}
}

// incomplete says that the repository lacks objects, as a partial clone does.
func (c *commit) incomplete(err error) error {
	return &diag.Diag{
		Msg:  "the repository lacks files of " + c.ref + ": it is a partial clone, or damaged",
		Hint: "run git fetch --refetch --no-filter", Cause: err,
	}
}

// A gitError is git's own word on what went wrong.
type gitError struct {
	text  string // what it wrote to standard error
	cause error
}

func (e *gitError) Error() string {
	text := e.text
	if _, fatal, ok := strings.Cut(text, "fatal: "); ok {
		text = fatal
	}
	first, _, _ := strings.Cut(text, "\n")
	if first = diag.Visible(strings.TrimSpace(first), diag.MaxText); first != "" {
		return first
	}
	return e.cause.Error()
}

func (e *gitError) Unwrap() error { return e.cause }

// run runs git in the fleet's directory and returns what it prints.
func (c *commit) run(ctx context.Context, args ...string) ([]byte, error) {
	var out []byte
	err := c.stream(ctx, nil, func(r io.Reader) (err error) {
		out, err = io.ReadAll(io.LimitReader(r, maxListing+1))
		if len(out) > maxListing {
			return &diag.Diag{Msg: fmt.Sprintf("%s: git %s prints more than %d MiB", c.ref, args[0], maxListing>>20)}
		}
		return err
	}, args...)
	return out, err
}

// stream runs git with in as its input, and lets read have what it prints.
func (c *commit) stream(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error {
	settings := []string{"--no-replace-objects", "--no-optional-locks", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, environment(os.Environ()), in
	cmd.WaitDelay = 5 * time.Second
	var errout head
	cmd.Stderr = &errout
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return &diag.Diag{Msg: "comparing with a commit needs the git command", Hint: "install git", Cause: err}
	}
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	rerr := read(out)
	if rerr != nil {
		cancel() // what is left is not read
	}
	err = cmd.Wait()
	switch {
	case rerr != nil && !errors.Is(rerr, io.ErrUnexpectedEOF):
		return rerr
	case err != nil && ctx.Err() != nil && rerr == nil:
		return ctx.Err()
	case err != nil:
		return &gitError{text: errout.String(), cause: fmt.Errorf("git %s: %w", args[0], err)}
	}
	return rerr
}

// environment is the environment for git: the user's, without what would point
// it at another repository, as hooks have it, with no question, no network and
// one language.
func environment(environ []string) []string {
	local := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_TRACE", "LC_ALL", "LANGUAGE",
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name)
	})
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat", "LC_ALL=C")
}

// head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

// Write implements [io.Writer].
func (h *head) Write(p []byte) (int, error) {
	if keep := 64<<10 - h.Len(); keep > 0 {
		h.Buffer.Write(p[:min(keep, len(p))])
	}
	return len(p), nil
}

package chart

import (
	"bytes"
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

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const (
	maxRepo    = 1 << 30  // bytes that a git repository may take on disk
	maxListing = 64 << 20 // bytes that git may list
	fetchedRef = "refs/fleetc/chart"
)

var (
	hexRef   = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
	fullHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	userinfo = regexp.MustCompile(`://[^/@\s']*@`)
)

// fetchGit fetches the directory that ref names, and returns it as an archive
// with the commit that it is of. git does the talking, so that the user's
// credential helpers and keys work.
func (s *Source) fetchGit(ctx context.Context, ref fleet.GitRef) (archive []byte, commit string, err error) {
	err = s.inRepo(ctx, ref.URL, func(g gitRepo) error {
		if commit, err = g.fetch(ctx, ref.Ref); err != nil {
			return err
		}
		archive, err = g.archive(ctx, commit, ref)
		return err
	})
	return archive, commit, err
}

// inRepo calls work with an empty repository to fetch into.
func (s *Source) inRepo(ctx context.Context, url string, work func(gitRepo) error) (err error) {
	st, err := s.store()
	if err != nil {
		return err
	}
	dir, err := st.tempDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g := gitRepo{dir: dir, url: url}
	if _, err := g.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	return work(g)
}

// A gitRepo is a bare repository that exists for one fetch.
type gitRepo struct {
	dir string
	url string
}

// fetch fetches one ref, with no more history than the server makes it take,
// and returns its commit.
func (g gitRepo) fetch(ctx context.Context, ref string) (string, error) {
	_, err := g.remote(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--",
		g.url, "+"+ref+":"+fetchedRef)
	local := fetchedRef
	if _, ok := errors.AsType[*gitError](err); ok && hexRef.MatchString(ref) {
		// A server may not give a commit that no ref points to, and none gives
		// one by a short name.
		_, err = g.remote(ctx, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--",
			g.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
		local = ref
	}
	if err != nil {
		if failed, ok := errors.AsType[*gitError](err); ok && strings.Contains(failed.text, "couldn't find remote ref") {
			return "", g.noRef(ctx, ref)
		}
		return "", g.fault(err)
	}
	out, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", local+"^{commit}")
	commit := strings.TrimSpace(string(out))
	if err != nil || !fullHash.MatchString(commit) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fault("use a commit, a tag or a branch", "%s has no commit %s", g.url, ref)
	}
	return commit, nil
}

// noRef says that a branch or tag does not exist, and which one is near.
func (g gitRepo) noRef(ctx context.Context, ref string) error {
	out, err := g.remote(ctx, "ls-remote", "--heads", "--tags", "--refs", "--", g.url)
	if err != nil {
		return g.fault(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if _, full, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			short := strings.TrimPrefix(strings.TrimPrefix(full, "refs/heads/"), "refs/tags/")
			names = append(names, oneLine(short))
		}
	}
	slices.Sort(names)
	return fault(oneOf(ref, slices.Compact(names)), "%s has no branch or tag %s", g.url, ref)
}

// remote runs git where it uses the network and stops it when what it fetches
// has no end.
func (g gitRepo) remote(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { cancel(nil); <-done }()
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if size(g.dir) > maxRepo {
					cancel(fault("use a smaller repository for charts", "%s: more than %d MiB to fetch", g.url, maxRepo>>20))
				}
			}
		}
	}()
	out, err := g.run(ctx, args...)
	if d, ok := errors.AsType[*diag.Diag](context.Cause(ctx)); ok && err != nil {
		return nil, d
	}
	return out, err
}

// size is the size of all files below a directory that is being written to.
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

// A gitError is git's own word on what went wrong.
type gitError struct {
	text  string // what it wrote to standard error
	cause error
}

func (e *gitError) Error() string {
	for line := range strings.Lines(e.text) {
		if text, ok := strings.CutPrefix(line, "fatal: "); ok {
			return oneLine(text)
		}
	}
	if text := oneLine(e.text); text != "" {
		return text
	}
	return e.cause.Error()
}

func (e *gitError) Unwrap() error { return e.cause }

// fault turns git's error into one of the repository's; others stay.
func (g gitRepo) fault(err error) error {
	if failed, ok := errors.AsType[*gitError](err); ok {
		return &diag.Diag{
			Msg: g.url + ": " + failed.Error(), Cause: err,
			Hint: "run git ls-remote " + g.url + ": it has to work without a question",
		}
	}
	return err
}

// run runs git and returns what it writes to standard output.
func (g gitRepo) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.runLimit(ctx, nil, maxListing, args...)
}

// runLimit runs git with in as its input and no more than limit bytes of
// output.
func (g gitRepo) runLimit(ctx context.Context, in io.Reader, limit int, args ...string) ([]byte, error) {
	settings := []string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.writeCommitGraph=false",
	}
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = g.dir, g.env(os.Environ()), in
	out, errout := &head{limit: limit}, &head{limit: 64 << 10, rest: true}
	cmd.Stdout, cmd.Stderr = out, errout
	alone(cmd)
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, &diag.Diag{Msg: "a chart in a git repository needs the git command", Hint: "install git", Cause: err}
	case out.over:
		return nil, fault("", "%s: more than %d MiB of output from git %s", g.url, limit>>20, args[0])
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &gitError{text: userinfo.ReplaceAllString(errout.String(), "://"), cause: fmt.Errorf("git %s: %w", args[0], err)}
	}
	return out.Bytes(), nil
}

// env is the environment for git: the user's, without what would point it at
// another repository, with no way to ask a question, to run a program that the
// URL names, or to see another history than the server's.
func (g gitRepo) env(environ []string) []string {
	local := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_TEMPLATE_DIR",
		"GIT_CEILING_DIRECTORIES", "GIT_DEFAULT_HASH", "GIT_TRACE", "GIT_EXTERNAL_DIFF", "LC_ALL", "LANGUAGE",
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name)
	})
	protocols := "http:https:ssh:git"
	if strings.HasPrefix(g.url, "file:") {
		protocols += ":file"
	}
	return append(env, "GIT_DIR=.", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL="+protocols, "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
}

// head is a buffer that keeps the first limit bytes of what is written to it.
// Beyond them it lets the writer go on, or not.
type head struct {
	bytes.Buffer
	limit int
	rest  bool // swallow the rest
	over  bool
}

// Write implements [io.Writer].
func (h *head) Write(p []byte) (int, error) {
	if keep := h.limit - h.Len(); len(p) > keep {
		h.over = !h.rest
		if h.over {
			return 0, io.ErrShortWrite
		}
		h.Buffer.Write(p[:keep])
		return len(p), nil
	}
	return h.Buffer.Write(p)
}

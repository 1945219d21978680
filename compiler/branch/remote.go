// Package branch commits files to branches of a git repository elsewhere, and
// pushes them.
//
//	fetch     the tips of the branches, no history           repository -> temporary copy
//	write     somebody changes files in a working tree       tip        -> tree
//	commit    when that is another tree than the tip's       tree       -> commit
//	push      when the branch is still where it was          commit     -> repository
//
// When the branch has moved, all begins again on its new tip; no merge is made
// of texts. What others changed meanwhile stays, and what they changed of the
// same files is written anew by who wrote it before. A branch is changed in one
// step, or not at all.
//
// git does the work, so that credentials, keys, signatures and names are the
// user's. Files are committed as they are written, whatever attributes the
// repository has. The package asks no forge for anything, such as a pull request,
// and does not know what is in the files.
package branch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/git"
)

const (
	maxRepo    = 16 << 30         // bytes of the temporary copy, with the files of five hundred clusters
	maxListing = 64 << 20         // bytes of what git lists
	maxPrinted = 1 << 20          // bytes of what else git prints
	timeout    = 10 * time.Minute // of one conversation with the repository

	repository = "repository.git" // in the temporary directory
	worktree   = "tree"
)

var objectID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// A Remote is a repository elsewhere, with a temporary copy of what is needed of
// it. It is for one goroutine.
type Remote struct {
	Name string // its address, without credentials

	address
	dir string
}

// Open reads the address of a repository as users write it, in which a path is
// one from the directory dir, and makes an empty copy. No network is used. The
// caller closes it.
func Open(ctx context.Context, text, dir string) (*Remote, error) {
	a, err := parse(text, dir)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "fleetc-git-")
	if err != nil {
		return nil, fmt.Errorf("make a copy of %s: %w", a.name, err)
	}
	r := &Remote{Name: a.name, address: a, dir: temp}
	if err := r.init(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close removes the copy.
func (r *Remote) Close() error {
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("remove the copy of %s: %w", r.Name, err)
	}
	return nil
}

// init makes the empty copy. What its attributes say goes before what those of
// the repository do, which may name programs to run or change what is written.
func (r *Remote) init(ctx context.Context) error {
	plain := git.Repo{Dir: r.dir, Name: r.Name, For: "--git"}
	if _, err := plain.Run(ctx, nil, maxPrinted, "init", "--quiet", "--bare", "--template=", repository); err != nil {
		return r.fault(err)
	}
	info := filepath.Join(r.dir, repository, "info")
	err := os.MkdirAll(info, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(info, "attributes"), []byte("* -text !eol -ident !filter !working-tree-encoding\n"), 0o644)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(r.dir, worktree), 0o755)
	}
	if err != nil {
		return fmt.Errorf("make a copy of %s: %w", r.Name, err)
	}
	return nil
}

// git is the copy as git sees it.
func (r *Remote) git() git.Repo {
	return git.Repo{
		Dir: r.dir, Name: r.Name, For: "--git", Protocols: r.protocols,
		Env: []string{
			"GIT_DIR=" + filepath.Join(r.dir, repository), "GIT_WORK_TREE=" + filepath.Join(r.dir, worktree),
			"GIT_NO_LAZY_FETCH=0",
		},
		Settings: []string{
			"remote.origin.url=" + r.url, "gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false",
			"user.useConfigOnly=true", "i18n.commitEncoding=UTF-8", "push.followTags=false", "push.recurseSubmodules=no",
			"submodule.recurse=false", "core.autocrlf=false", "advice.detachedHead=false",
		},
	}
}

// run runs git in the copy, without the network.
func (r *Remote) run(ctx context.Context, args ...string) (string, error) {
	out, err := r.git().Run(ctx, nil, maxListing, args...)
	return strings.TrimSpace(string(out)), err
}

// remote runs git where it talks to the repository, and stops it when that has
// no end.
func (r *Remote) remote(ctx context.Context, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := r.git().RunWithin(limited, maxRepo, maxListing, args...)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = &diag.Diag{Msg: fmt.Sprintf("%s does not answer within %s", r.Name, timeout), Hint: "run the command again", Cause: err}
	}
	return strings.TrimSpace(string(out)), err
}

// fault makes git's error one of the repository's; others stay.
func (r *Remote) fault(err error) error {
	failed := git.Failed(err)
	if failed == nil {
		return err
	}
	return &diag.Diag{
		Msg: r.Name + ": " + failed.Error(), Cause: err,
		Hint: "run git ls-remote " + r.Name + ": it has to work without a question",
	}
}

// A listing is what a repository says that it has.
type listing struct {
	standard string   // the branch that HEAD is, empty when there is none
	branches []string // those that were asked for and are there
}

// list asks the repository for its default branch and some others.
func (r *Remote) list(ctx context.Context, branches ...string) (listing, error) {
	args := []string{"ls-remote", "--symref", "origin", "HEAD"}
	for _, b := range branches {
		args = append(args, "refs/heads/"+b)
	}
	out, err := r.remote(ctx, args...)
	if err != nil {
		return listing{}, r.fault(err)
	}
	var l listing
	for line := range strings.Lines(out) {
		what, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if to, ok := strings.CutPrefix(what, "ref: refs/heads/"); ok && ref == "HEAD" {
			l.standard = to
		}
		name, ok := strings.CutPrefix(ref, "refs/heads/")
		if ok && slices.Contains(branches, name) {
			l.branches = append(l.branches, name)
		}
	}
	if l.standard != "" && r.checkBranch(ctx, l.standard) != nil {
		l.standard = "" // no honest server has it
	}
	return l, nil
}

// Default returns the name of the default branch, a fault when there is none.
func (r *Remote) Default(ctx context.Context) (string, error) {
	l, err := r.list(ctx)
	if err == nil && l.standard == "" {
		err = &diag.Diag{Msg: r.Name + " has no default branch, as when it is empty", Hint: "name a branch with --branch"}
	}
	return l.standard, err
}

// checkBranch returns a fault when a name cannot be that of a branch.
func (r *Remote) checkBranch(ctx context.Context, name string) error {
	_, err := r.run(ctx, "check-ref-format", "refs/heads/"+name)
	if git.Failed(err) == nil && !strings.HasPrefix(name, "-") {
		return err
	}
	return &diag.Diag{
		Msg:  fmt.Sprintf("%q cannot be the name of a branch", diag.Visible(name, diag.MaxText)),
		Hint: "use letters, digits, dashes and slashes",
	}
}

// fetch fetches the tips of branches and returns their commits, in their order.
// When only some files will be looked at, their contents may be missing until
// then.
func (r *Remote) fetch(ctx context.Context, some bool, branches []string) ([]string, error) {
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance"}
	if some {
		args = append(args, "--filter=blob:none")
	}
	args = append(args, "origin")
	for i, b := range branches {
		args = append(args, fmt.Sprintf("+refs/heads/%s:refs/fleetc/%d", b, i))
	}
	if _, err := r.remote(ctx, args...); err != nil {
		return nil, err
	}
	tips := make([]string, len(branches))
	for i := range branches {
		tip, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", fmt.Sprintf("refs/fleetc/%d^{commit}", i))
		if err != nil {
			return nil, r.fault(err)
		}
		if !objectID.MatchString(tip) {
			return nil, fmt.Errorf("git: %q is no commit", diag.Visible(tip, diag.MaxText))
		}
		tips[i] = tip
	}
	return tips, nil
}

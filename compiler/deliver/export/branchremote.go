package export

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

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	maxRepo    = 16 << 30         // bytes of the temporary copy with its working tree: twice 500 clusters of 12 MB
	maxListing = 64 << 20         // bytes of a git listing
	maxPrinted = 1 << 20          // bytes of any other git output
	gitTimeout = 10 * time.Minute // of one git command that uses the network

	repository = "repository.git" // in the temporary directory
	worktree   = "tree"
	tempPrefix = "fleetc-git-"
)

var gitObjectID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// A Remote is a remote repository with a temporary, partial copy. It is not
// safe for concurrent use.
type Remote struct {
	Name string // address without credentials

	remoteAddress
	dir     string
	unlock  func() error  // of dir; may be nil
	timeout time.Duration // in place of the constant, for tests
	pulled  string        // commit of the last Pull
}

// OpenRemote parses the address of a repository and makes an empty copy. A relative
// path is relative to dir. Open does not use the network. The caller must close
// the Remote.
func OpenRemote(ctx context.Context, text, dir string) (*Remote, error) {
	a, err := parseAddress(text, dir)
	if err != nil {
		return nil, err
	}
	sweep()
	temp, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return nil, diag.NoTempFile(err)
	}
	r := &Remote{Name: a.name, remoteAddress: a, dir: temp, unlock: lockDir(temp), timeout: gitTimeout}
	if err := r.init(ctx); err != nil {
		return nil, errors.Join(r.fullDisk(err), r.Close())
	}
	return r, nil
}

// sweep removes the copies of killed processes, which have no lock. A process locks its copy
// as soon as it exists. sweep ignores errors; a later run tries again.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if unlock := lockDir(dir); unlock != nil && unlock() == nil {
			_ = os.RemoveAll(dir)
		}
	}
}

// lockDir locks a directory until the process ends, and returns nil if it cannot. Then another
// process cannot lock the directory to remove it either.
func lockDir(dir string) (unlock func() error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	unlock, _, _ = tryLock(root)
	return unlock
}

// Close removes the copy.
func (r *Remote) Close() error {
	var err error
	if r.unlock != nil {
		err = r.unlock()
	}
	if err = errors.Join(err, os.RemoveAll(r.dir)); err != nil {
		return fmt.Errorf("remove the clone of %s: %w", r.Name, err)
	}
	return nil
}

// init makes the empty copy. Its own attributes override those of the
// repository, which could run filter programs or convert files.
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
		return fmt.Errorf("clone %s: %w", r.Name, err)
	}
	return nil
}

// git returns the copy as a [git.Repo].
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

// remote runs a git command that uses the network, and stops it after the
// timeout.
func (r *Remote) remote(ctx context.Context, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	out, err := r.git().RunWithin(limited, maxRepo, maxListing, args...)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = &diag.Diag{Code: diag.CodeNetwork, Msg: fmt.Sprintf("%s does not answer within %s", r.Name, r.timeout), Hint: "run the command again", Cause: err}
	}
	return strings.TrimSpace(string(out)), err
}

// fault turns an error of git into a fault of the repository and returns any
// other error unchanged.
func (r *Remote) fault(err error) error {
	failed := git.Failed(err)
	if failed == nil || failed.IsFullDisk() {
		return r.fullDisk(err)
	}
	return &diag.Diag{
		Code: diag.CodeGit,
		Msg:  r.Name + ": " + failed.Error(), Cause: err,
		Hint: failed.Hint("run git ls-remote " + r.Name + ": it must work without a prompt"),
	}
}

// fullDisk returns the fault for an error of a full disk, where the temporary copy is, and
// any other error unchanged.
func (r *Remote) fullDisk(err error) error {
	failed := git.Failed(err)
	if !diag.IsFullDisk(err) && (failed == nil || !failed.IsFullDisk()) {
		return err
	}
	return &diag.Diag{
		Code: diag.CodeFileSystem, Cause: err,
		Msg:  fmt.Sprintf("the temporary copy of %s does not fit on the disk of %s", r.Name, os.TempDir()),
		Hint: "free disk space, or set TMPDIR to a directory with more space",
	}
}

// An lsRemote is the answer of git ls-remote.
type lsRemote struct {
	defaultBranch string   // branch of HEAD; empty for none
	branches      []string // requested branches that exist
}

// list asks the repository for its default branch and for the given branches.
func (r *Remote) list(ctx context.Context, branches ...string) (lsRemote, error) {
	args := []string{"ls-remote", "--symref", "origin", "HEAD"}
	for _, b := range branches {
		args = append(args, "refs/heads/"+b)
	}
	out, err := r.remote(ctx, args...)
	if err != nil {
		return lsRemote{}, r.fault(err)
	}
	var l lsRemote
	for line := range strings.Lines(out) {
		what, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if to, ok := strings.CutPrefix(what, "ref: refs/heads/"); ok && ref == "HEAD" {
			l.defaultBranch = to
		}
		name, ok := strings.CutPrefix(ref, "refs/heads/")
		if ok && slices.Contains(branches, name) {
			l.branches = append(l.branches, name)
		}
	}
	if l.defaultBranch != "" && checkBranch(l.defaultBranch) != nil {
		l.defaultBranch = "" // an invalid name: ignore it
	}
	return l, nil
}

// Default returns the name of the default branch, or a fault if there is none.
func (r *Remote) Default(ctx context.Context) (string, error) {
	l, err := r.list(ctx)
	if err == nil && l.defaultBranch == "" {
		err = &diag.Diag{Code: diag.CodeGitAddress, Msg: r.Name + " has no default branch; is it empty?", Hint: "name a branch with --branch"}
	}
	return l.defaultBranch, err
}

// fetch fetches the last commits of branches, depth of each, and returns their
// tips in the same order. With lazy, git fetches the contents of files later, when
// it needs them.
func (r *Remote) fetch(ctx context.Context, lazy bool, depth int, branches []string) ([]string, error) {
	args := []string{"fetch", "--quiet", fmt.Sprintf("--depth=%d", depth), "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance"}
	if lazy {
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
		if !gitObjectID.MatchString(tip) {
			return nil, fmt.Errorf("git: %q is not a commit", diag.Visible(tip, diag.MaxText))
		}
		tips[i] = tip
	}
	return tips, nil
}

// mostSearched is the maximum number of branches that [Remote.Find] reads.
const mostSearched = 200

// TipFile is a file at the tip of a branch.
type TipFile struct {
	Branch string
	Data   []byte
}

// Find returns, for each branch that has one of the files, the first of them. isSearched
// selects the branches. Find finds nothing if these are more than 200: it would take too long.
func (r *Remote) Find(ctx context.Context, files []string, isSearched func(branch string) bool) ([]TipFile, error) {
	names, err := r.Branches(ctx, "")
	names = slices.DeleteFunc(names, func(name string) bool { return !isSearched(name) })
	if err != nil || len(names) == 0 || len(names) > mostSearched {
		return nil, err
	}
	tips, err := r.fetch(ctx, true, 1, names)
	if err != nil {
		return nil, r.fault(err)
	}
	var found []TipFile
	for i, tip := range tips {
		all, err := r.entries(ctx, append([]string{tip, "--"}, files...)...)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && all[0].kind == "blob" {
			data, err := r.remote(ctx, "cat-file", "blob", all[0].id)
			if err != nil {
				return nil, r.fault(err)
			}
			found = append(found, TipFile{names[i], []byte(data)})
		}
	}
	return found, nil
}

// Pull fetches the tip of a branch, and writes its files into the working tree, which is
// the same directory at each call. An empty name is the default branch. The caller must
// not change the files.
func (r *Remote) Pull(ctx context.Context, branch string) (dir, commit string, err error) {
	if branch == "" {
		if branch, err = r.Default(ctx); err != nil {
			return "", "", err
		}
	}
	if err := checkBranch(branch); err != nil {
		return "", "", err
	}
	dir = filepath.Join(r.dir, worktree)
	// The compiler looks for the top of the repository.
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+filepath.Join(r.dir, repository)+"\n"), 0o644); err != nil {
		return "", "", fmt.Errorf("check out %s: %w", r.Name, err)
	}
	tips, err := r.fetch(ctx, false, 1, []string{branch})
	if err != nil {
		return "", "", r.fault(err)
	}
	commit = tips[0]
	if _, err := r.entries(ctx, "-r", "-t", commit); err != nil { // bounds the number of files
		return "", "", err
	}
	if _, err := r.run(ctx, "read-tree", "--reset", "-u", commit); err != nil {
		return "", "", r.fault(err)
	}
	if r.pulled == commit {
		return dir, commit, nil
	}
	r.pulled = commit
	// Without this, the copy grows with each commit.
	if _, err := r.run(ctx, "gc", "--quiet", "--prune=now"); err != nil {
		return "", "", r.fault(err)
	}
	return dir, commit, nil
}

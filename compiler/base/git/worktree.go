package git

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	moduleFile = "cue.mod/module.cue" // marks the root of a fleet

	maxFiles   = 100_000
	maxBytes   = 1 << 30  // total size of files
	maxListing = 16 << 20 // bytes of a git listing
)

var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// A commit is a commit of the repository that contains a fleet.
type commit struct {
	dir    string // the fleet's root
	prefix string // path of the root in the repository, with a trailing slash; empty at the top
	ref    string // as written by the user
	hash   string
}

// A file is an entry of a commit.
type file struct {
	id   string
	mode string // 100644, 100755, or 120000 for a symbolic link
	size int64

	crlf  bool // whether git checks it out with CRLF, as the working tree has it
	outer bool // whether the fleet has a symbolic link to the file, which is elsewhere in the repository
}

const linkMode = "120000"

// open finds the repository that contains dir, and the commit.
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
	if err != nil && Failed(err) == nil {
		return nil, err
	}
	return nil, c.noCommit(ctx, ref)
}

// noRepository turns git's error about the repository into a fault. A nil error
// stands for a repository without a working tree.
func (c *commit) noRepository(err error) error {
	failed := Failed(err)
	if err != nil && failed == nil {
		return err
	}
	if err == nil || strings.Contains(failed.Text, "not a git repository") {
		return &diag.Diag{
			Code: diag.CodeNoCommit,
			Msg:  "the fleet is not in a git repository: cannot read " + c.ref, Cause: err,
			Hint: "run git init, and commit the fleet",
		}
	}
	if strings.Contains(failed.Text, "cannot use bare repository") {
		return &diag.Diag{
			Code: diag.CodeNoCommit,
			Msg:  "the files HEAD, config, objects and refs in the fleet's directory are a git repository without a working tree: cannot read " + c.ref, Cause: err,
			Hint: "remove them, or run fleetc in a checkout of this repository",
		}
	}
	return &diag.Diag{Code: diag.CodeGit, Msg: "git: " + failed.Error(), Hint: failed.Hint("run git status in the fleet's directory, and correct what it reports"), Cause: err}
}

// names returns the names of all branches and tags, sorted.
func (c *commit) names(ctx context.Context) ([]string, error) {
	out, err := c.run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.Lines(string(out)) {
		names = append(names, diag.Visible(strings.TrimSpace(name), diag.MaxText))
	}
	return diag.Distinct(names), nil
}

// noCommit returns the fault of a missing commit, with a suggestion.
func (c *commit) noCommit(ctx context.Context, ref string) error {
	if ref == "" {
		return &diag.Diag{Code: diag.CodeNoCommit, Msg: "the name of the commit is empty", Hint: "name a branch, a tag or a commit, as in git:main"}
	}
	names, err := c.names(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if _, err := c.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); Failed(err) != nil {
			return &diag.Diag{Code: diag.CodeNoCommit, Msg: "the repository has no commits: cannot read " + c.ref, Hint: "commit the fleet: git add --all, then git commit"}
		}
	}
	hint := diag.DidYouMean(ref, names)
	shallow, err := c.isShallow(ctx)
	if err != nil {
		return err
	}
	if shallow {
		fetch, err := c.fetchOf(ctx, ref, names)
		if err != nil {
			return err
		}
		return &diag.Diag{
			Code: diag.CodeNoCommit,
			Msg:  "this shallow clone has no commit " + c.ref,
			Hint: "run " + fetch + strings.TrimSuffix("; "+hint, "; "),
		}
	}
	hint = cmp.Or(hint, diag.OneOf(ref, names), "run git fetch, or name another branch, tag or commit")
	return &diag.Diag{Code: diag.CodeNoCommit, Msg: "the repository has no commit " + c.ref, Hint: hint}
}

// isShallow reports whether the repository lacks a part of its history.
func (c *commit) isShallow(ctx context.Context) (bool, error) {
	answer, err := c.run(ctx, "rev-parse", "--is-shallow-repository")
	return strings.TrimSpace(string(answer)) != "false", err
}

// fetchOf returns the command that makes a commit known to a shallow clone, which may have
// only one branch of its remotes. names are those that it has.
func (c *commit) fetchOf(ctx context.Context, ref string, names []string) (string, error) {
	out, err := c.run(ctx, "remote")
	if err != nil {
		return "", err
	}
	remote, branch, _ := strings.Cut(diag.Visible(ref, diag.MaxText), "/")
	if i := strings.IndexAny(branch, "~^@:"); i >= 0 {
		branch = branch[:i]
	}
	if branch == "" || slices.Contains(names, remote+"/"+branch) || !slices.Contains(strings.Fields(string(out)), remote) {
		return "git fetch --unshallow", nil
	}
	return fmt.Sprintf("git fetch %s %s:refs/remotes/%[1]s/%[2]s", remote, branch), nil
}

// files lists the files of the commit below the fleet's root, without
// submodules.
func (c *commit) files(ctx context.Context) (map[string]file, error) {
	if _, err := c.run(ctx, "rev-parse", "--verify", "--quiet", c.hash+":"+c.prefix+moduleFile); err != nil {
		if Failed(err) != nil {
			return nil, c.noFleet()
		}
		return nil, err
	}
	tree := c.hash + ":" + strings.TrimSuffix(c.prefix, "/")
	files, err := c.list(ctx, "-r", tree)
	if err == nil {
		err = c.followOut(ctx, files)
	}
	if err == nil {
		err = c.findLineEnds(ctx, files)
	}
	return files, err
}

// list lists files of the commit, without submodules. args follow git ls-tree.
func (c *commit) list(ctx context.Context, args ...string) (map[string]file, error) {
	listing, err := c.run(ctx, append([]string{"ls-tree", "-z", "-l", "--full-tree"}, args...)...)
	if Failed(err) != nil {
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
		if len(fields) == 4 && (fields[1] == "commit" || fields[1] == "tree") {
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
				Code: diag.CodeGitLimits,
				Msg:  fmt.Sprintf("%s has more than %d files or %d MiB below the fleet's root", c.ref, maxFiles, maxBytes>>20),
				Hint: "move the fleet into a separate directory",
			}
		}
		files[name] = file{id: fields[2], mode: fields[0], size: size}
	}
	return files, nil
}

// followOut replaces symbolic links out of the fleet by the files of the repository to
// which they lead.
func (c *commit) followOut(ctx context.Context, files map[string]file) error {
	outer := map[string][]string{} // links, by the path of their target in the repository
	for name, f := range files {
		if c.prefix == "" || f.mode != linkMode {
			continue
		}
		target, err := c.run(ctx, "cat-file", "blob", f.id)
		if err != nil {
			return err
		}
		to := path.Join(c.prefix, path.Dir(name), string(target))
		if !path.IsAbs(string(target)) && filepath.IsLocal(filepath.FromSlash(to)) && !strings.HasPrefix(to+"/", c.prefix) {
			outer[to] = append(outer[to], name)
		}
	}
	if len(outer) == 0 {
		return nil
	}
	found, err := c.list(ctx, append([]string{c.hash, "--"}, slices.Sorted(maps.Keys(outer))...)...)
	if err != nil {
		return err
	}
	for to, f := range found {
		for _, name := range outer[to] {
			if f.outer = true; f.mode != linkMode {
				files[name] = f
			}
		}
	}
	return nil
}

// noFleet returns the fault of a commit without a fleet in this directory.
func (c *commit) noFleet() error {
	return &diag.Diag{
		Code: diag.CodeNoCommit,
		Msg:  fmt.Sprintf("%s has no fleet in this directory: %s is missing", c.ref, diag.Visible(c.prefix+moduleFile, diag.MaxText)),
		Hint: "name a commit that has the fleet in the same directory",
	}
}

// incomplete returns the fault of a repository that lacks objects, such as a
// partial clone.
func (c *commit) incomplete(err error) error {
	return &diag.Diag{
		Code: diag.CodeGitLimits,
		Msg:  "the repository lacks files of " + c.ref + ": it is a partial clone, or damaged",
		Hint: "run git fetch --refetch --no-filter", Cause: err,
	}
}

// git returns the fleet's directory as a [git.Repo].
func (c *commit) git() Repo {
	return Repo{Dir: c.dir, Name: c.ref, For: "comparing with a commit"}
}

// run runs git in the fleet's directory and returns its output.
func (c *commit) run(ctx context.Context, args ...string) ([]byte, error) {
	return c.git().Run(ctx, nil, maxListing, args...)
}

package chart

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	maxRepo    = 1 << 30  // bytes of a git repository on disk
	maxListing = 64 << 20 // bytes of output of git
	fetchedRef = "refs/fleetc/chart"
)

var (
	hexRef   = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
	fullHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// fetchGit fetches the directory of ref and returns it as an archive, together with
// the commit. It runs the git command, so the user's credential helpers and keys
// apply.
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

// inRepo calls work with an empty temporary repository.
func (s *Source) inRepo(ctx context.Context, url string, work func(gitRepo) error) (err error) {
	g, end, err := s.openRepo(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return work(g)
}

// A gitRepo is a temporary bare repository for one fetch.
type gitRepo struct {
	dir string
	url string
}

// fetch fetches one ref, as shallow as the server allows, and returns its commit.
func (g gitRepo) fetch(ctx context.Context, ref string) (string, error) {
	_, err := g.remote(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--",
		g.url, "+"+ref+":"+fetchedRef)
	local := fetchedRef
	if git.Failed(err) != nil && hexRef.MatchString(ref) {
		// Some servers refuse commits that no ref points to, and all refuse short
		// hashes.
		_, err = g.remote(ctx, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--",
			g.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
		local = ref
	}
	if err != nil {
		if failed := git.Failed(err); failed != nil && strings.Contains(failed.Text, "couldn't find remote ref") {
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
		return "", fault(diag.CodeChartNotFound, "use a commit, a tag or a branch", "%s has no commit %s", g.url, ref)
	}
	return commit, nil
}

// noRef returns the fault for a missing branch or tag, and suggests a similar name.
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
	return fault(diag.CodeChartNotFound, oneOf(ref, diag.Distinct(names)), "%s has no branch or tag %s", g.url, ref)
}

// remote runs a git command that uses the network and limits the size of the
// download.
func (g gitRepo) remote(ctx context.Context, args ...string) ([]byte, error) {
	return g.git().RunWithin(ctx, maxRepo, maxListing, args...)
}

// fault converts an error of git into a fault of the repository. It returns other
// errors unchanged.
func (g gitRepo) fault(err error) error {
	if failed := git.Failed(err); failed != nil {
		return &diag.Diag{
			Code: diag.CodeGit,
			Msg:  g.url + ": " + failed.Error(), Cause: err,
			Hint: "run git ls-remote " + g.url + ": it must work without a prompt",
		}
	}
	return err
}

// run runs a git command and returns its output.
func (g gitRepo) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.git().Run(ctx, nil, maxListing, args...)
}

// git returns the repository for package git, with the protocols that its URL needs.
func (g gitRepo) git() git.Repo {
	protocols := "http:https:ssh:git"
	if strings.HasPrefix(g.url, "file:") {
		protocols += ":file"
	}
	return git.Repo{
		Dir: g.dir, Name: g.url, For: "a chart in a git repository", Protocols: protocols, Env: []string{"GIT_DIR=."},
		Settings: []string{"gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false"},
	}
}

package chart

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/git"
)

const (
	maxRepo    = 1 << 30  // bytes that a git repository may take on disk
	maxListing = 64 << 20 // bytes that git may list
	fetchedRef = "refs/fleetc/chart"
)

var (
	hexRef   = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
	fullHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
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
	g, end, err := s.openRepo(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
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
	if git.Failed(err) != nil && hexRef.MatchString(ref) {
		// A server may not give a commit that no ref points to, and none gives
		// one by a short name.
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
	return g.git().RunWithin(ctx, maxRepo, maxListing, args...)
}

// fault turns git's error into one of the repository's; others stay.
func (g gitRepo) fault(err error) error {
	if failed := git.Failed(err); failed != nil {
		return &diag.Diag{
			Msg: g.url + ": " + failed.Error(), Cause: err,
			Hint: "run git ls-remote " + g.url + ": it has to work without a question",
		}
	}
	return err
}

// run runs git and returns what it prints.
func (g gitRepo) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.git().Run(ctx, nil, maxListing, args...)
}

// git is the repository as git sees it: one that tells no other history than
// the server's.
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

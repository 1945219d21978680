package export

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// A BranchUpdate describes the change of one branch.
type BranchUpdate struct {
	Branch string // branch that gets the commit; it is created if it does not exist
	Onto   string // target branch of a pull request: the commit is based on its tip; empty to commit on top of Branch
	Path   string // directory in the repository, slash-separated; empty for the top

	// Without has directories below Path that are not checked out and do not
	// change.
	Without Without

	// Write changes files below dir, the checkout of Path at the commit base, which is
	// empty for a new branch. It runs again when another client has pushed changes to
	// the same files.
	Write func(ctx context.Context, dir, base string) (BranchChange, error)

	// Last is called before Write with a checkout of Path in Branch, if Branch is one commit on
	// the tip of Onto, and otherwise with an empty name. It may be nil.
	Last func(dir string)

	// Keep reports whether to keep what the last commit of Branch changes in the directory of a
	// cluster, relative to Path: another export writes it. Changes of clusters outside of Path
	// are kept, too. Commits of others are not kept, nor changes in directories that
	// Onto has changed since. It may be nil.
	Keep func(dir string) bool

	// Fleet is the module path of a fleet. A branch with Onto is not deleted, and nothing of it
	// is kept, if its commit was made for another fleet.
	Fleet string

	// Owned protects the work of others on a branch with Onto: a branch is replaced only if
	// its last commit was made with Onto, and its files were not changed since. It stays as
	// it is while its commit makes the same changes to the same files.
	Owned bool

	Existing  bool // a missing branch is a fault, unless the repository has no branch at all
	Exclusive bool // Write runs again whenever the branch has moved
	Depth     int  // number of commits to fetch, for [Remote.History]; 0 for one
	Detached  bool // the branch starts without files, and has only one commit
}

// A BranchChange lists the files that Write changed.
type BranchChange struct {
	Files       []string // added, changed and removed files, slash-separated and relative to the directory
	Message     string   // of the commit
	Directories []string // whose tree IDs the result has, slash-separated and relative to the directory
}

// A BranchState is the outcome of an update.
type BranchState string

// States of a branch after [Remote.Push].
const (
	BranchUnchanged BranchState = "unchanged" // the branch has the content already; nothing was pushed
	BranchCommitted BranchState = "committed" // the branch got a commit
	BranchCreated   BranchState = "created"   // the branch was created from the default branch, which has the content already
	BranchStale     BranchState = "stale"     // Onto has the content already; the branch was left alone
	BranchDeleted   BranchState = "deleted"   // Onto has the content already, but not the changes of the branch; it was deleted
	BranchForeign   BranchState = "foreign"   // others committed to the branch, and it must not be replaced or deleted; it was left alone
	BranchRefused   BranchState = "refused"   // the repository does not take the push; the error of Push says why
)

// A BranchResult is the outcome of one update. Its JSON field names are stable.
type BranchResult struct {
	Branch string      `json:"branch"`
	State  BranchState `json:"state"`
	Commit string      `json:"commit,omitempty"` // tip of the branch, or of Base for a stale branch; empty if the commit does not exist
	Base   string      `json:"base,omitempty"`   // Onto of the update

	// Trees has the tree IDs of the directories of the change, without
	// concurrent changes by others.
	Trees map[string]string `json:"-"`
}

// Push updates each branch in one step and returns the results in the order of
// the updates. It writes all trees before it pushes the first branch. With
// check, it pushes nothing and returns the results that a push would have.
//
// A missing branch starts from the default branch, or without history if there
// is none.
//
// The error is [ErrTreeMismatch] when an excluded directory has another tree
// than expected. All other errors are faults: the repository refuses, git has
// no name or signing key, or the branch keeps moving. A refused branch does not
// stop the pushes of the others. After an error some branches may be updated:
// those of the results that are not BranchRefused.
func (r *Remote) Push(ctx context.Context, check bool, updates ...BranchUpdate) ([]BranchResult, error) {
	for _, u := range updates {
		if err := r.check(u); err != nil {
			return nil, err
		}
	}
	if !check {
		if err := r.identity(ctx); err != nil {
			return nil, err
		}
	}
	attempts := make([]*attempt, len(updates))
	for i, u := range updates {
		attempts[i] = &attempt{Remote: r, BranchUpdate: u}
		if err := attempts[i].prepareWithRetry(ctx); err != nil {
			return nil, err
		}
	}
	var results []BranchResult
	var faults diag.List
	for _, a := range attempts {
		result, err := a.finish(ctx, check)
		stopped := err != nil && (result.State != BranchRefused || ctx.Err() != nil)
		if stopped && len(faults) == 0 {
			return results, err
		}
		if faults.Add(err); stopped {
			break
		}
		results = append(results, result)
	}
	return results, faults.Err()
}

// check returns a fault for an invalid update.
func (r *Remote) check(u BranchUpdate) error {
	if err := checkBranch(u.Branch); err != nil {
		return err
	}
	if u.Onto != "" {
		if err := checkBranch(u.Onto); err != nil {
			return err
		}
	}
	if u.Onto == u.Branch {
		return &diag.Diag{Code: diag.CodeGitAddress, Msg: "the branch " + u.Branch + " cannot be merged into itself", Hint: "name another one with --pr-branch"}
	}
	return checkPath(u.Path)
}

// identity returns a fault when git has no name and address for commits.
func (r *Remote) identity(ctx context.Context) error {
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		if _, err := r.run(ctx, "var", who); git.Failed(err) != nil {
			return &diag.Diag{
				Code: diag.CodePushRefused,
				Msg:  "git has no name or address for the commit",
				Hint: "run git config --global user.name NAME and git config --global user.email ADDRESS", Cause: err,
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// maxAttempts is the number of retries when a branch moves during a push. With
// the pauses, they take about a minute.
const maxAttempts = 20

// prepareWithRetry prepares the tree, and retries if a branch is deleted in the
// meantime.
func (a *attempt) prepareWithRetry(ctx context.Context) error {
	for {
		err := a.prepare(ctx)
		if !a.retry(ctx, err) {
			return err
		}
	}
}

// finish commits and pushes, and retries while the branch moves.
func (a *attempt) finish(ctx context.Context, check bool) (BranchResult, error) {
	for {
		result, err := a.push(ctx, check)
		if !a.retry(ctx, err) {
			return result, err
		}
		if err := a.prepareWithRetry(ctx); err != nil {
			return BranchResult{}, err
		}
	}
}

// errMoved says that the branch has moved since it was fetched.
var errMoved = errors.New("the branch has moved")

// retry waits after errMoved and reports whether to retry. Pauses grow and are
// random, so that concurrent pushes do not collide again.
func (a *attempt) retry(ctx context.Context, err error) bool {
	if !errors.Is(err, errMoved) || a.count >= maxAttempts {
		return false
	}
	a.count++
	pause := min(100*time.Millisecond<<min(a.count, 10), 5*time.Second)
	return par.Pause(ctx, pause/2+rand.N(pause)) == nil
}

// moved returns the fault of a branch that keeps moving.
func (a *attempt) moved(because error) error {
	return &diag.Diag{
		Code: diag.CodeConcurrentExport,
		Msg:  fmt.Sprintf("%s: the branch %s keeps moving", a.Name, a.Branch),
		Hint: "run the command again when other exports have ended", Cause: errors.Join(errMoved, because),
	}
}

// refused returns the fault of a push that the server rejects, with the
// server's reason.
func (a *attempt) refused(err error) error {
	failed := git.Failed(err)
	if failed == nil {
		return err
	}
	var said []string
	for line := range strings.Lines(failed.Text) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "remote:"); ok {
			if text = strings.TrimSpace(text); text != "" {
				said = append(said, text)
			}
		}
	}
	if _, reason, ok := strings.Cut(failed.Text, "[remote rejected]"); ok && said == nil {
		reason, _, _ = strings.Cut(reason, "\n")
		if at := strings.LastIndexByte(reason, '('); at >= 0 {
			said = []string{strings.Trim(reason[at:], "() ")}
		}
	}
	_, unpack, unpackFailed := strings.Cut(failed.Text, "remote unpack failed: ")
	if unpack, _, _ = strings.Cut(unpack, "\n"); unpackFailed && slices.Equal(said, []string{"unpacker error"}) {
		said = []string{unpack}
	}
	if said == nil {
		return a.fault(err)
	}
	hint := "ask for permission to push to it"
	if a.Onto == "" && !a.Exclusive && !a.Detached {
		hint += ", or push to branches for pull requests with --pr-branch"
	}
	switch {
	case failed.IsFullDisk():
		hint = "free disk space on the machine that has the repository"
	case unpackFailed:
		hint = "look at the server that has the repository: its disk may be full or read-only, or it limits the size of a push"
	case strings.Contains(failed.Text, "update checked out branch"):
		hint = "push to a bare repository, or to a branch that is not checked out there"
	}
	return &diag.Diag{
		Code: diag.CodePushRefused,
		Msg:  fmt.Sprintf("%s rejects the push to %s: %s", a.Name, a.Branch, diag.Line(strings.Join(said, " "), diag.MaxText)),
		Hint: hint, Cause: err,
	}
}

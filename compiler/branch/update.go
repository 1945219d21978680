package branch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/git"
)

// An Update is what one branch gets.
type Update struct {
	Branch string // that gets a commit; it is made when it is not there
	Onto   string // the branch that it is to be merged into, and whose tip it starts anew from; empty when it goes on itself
	Path   string // directory in the repository, slash-separated; its top when empty

	// Without are directories below Path that Write neither reads nor changes: dir
	// does not have them, and their files are not fetched.
	Without Without

	// Write changes files below dir, which is Path as it is in a commit. It is
	// called again when others have changed what it changed.
	Write func(ctx context.Context, dir string) (Change, error)
}

// A Change is what was written into a directory.
type Change struct {
	Files       []string // that were added, changed or removed, slash-separated and below the directory
	Message     string   // of the commit
	Directories []string // of whose trees the result tells, slash-separated and below the directory
}

// A State says what became of a branch.
type State string

// The states.
const (
	Unchanged State = "unchanged" // it has the content already, and nothing was pushed
	Committed State = "committed" // it got a commit
	Created   State = "created"   // it was made from the default branch, which has the content already
	Stale     State = "stale"     // what it is to be merged into has the content already; it was left as it is
)

// A Result is what became of a branch.
type Result struct {
	Branch string
	State  State
	Commit string // the tip of the branch; of a stale one that of the other branch; empty when there is or would be none yet

	// Trees are the object IDs of directories as they were written. What others
	// changed in them at the same time is not in it.
	Trees map[string]string
}

// Push updates branches, each in one step, and returns what became of them in
// their order. Nothing is pushed before all of them are written. With check,
// nothing is pushed at all, and the results are what they would be.
//
// A branch that is not there starts from the default branch, and without any
// history where there is none.
//
// The error is [ErrOther] when a directory that an update leaves alone is not what
// that says. Others are faults: of the repository, which may refuse, of git without a
// name or a key to sign with, and of a branch that others never leave alone. They
// may leave some branches updated, those of the results.
func (r *Remote) Push(ctx context.Context, check bool, updates ...Update) ([]Result, error) {
	for _, u := range updates {
		if err := r.check(ctx, u); err != nil {
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
		attempts[i] = &attempt{Remote: r, Update: u}
		if err := attempts[i].untilReady(ctx); err != nil {
			return nil, err
		}
	}
	var results []Result
	for _, a := range attempts {
		result, err := a.finish(ctx, check)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

// check returns a fault when an update cannot be.
func (r *Remote) check(ctx context.Context, u Update) error {
	if err := r.checkBranch(ctx, u.Branch); err != nil {
		return err
	}
	if u.Onto != "" {
		if err := r.checkBranch(ctx, u.Onto); err != nil {
			return err
		}
	}
	if u.Onto == u.Branch {
		return &diag.Diag{Msg: "the branch " + u.Branch + " cannot be merged into itself", Hint: "name another one with --pr-branch"}
	}
	return checkPath(u.Path)
}

// identity returns a fault when git does not know whose commits it makes.
func (r *Remote) identity(ctx context.Context) error {
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		if _, err := r.run(ctx, "var", who); git.Failed(err) != nil {
			return &diag.Diag{
				Msg:  "git does not know who makes the commit",
				Hint: "run git config --global user.name NAME and git config --global user.email ADDRESS", Cause: err,
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// maxAttempts is how often a branch may move while somebody pushes to it. With
// the pauses, that is about a minute.
const maxAttempts = 20

// untilReady reads the branches and writes the tree; again when one of them is
// deleted in between.
func (a *attempt) untilReady(ctx context.Context) error {
	for {
		err := a.ready(ctx)
		if !a.again(ctx, err) {
			return err
		}
	}
}

// finish commits and pushes until the repository has the tree.
func (a *attempt) finish(ctx context.Context, check bool) (Result, error) {
	for {
		result, err := a.push(ctx, check)
		if !a.again(ctx, err) {
			return result, err
		}
		if err := a.untilReady(ctx); err != nil {
			return Result{}, err
		}
	}
}

// errMoved says that a branch is not where it was.
var errMoved = errors.New("the branch has moved")

// again reports whether to try again after an error, having waited: longer from
// time to time, and not as long as others who wait too.
func (a *attempt) again(ctx context.Context, err error) bool {
	if !errors.Is(err, errMoved) || a.count >= maxAttempts {
		return false
	}
	a.count++
	pause := min(100*time.Millisecond<<min(a.count, 10), 5*time.Second)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause/2 + rand.N(pause)):
		return true
	}
}

// moved is the fault of a branch that has moved, or an error as it is.
func (a *attempt) moved(because error) error {
	return &diag.Diag{
		Msg:  fmt.Sprintf("%s: the branch %s moves all the time", a.Name, a.Branch),
		Hint: "run the command again when others have ended", Cause: errors.Join(errMoved, because),
	}
}

// refused is the fault of a push that the repository does not take.
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
	if said == nil {
		return a.fault(err)
	}
	return &diag.Diag{
		Msg:  fmt.Sprintf("%s refuses the push to %s: %s", a.Name, a.Branch, diag.Visible(strings.Join(said, " "), diag.MaxText)),
		Hint: "ask for the right to push there, or push to branches for pull requests with --pr-branch", Cause: err,
	}
}

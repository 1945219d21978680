// Package apply makes a cluster run its bundle: it plans what has to happen,
// and does it, stage by stage and, in a stage, level by level.
//
//   - [Target.Plan] reads the cluster and has it try out every object without
//     storing it. It writes nothing.
//   - [Target.Run] takes the cluster's lease, plans again, records what it is
//     about to do, applies the stages, waits for each, prunes and records the
//     end. The actions of a stage are done with it, and undone when it fails.
//
// What is recorded is the [Inventory], which lives in the cluster. It is
// written before the first change with what was there and what is to come, so
// that an apply that ends at any moment forgets nothing; the next one goes on.
// Only what the inventory has is ever deleted. With its end, a run that was of the
// whole bundle makes that a [Revision], which [ReadBundle] reads again.
//
// The package compiles nothing, compares no fields for people and prints
// nothing.
package apply

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/actions"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// A Target is a cluster that is to run a bundle.
type Target struct {
	Fleet  string // the CUE module
	Bundle *fleet.Bundle
	Charts map[string]*fleet.Chart // of the releases that Helm delivers
	Live   *live.Cluster
	Origin Origin
	Options
}

// An Origin says where a bundle comes from.
type Origin struct {
	Commit   string // of the fleet's files; empty when it is not known
	Dirty    bool   // whether the files were not all as they are in the commit
	Rollback int    // the revision of the cluster that has the bundle; 0 for one that was compiled
}

// Options say how. The zero value is ready for use.
type Options struct {
	Stages   []string // those to apply; all when empty
	Releases []string // those to apply; all when empty

	Force      Force    // whose fields to take, when others have them
	Adopt      bool     // take over objects that other tools made, with the fields of those that apply whole objects
	AdoptFrom  []string // take over the fields of the managers of these names, also objects that Adopt refuses
	Strict     bool     // take over the fields that people have set by hand in objects that fleetc applied
	PruneLimit int      // how many objects may be deleted; 0 for a fifth of them or ten, whichever is more

	AdoptForget bool // remove the records of Helm releases whose objects are all applied by fleetc

	Destroy bool // prune all that the inventory has of the releases; the bundle is empty

	PruneProtected []schema.GroupKind // of namespaces, CRDs and volumes, the kinds that may be deleted as well

	Timeout time.Duration // of the wait for a stage; 0 for five minutes

	LockTimeout time.Duration // of the wait for another apply to release the lease of the cluster

	Holder string // who applies, for others to see
	By     string // who applies, for the history
	Tool   string // the version of fleetc, for the history
	Exact  bool   // do what was planned, and nothing when something moved since

	Actions actions.Options // what may be done besides
}

// An Action is what happens to an object.
type Action string

// What can happen to an object. Of the last three, nothing is applied as long
// as a plan has any.
const (
	Unchanged Action = "unchanged"
	Create    Action = "create"
	Change    Action = "change"
	Replace   Action = "replace" // it is deleted and made anew, since a field cannot be changed
	Hook      Action = "hook"    // it is made anew, and waited for, as Helm does
	Prune     Action = "prune"
	Keep      Action = "keep"      // it is no longer part of the bundle and stays all the same
	Pending   Action = "pending"   // it is no longer part of the bundle and still being deleted
	Conflict  Action = "conflict"  // others have fields of it
	Immutable Action = "immutable" // a field cannot be changed
	Refused   Action = "refused"
)

// isIdle reports whether nothing is done about the object, and nothing stands against
// that.
func (a Action) isIdle() bool { return a == Unchanged || a == Keep || a == Pending }

// writes reports whether something has to be done about the object.
func (a Action) writes() bool {
	return a == Create || a == Change || a == Replace || a == Hook || a == Prune
}

// An Item is what a plan has about one object.
type Item struct {
	ID      string // kind.group namespace/name
	Release string
	Stage   string
	Action  Action
	Reason  string // why it is kept or refused, or why it could not be tried out; may be empty
	Hint    string // what to do about that; may be empty
	Owner   string // the tool that manages the object by now, so that it is kept and leaves the inventory: Flux Kustomization apps/web
	Adopts  bool   // whether it is taken over from other tools
	Found   bool   // whether it was there before fleetc applied it, so that it is not fleetc's to prune
	First   bool   // whether it could not be tried out since its namespace or CRD comes first
	Forced  bool   // whether it takes fields that others have, by --force-conflicts or as its release says

	// Before and After are the object as it is, and as it would be. Either may
	// be nil. They must not be modified.
	Before, After *unstructured.Unstructured

	Fields []live.Field // in conflict

	Cascade *Cascade // what is deleted along with it; nil when nothing can be

	Takeovers []Takeover // managers whose fields it takes over

	// Parts are what becomes of the objects of a release that Helm delivers, of
	// which the item is one, see [Item.IsHelm].
	Parts []Item

	at        []diag.Pos
	ref       live.Ref
	release   *fleet.Release
	object    *unstructured.Unstructured // as the bundle has it; nil when it has it no more
	uid       string                     // of the live object; empty when there is none
	applied   string                     // fingerprint of the object once it is applied; empty when it is not known
	completed string                     // digest of the content of a Job that is complete; empty of all else
	written   *unstructured.Unstructured // a Job as this run has written it
	hook      *hook
	helm      *helm.State // of a release that Helm delivers
	digest    string      // says what such a release is to be
	handed    bool        // whether its objects are applied now
	foreign   bool        // whether it is there, and fleetc has no part in it yet
	untried   bool        // whether a dry run was refused
	of        *Item       // the release that Helm delivers, of a part that is compared

	takeover takeover // which managers' fields it takes over
	managers []string // of the live object, beside fleetc and the control plane

	unserved bool     // whether the cluster does not serve its kind any more
	delivery delivery // how fleetc brought an object that the bundle does not have any more
}

// A Plan is what applying a bundle means for a cluster.
type Plan struct {
	Cluster string // ID
	Server  string
	UID     string          // of the cluster
	First   bool            // whether the fleet was not applied to the cluster before
	Fleets  []string        // when it is the first, the CUE modules of other fleets that were, sorted
	Bundle  string          // digest
	Current int             // revision that the cluster runs; 0 when it runs none of the history
	Items   []Item          // in the order in which they are applied; then what is pruned or kept, in the order of that
	Actions []PlannedAction // in the order in which they are done
	Missing []live.Right
	Limit   int // how many objects may be pruned

	HelmRecords []HelmRecord // of releases whose objects are adopted, or were

	NotAdopted []string // names of [Options.AdoptFrom] that no object has as a manager

	due       []string          // stages that are applied
	needed    []live.Right      // to do what the plan says; nil when that was not asked
	inventory *Inventory        // as it is
	settled   *Inventory        // as it will be
	installed map[string]bool   // releases that are there, whoever installed them
	hooks     map[string][]byte // that run on deletion and are to be written, packed, by release

	unlisted   []live.Right    // to list records of Helm, which the user does not have
	appliedIDs map[string]bool // objects that fleetc applies, see [Plan.applied]; nil unless objects are adopted

	Destroys bool // whether the target is to destroy
	Partial  bool // whether it is of some stages or releases alone

	removesRecord bool // whether nothing is left, so that the inventory is removed as well
}

// Count returns how many objects have the action.
func (p *Plan) Count(a Action) int {
	n := 0
	for _, it := range p.Items {
		if it.Action == a {
			n++
		}
	}
	return n
}

// Nothing reports whether the cluster runs the bundle already, this is on record,
// and no record of Helm is to be removed.
func (p *Plan) Nothing() bool {
	return p.IsApplied() && len(p.Missing) == 0 && !p.removesRecord && !p.forgets()
}

// IsApplied reports whether the cluster runs the bundle already, and this is on
// record.
func (p *Plan) IsApplied() bool {
	return !slices.ContainsFunc(p.Items, func(it Item) bool { return !it.Action.isIdle() }) && p.inventory.equal(p.settled)
}

// An Event is something that happened while a plan was run.
type Event struct {
	Cluster string
	Stage   string // empty when it is of none
	ID      string // of an object or an action; empty when it is about the stage or the cluster
	What    string // start, level, create, change, replace, hook, wait, ready, done, prune, pending, failed, end; of an action run, skip, undo, stand
	Text    string // more about it; may be empty
}

// A Result is what a run did.
type Result struct {
	Created, Changed, Replaced, Pruned, Hooks int

	Pending  int // objects that are to be gone, and whose deletion was not over when the run ended
	Cascaded int // objects that were deleted along with those that were pruned, as far as the plan knew them

	Done       []string                   // stages that were applied and are healthy
	NotReached []string                   // stages that were not begun
	Revision   int                        // by which the history has it; 0 when it has not
	Actions    map[string]actions.Outcome // by the IDs of those that were reached

	HelmRecords []HelmRecord // as the run left them
}

// inScope reports whether the options choose what is of a stage and a release.
func (o Options) inScope(stage, release string) bool {
	return (len(o.Stages) == 0 || slices.Contains(o.Stages, stage)) && (len(o.Releases) == 0 || slices.Contains(o.Releases, release))
}

// whole reports whether the options choose everything.
func (o Options) whole() bool { return len(o.Stages) == 0 && len(o.Releases) == 0 }

// store returns where the fleet keeps its inventory.
func (t Target) store() store { return store{t.Live, t.Fleet} }

// CheckScope returns the faults of stages and releases that the cluster does
// not have.
func (t Target) CheckScope() error {
	if t.Destroy {
		return nil // see CheckReleases of the inventory
	}
	var faults diag.List
	for _, s := range t.Options.Stages {
		if !slices.Contains(t.Bundle.Cluster.Stages, s) {
			faults.Add(&diag.Diag{Msg: "the cluster has no stage " + quote(s), Hint: diag.OneOf(s, t.Bundle.Cluster.Stages)})
		}
	}
	var names []string
	for _, r := range t.Bundle.Cluster.Releases {
		names = append(names, r.Name)
	}
	for _, r := range t.Options.Releases {
		if !slices.Contains(names, r) {
			faults.Add(&diag.Diag{Msg: "the cluster has no release " + quote(r), Hint: diag.OneOf(r, names)})
		}
	}
	return faults.Err()
}

func quote(s string) string { return `"` + diag.Visible(s, diag.MaxText) + `"` }

// atATime is how many requests a plan has under way.
const atATime = 8

// each calls f for 0 to n-1, some at a time. The first error ends it: what is
// wrong with one call of an API server is wrong with all.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next, errs := make(chan int), make(chan error)
	for range min(n, atATime) {
		go func() {
			for i := range next {
				errs <- f(ctx, i)
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range n {
			next <- i
		}
	}()
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	if first != nil && outer.Err() != nil {
		return context.Cause(outer)
	}
	return first
}

// Package apply makes a cluster run its bundle. It plans the changes, and then
// applies them stage by stage and, within a stage, level by level.
//
//   - [Target.Plan] reads the cluster and sends every object as a dry run. It
//     writes nothing.
//   - [Target.Run] takes the cluster's lease, plans again, stores the inventory,
//     applies the stages, waits for each, prunes, and stores the inventory again.
//     It runs the actions of a stage, and undoes them when the stage fails.
//
// The [Inventory] in the cluster lists the objects of the fleet. It is stored
// before the first change, with the old and the new objects, so that the next apply
// can resume after an interruption at any point. Only objects in the inventory are
// ever deleted. A successful run of the whole bundle adds a [Revision] to the
// inventory, which [Target.ReadBundle] reads.
//
// An [ActionRunner] runs the actions before and after a stage: HTTP requests, commands, Jobs
// and approvals by a user. It skips an action whose verify task succeeds already, so that an
// interrupted run can be repeated, and verifies an action before the run continues. It runs
// commands only when they are allowed, follows no redirects, and puts no secrets into messages.
//
// The package does not compile, compare fields for display, or print.
//
// It is large because plan*.go, stages.go, prune.go, rollbacks and adoptions all work on
// the same target with its inventory (inventory.go, store.go).
package apply

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A Target is a cluster together with the bundle to apply to it.
type Target struct {
	Fleet  string // the CUE module
	Bundle *fleet.Bundle
	Charts map[string]*fleet.Chart // of releases with Helm delivery, by release name
	Live   *cluster.Cluster

	// Secrets are the values that replace references in the bundle, by reference. Only
	// requests to the cluster and its history contain them.
	Secrets map[string]string
	Origin  Origin

	// Drifted are the objects to restore, by ID. All others count as unchanged. The
	// cluster must run the bundle. Nil applies the whole bundle.
	Drifted map[string]bool
	Options
}

// An Origin says where a bundle comes from.
type Origin struct {
	Commit   string // of the fleet's files; empty when unknown
	Dirty    bool   // the files differ from the commit
	Rollback int    // revision that is rolled back to; 0 for a compiled bundle

	// IsBehind reports whether the history of the fleet's files does not contain a commit.
	// Nil if it is unknown.
	IsBehind func(commit string) bool
}

// Options configure a plan and its run. The zero value is ready for use.
type Options struct {
	Stages   []string // stages to apply; all when empty
	Releases []string // releases to apply; all when empty

	Force      Force    // which conflicts to win
	Adopt      bool     // adopt objects of other tools, with the fields of managers that apply whole objects
	AdoptFrom  []string // adopt the fields of these managers, even of objects that Adopt rejects
	Strict     bool     // take over fields that users have changed with interactive tools in objects that fleetc applied
	PruneLimit *int     // the most objects that may be pruned; nil for the larger of ten and a fifth of all

	AdoptForget bool // remove the records of Helm releases whose objects fleetc now applies

	Destroy bool // prune everything in the inventory, or all of Releases; the bundle is empty

	PruneProtected []schema.GroupKind // protected kinds (namespaces, CRDs and volumes) that may be pruned

	Timeout time.Duration // for a stage to become ready; 0 for five minutes

	LockTimeout time.Duration // for another apply to release the cluster's lease

	Holder string // identity in the lease, shown to other users
	By     string // identity in the history
	Tool   string // version of fleetc, for the history
	Exact  bool   // refuse to run when the plan has changed since

	Actions ActionOptions // permissions of actions
}

// An Action says what a plan does with an object.
type Action string

// A plan with a Conflict, Immutable or Refused object is not run.
const (
	Unchanged Action = "unchanged"
	Create    Action = "create"
	Change    Action = "change"
	Replace   Action = "replace" // delete and create, since a field is immutable
	Hook      Action = "hook"    // run as a Helm hook: recreate and wait
	Prune     Action = "prune"
	Keep      Action = "keep"      // not in the bundle any more, but kept
	Pending   Action = "pending"   // not in the bundle any more, and still being deleted
	Conflict  Action = "conflict"  // other managers own fields of it
	Immutable Action = "immutable" // an immutable field would change
	Refused   Action = "refused"
)

// isIdle reports whether the object needs no work and does not block the apply.
func (a Action) isIdle() bool { return a == Unchanged || a == Keep || a == Pending }

// writes reports whether the run changes the object in the cluster.
func (a Action) writes() bool {
	return a == Create || a == Change || a == Replace || a == Hook || a == Prune
}

// An Item is the plan for one object.
type Item struct {
	ID           string // kind.group namespace/name
	Release      string
	Stage        string
	Action       Action
	Reason       string // why it is kept, refused or without a dry run; may be empty
	Hint         string // how to solve that; may be empty
	Owner        string // the tool that manages the object now, so that it is kept and leaves the inventory: Flux Kustomization apps/web
	Adopts       bool   // it is adopted from other tools
	Preexisting  bool   // it existed before fleetc applied it, so that fleetc never prunes it
	WaitsForBase bool   // no dry run is possible until its namespace or CRD exists
	Forced       bool   // takes fields of other managers, by --force-conflicts or the release's ownership

	// Before and After are the object now and after the apply. Either may be nil.
	// They must not be modified.
	Before, After *unstructured.Unstructured

	Fields []cluster.Field // fields in conflict

	Cascade *Cascade // objects that the deletion of this one deletes; nil when there are none

	Takeovers []Takeover // managers whose fields fleetc takes over

	// Parts are the objects of a release that Helm delivers, if the item stands for
	// one, see [Item.IsHelm].
	Parts []Item

	positions       []diag.Pos
	ref             cluster.Ref
	release         *fleet.Release
	object          *unstructured.Unstructured // from the bundle; nil when it is not in the bundle any more
	uid             string                     // of the live object; empty when there is none
	appliedState    string                     // fingerprint of the object after the apply; empty when unknown
	completedDigest string                     // digest of the content of a complete Job; else empty
	writtenJob      *unstructured.Unstructured // a Job that this run has written
	hook            *hook
	helm            *cluster.HelmState // stored state of a release that Helm delivers
	digest          string             // cache key of such a release: its chart, values and objects
	handedOver      bool               // a release of Helm whose objects fleetc now applies itself
	hasOwnFields    bool               // fleetc still manages fields of this object, which Helm now delivers
	adopted         bool               // fleetc has taken it over from another tool, now or before
	foreign         bool               // exists, and fleetc does not own any of it yet
	noDryRun        bool               // the API server rejected the dry run
	noNamespace     bool               // refused because its namespace does not exist
	parent          *Item              // release that Helm delivers, of a part that is compared
	managedBy       string             // label [managedByLabel] of such a part in the chart

	takeover takeover // managers whose fields it takes over
	managers []string // other field managers of the live object, without the control plane

	postponed bool // it is pruned after a custom resource that still exists

	alreadyCounted bool // an earlier apply counted it for its prune limit

	unserved bool     // the cluster does not serve its kind any more
	unstored []string // versions that a CRD loses although status.storedVersions has them: there are no objects
	delivery delivery // how fleetc delivered an object that is not in the bundle any more
}

// A Plan lists what an apply of a bundle changes in a cluster.
type Plan struct {
	Cluster       string // ID
	Server        string
	UID           string
	FirstApply    bool            // the fleet was never applied to the cluster
	Fleets        []string        // on a first apply: CUE modules of other fleets in the cluster, sorted
	Bundle        string          // digest
	Current       int             // revision that the cluster runs; 0 when it runs none
	Newer         *Revision       // this revision, if the history of the fleet's files does not contain its commit
	Items         []Item          // in the order of the apply; then pruned and kept objects, in the order of pruning
	Actions       []PlannedAction // in the order in which they run
	MissingRights []cluster.Right
	PruneLimit    int // the most objects that may be pruned

	HelmRecords []HelmRecord // records of Helm releases whose objects are or were adopted

	UnusedAdoptFrom []string // names of [Options.AdoptFrom] that are not a manager of any object

	dueStages    []string        // stages to apply
	neededRights []cluster.Right // rights that the plan needs; nil when they were not determined
	inventory    *Inventory      // the stored inventory
	next         *Inventory      // the inventory after the apply
	// SecretFields are the fields beside the data of Secrets that get values of secrets,
	// by ID of the object. Comparisons must not show them.
	SecretFields map[string][][]string

	installedReleases map[string]bool   // releases that exist, by any tool
	deleteHooks       map[string][]byte // packed hooks that run on deletion and must be stored, by release
	hooksDigest       string            // of the deletion hooks that Bundle does not cover

	unlistableRecords []cluster.Right // missing rights to list records of Helm
	appliedIDs        map[string]bool // see [Plan.appliedObjects]; nil unless objects are adopted

	Destroys bool // it destroys the bundle's objects
	Partial  bool // it covers only some stages or releases

	removesRecord bool // nothing is left, so that the inventory is removed as well
}

// Count returns the number of objects with the action.
func (p *Plan) Count(a Action) int {
	n := 0
	for _, it := range p.Items {
		if it.Action == a {
			n++
		}
	}
	return n
}

// Kept returns the number of objects that are not in the bundle any more and stay in the
// inventory, with those of Helm releases.
func (p *Plan) Kept() int {
	return len(diag.Filter(withParts(p.Items), func(it *Item) bool { return it.Action == Keep && it.Owner == "" }))
}

// IsUpToDate reports whether the cluster runs the bundle, the inventory says so,
// and no record of Helm needs to be removed.
func (p *Plan) IsUpToDate() bool {
	return p.IsApplied() && len(p.MissingRights) == 0 && !p.removesRecord && !p.removesHelmRecords()
}

// IsApplied reports whether the cluster runs the bundle and the inventory says so.
func (p *Plan) IsApplied() bool {
	return !slices.ContainsFunc(p.Items, func(it Item) bool { return !it.Action.isIdle() }) && p.inventory.equal(p.next)
}

// An Event reports progress of a run.
type Event struct {
	Cluster string
	Stage   string // empty when it concerns no stage
	ID      string // of an object or an action; empty when it concerns the stage or the cluster
	What    string // start, level, create, change, replace, hook, wait, ready, done, prune, pending, failed, end; of an action run, skip, undo, stand
	Text    string // details; may be empty
}

// A Result is the outcome of a run.
type Result struct {
	Created, Changed, Replaced, Pruned, Hooks int

	Pending  int // pruned objects whose deletion was not complete at the end of the run
	Cascaded int // objects deleted in the planned cascades

	UpToDate bool // nothing was written: another apply has brought the bundle since the plan

	Done       []string                 // stages that are applied and healthy
	NotReached []string                 // stages that have not started
	Revision   int                      // number in the history; 0 when there is none
	Actions    map[string]ActionOutcome // by ID of the actions that were reached

	HelmRecords []HelmRecord // after the run
}

// inScope reports whether the options select the stage and the release.
func (o Options) inScope(stage, release string) bool {
	return (len(o.Stages) == 0 || slices.Contains(o.Stages, stage)) && (len(o.Releases) == 0 || slices.Contains(o.Releases, release))
}

// whole reports whether the options select everything.
func (o Options) whole() bool { return len(o.Stages) == 0 && len(o.Releases) == 0 }

// bundleIDs returns the IDs of the objects of the bundle.
func (t Target) bundleIDs() map[string]bool {
	ids := make(map[string]bool, len(t.Bundle.Objects))
	for _, o := range t.Bundle.Objects {
		ids[o.ID()] = true
	}
	return ids
}

func (t Target) store() store { return store{t.Live, t.Fleet} }

// CheckScope returns a fault for each selected stage and release that the cluster
// does not have.
func (t Target) CheckScope() error {
	if t.Destroy {
		return nil // see CheckReleases of the inventory
	}
	var faults diag.List
	for _, s := range t.Options.Stages {
		if !slices.Contains(t.Bundle.Cluster.Stages, s) {
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "the cluster has no stage " + quote(s), Hint: diag.OneOf(s, t.Bundle.Cluster.Stages)})
		}
	}
	names := diag.Each(t.Bundle.Cluster.Releases, func(r *fleet.Release) string { return r.Name })
	for _, r := range t.Options.Releases {
		if !slices.Contains(names, r) {
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "the cluster has no release " + quote(r), Hint: fleet.ReleaseHint(r, names)})
		}
	}
	return faults.Err()
}

func quote(s string) string { return `"` + diag.Visible(s, diag.MaxText) + `"` }

// maxConcurrent is the number of concurrent requests of a plan.
const maxConcurrent = 8

// forEach calls f for 0 to n-1, some concurrently. The first error cancels the
// rest: an error of one call to an API server usually holds for all.
func forEach(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	return par.ForEach(ctx, maxConcurrent, n, f)
}

// collect is [forEach] with results, which it joins in order.
func collect[T any](ctx context.Context, n int, f func(ctx context.Context, i int) ([]T, error)) ([]T, error) {
	found := make([][]T, n)
	err := forEach(ctx, n, func(ctx context.Context, i int) (err error) {
		found[i], err = f(ctx, i)
		return err
	})
	return slices.Concat(found...), err
}

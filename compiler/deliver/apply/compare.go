package apply

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A Finding is the result of comparing an object.
type Finding string

const (
	Same       Finding = "same"
	Missing    Finding = "missing"
	Changed    Finding = "changed"
	Orphaned   Finding = "orphaned" // applied earlier, and not in the bundle any more
	InConflict Finding = "conflict" // another tool made it, or other managers own fields with different values
	Unknown    Finding = "unknown"  // it could not be read
)

// An ObjectDiff compares a live object with the object in the bundle.
type ObjectDiff struct {
	ID           string
	Release      string
	Finding      Finding
	Simulated    bool   // After was simulated, without a dry run
	Why          string // details of the finding; may be empty
	ByHelm       bool   // only the next upgrade of its Helm release changes it back
	SimulatedWhy string // why there was no dry run

	// Before and After are the object now and after an apply. Either may be nil;
	// both are nil when they are equal. They must not be modified.
	Before, After *unstructured.Unstructured

	Fields []cluster.Field // fields of other managers

	Health kube.HealthVerdict // of the live object, set by [Target.Drift]; zero without an object
}

// A Comparison compares a cluster with its bundle.
type Comparison struct {
	Objects  []ObjectDiff // objects of the bundle that are in scope, without hooks; then those that are not in the bundle any more
	Releases []string     // names of the releases in the inventory, sorted

	// SecretFields are the fields with values of secrets, as in [Plan].
	SecretFields map[string][][]string

	Inventory *Inventory // nil when there is none, or when it cannot be read

	// ByGitOps is whether Flux or Argo CD apply objects from an export of the cluster.
	ByGitOps bool
}

// Compare compares the cluster with the bundle. It writes nothing and needs only
// the right to read: for objects without a dry run, it simulates the apply. Objects
// that the user is not allowed to read are Unknown.
//
// Hooks are left out, as are objects that an earlier apply removed from the bundle
// and kept.
func (t Target) Compare(ctx context.Context) (*Comparison, error) { return t.compare(ctx, nil) }

// compare is Compare, or [Target.Drift] when there are rules for health.
func (t Target) compare(ctx context.Context, rules *kube.HealthRules) (*Comparison, error) {
	inventory, err := ReadInventory(ctx, t.Live, t.Fleet, t.Bundle.Cluster.ID)
	var out Comparison
	blind := cluster.ReasonOf(err) == cluster.Forbidden
	if blind {
		out.Objects = append(out.Objects, ObjectDiff{
			ID: idOf(headRef(t.Fleet)), Finding: Unknown, Why: notAllowedTo + listRights([]cluster.Right{{Verb: "get", Resource: "secrets", Namespace: Namespace}}),
		})
		err = nil
	}
	if err != nil {
		return nil, err
	}
	out.Inventory = inventory
	p := t.planner(inventory)
	if err := p.takeOverFromHelm(ctx); err != nil && cluster.ReasonOf(err) != cluster.Forbidden {
		return nil, err
	}
	c := &comparer{planner: p, inventoryUnreadable: blind, rules: rules}
	p.collectItems()
	p.bundleCRDs, p.bundleNamespaces = nil, nil // existing objects have no prerequisites
	inBundle := p.bundleIDs()
	if rules != nil { // for drift
		p.openReader(nil, func(id string) bool { return inBundle[id] })
	}
	orphaned, err := c.expandHelm(ctx)
	if err != nil {
		return nil, err
	}
	compared, err := c.all(ctx)
	if err != nil {
		return nil, err
	}
	removed, err := c.orphans(ctx)
	out.Objects = slices.Concat(compared, orphaned, removed, out.Objects)
	for _, e := range p.inventory.Objects {
		out.Releases = append(out.Releases, e.Release)
	}
	slices.Sort(out.Releases)
	out.Releases = slices.Compact(out.Releases)
	out.SecretFields, out.ByGitOps = p.allSecretFields(), c.byGitOps.Load()
	return &out, err
}

// A comparer compares a cluster with its bundle.
type comparer struct {
	*planner
	inventoryUnreadable bool // so that isForeign cannot tell

	byGitOps    atomic.Bool       // see [Comparison]
	rules       *kube.HealthRules // of [Target.Drift]; nil otherwise
	rights      par.ResultMemo[cluster.Right, bool]
	patchRights par.ResultMemo[string, func(group, resource string) bool] // by namespace
}

// all compares the objects of the bundle, grouped by kind to need few requests.
func (c *comparer) all(ctx context.Context) ([]ObjectDiff, error) {
	type group struct {
		schema.GroupVersionKind
		namespace string
	}
	var groups []group
	places := map[group][]int{}
	for i, it := range c.items {
		g := group{it.ref.GroupVersionKind, it.ref.Namespace}
		if places[g] == nil {
			groups = append(groups, g)
		}
		places[g] = append(places[g], i)
	}
	out, found := make([]ObjectDiff, len(c.items)), make([]*unstructured.Unstructured, len(c.items))
	err := forEach(ctx, len(groups), func(ctx context.Context, i int) error {
		in := places[groups[i]]
		names := make([]string, len(in))
		for j, place := range in {
			it := &c.items[place]
			out[place] = ObjectDiff{ID: it.ID, Release: it.Release, Finding: Missing, After: it.object}
			names[j] = it.ref.Name
		}
		current, finding, why, err := c.read(ctx, groups[i].GroupVersionKind, groups[i].namespace, names)
		for _, place := range in {
			if found[place] = current[c.items[place].ref.Name]; finding != "" {
				out[place].Finding, out[place].Why = finding, why
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.judge(found, out)
	return out, forEach(ctx, len(out), func(ctx context.Context, i int) error {
		if found[i] == nil {
			if c.completedBefore(&c.items[i], nil) {
				out[i].Finding, out[i].After = Same, nil
			}
			return nil
		}
		current := found[i]
		found[i] = nil // frees objects without a difference
		return c.compare(ctx, &c.items[i], current, &out[i])
	})
}

// read reads objects of one kind. A non-empty finding holds for all of them.
func (c *comparer) read(ctx context.Context, gvk schema.GroupVersionKind, namespace string, names []string) (map[string]*unstructured.Unstructured, Finding, string, error) {
	ref, served, err := servedRef(ctx, c.Live, cluster.Ref{GroupVersionKind: gvk})
	var r cluster.Resource
	if err == nil {
		r, served, err = c.Live.Resource(ctx, ref.GroupVersionKind) // possibly of another version
	}
	switch {
	case cluster.ReasonOf(err) != "":
		return nil, Unknown, err.Error(), nil
	case err != nil:
		return nil, "", "", err
	case !served:
		return nil, Missing, "the cluster does not serve " + gvk.GroupVersion().String() + " " + gvk.Kind, nil
	case !r.Namespaced:
		namespace = ""
	}
	gvk = ref.GroupVersionKind
	current, err := c.objects(ctx, gvk, namespace, names)
	switch cluster.ReasonOf(err) {
	case cluster.Forbidden:
		return nil, Unknown, notAllowedTo + listRights([]cluster.Right{{Verb: "get", Group: r.Group, Resource: r.Resource, Namespace: namespace}}), nil
	case "":
		return current, "", "", err
	}
	return nil, Unknown, err.Error(), nil
}

// compare compares one existing object.
func (c *comparer) compare(ctx context.Context, it *Item, current *unstructured.Unstructured, out *ObjectDiff) error {
	out.Before = current
	if isBeingDeleted(current) {
		out.Before, out.Why = nil, "the existing object is being deleted"
		return nil
	}
	it.uid = string(current.GetUID())
	it.takeover = c.takeover(it, false)
	by := c.deliverer(it, current)
	if by != nil {
		it.takeover = it.deliveredBy(by, current)
	}
	isDelivered := by != nil || c.asHelmRelease(it, current)
	if isDelivered {
		c.byGitOps.Store(true)
	}
	it.Adopts = c.handedOver[it.ID] || len(it.formerManagers(current)) > 0
	if c.isKnownUnchanged(it, current) {
		out.Finding, out.Before, out.After = Same, nil, nil
		return nil
	}
	after, err := c.afterApply(ctx, it, current, out)
	if err != nil {
		return err
	}
	if after == nil {
		out.Finding = InConflict
		return nil
	}
	out.Before, out.After = it.withoutLeftFields(out.Before, after)
	out.Finding = Changed
	if reflect.DeepEqual(content(out.Before), content(out.After)) {
		out.Finding, out.Before, out.After = Same, nil, nil
	}
	if up := it.parent; up != nil && out.Finding == Changed && up.digest != "" && up.isUpToDate() {
		out.Why, out.ByHelm = "Helm changes it back at the next upgrade of the release", true
	}
	if !c.inventoryUnreadable && !isDelivered && c.isForeign(it, current) && (it.parent == nil || !isPartOf(current, it.parent.ref)) {
		out.Finding, out.Why = InConflict, c.ownerOf(current)+" created it"
	} else if len(out.Fields) > 0 {
		out.Finding = InConflict
	}
	return nil
}

const noPatchRight = notAllowedTo + "patch them"

// afterApply returns the object after an apply, by a dry run if possible.
func (c *comparer) afterApply(ctx context.Context, it *Item, current *unstructured.Unstructured, out *ObjectDiff) (*unstructured.Unstructured, error) {
	may := false
	if c.rules == nil {
		var err error
		if may, err = c.mayPatch(ctx, it.ref); err != nil {
			return nil, err
		}
	}
	if it.parent != nil {
		return c.afterHelm(ctx, it, current, out, may)
	}
	why := noPatchRight
	switch {
	case !may:
	case current.GroupVersionKind() != it.ref.GroupVersionKind:
		why = "the cluster does not serve them in the version of the bundle"
	default:
		it.Before = current
		if err := c.dryRun(ctx, it, current); err != nil {
			return nil, err
		}
		why = "the API server refuses to apply them"
		switch {
		case it.noDryRun && it.Action == Unchanged:
			why = webhookUnavailable
		case it.noDryRun && it.Action == Change:
			why = cmp.Or(it.Reason, noPatchRight)
		case it.noDryRun:
			out.Why = it.Reason
		case it.Action == Unchanged:
			return current, nil
		case it.After != nil: // nil if it is in conflict and refused for another reason
			if out.Before = it.Before; it.Action == Conflict {
				out.Fields = it.Fields
			}
			return it.After, nil
		}
	}
	s, err := c.simulate(ctx, it, current)
	if err != nil {
		return nil, err
	}
	out.Simulated, out.SimulatedWhy, out.Before, out.Fields = true, why+s.caveat, s.before, s.conflicts
	return s.after, nil
}

// mayPatch reports whether the user may apply an existing object; a dry run needs
// the same right. For most users, one request per namespace answers this.
func (c *comparer) mayPatch(ctx context.Context, ref cluster.Ref) (bool, error) {
	r, served, err := c.Live.Resource(ctx, ref.GroupVersionKind)
	if err != nil || !served {
		return !served, err // served in another version
	}
	patch := cluster.Right{Verb: "patch", Group: r.Group, Resource: r.Resource}
	if r.Namespaced {
		patch.Namespace = ref.Namespace
	}
	ask := func(right cluster.Right) (bool, error) {
		return c.rights.Get(right, func() (bool, error) { return c.Live.May(ctx, right) })
	}
	if all, err := ask(cluster.Right{}); all || err != nil {
		return all, err
	}
	namespace := cmp.Or(patch.Namespace, Namespace)
	mayHave, err := c.patchRights.Get(namespace, func() (func(group, resource string) bool, error) {
		return c.Live.MayHave(ctx, patch.Verb, namespace)
	})
	if err != nil || !mayHave(r.Group, r.Resource) {
		return false, err
	}
	return ask(patch)
}

// orphans returns the objects in the inventory that are not in the bundle any more,
// except objects that an apply keeps or another tool owns.
func (c *comparer) orphans(ctx context.Context) ([]ObjectDiff, error) {
	items, err := c.planPrune(ctx)
	if err != nil {
		return nil, err
	}
	var out []ObjectDiff
	for _, it := range items {
		parts := orphanedParts(it.Parts)
		switch {
		case it.handedOver: // its objects are compared instead
		case it.Owner != "":
		case len(parts) > 0:
			out = append(out, parts...)
		case it.Action == Refused:
			out = append(out, ObjectDiff{ID: it.ID, Release: it.Release, Finding: Unknown, Why: it.Reason})
		case !c.recorded[it.ID].Kept && !it.unserved:
			out = append(out, ObjectDiff{ID: it.ID, Release: it.Release, Finding: Orphaned, Before: it.Before, Why: it.Reason})
		}
	}
	return out, nil
}

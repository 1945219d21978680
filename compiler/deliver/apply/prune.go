package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// planPrune plans the objects in scope that are in the inventory and not in the
// bundle any more, in the order of pruning, which is the reverse of the order of
// applying. It leaves out objects that do not exist.
func (p *planner) planPrune(ctx context.Context) ([]Item, error) {
	inBundle, uids := p.bundleIDs(), map[string]bool{}
	for _, r := range p.Bundle.Cluster.Releases {
		inBundle[idOf(helmRefOf(r))] = r.Delivery == fleet.ByHelm
	}
	for _, it := range p.items {
		uids[it.uid] = true
	}
	var items []Item
	for _, e := range slices.Backward(p.inventory.Objects) {
		if !inBundle[e.id()] && p.inScope(e.Stage, e.Release) {
			items = append(items, Item{ID: e.id(), Release: e.Release, Stage: e.Stage, ref: e.ref()})
		}
	}
	err := forEach(ctx, len(items), func(ctx context.Context, i int) error {
		it := &items[i]
		if it.IsHelm() {
			return p.planHelmPrune(ctx, it)
		}
		if served, err := p.servedAs(ctx, it); err != nil || !served {
			return err
		}
		current, err := p.object(ctx, it.ref)
		if cluster.ReasonOf(err) == cluster.Forbidden {
			it.refuse(notAllowedTo+"read the object to prune: "+err.Error(), cluster.RightsHint)
			return nil
		}
		if err != nil || current == nil {
			return err
		}
		it.Action, it.Reason = p.pruneRecorded(it, current)
		owner, err := p.newOwner(ctx, it, current)
		if err != nil {
			return err
		}
		if owner != "" {
			it.leaveTo(owner)
		}
		// The API may serve one object in two groups, an old and a new one.
		if uid := string(current.GetUID()); !uids[uid] && p.isRecorded(it.ID, current) {
			it.Before, it.uid = current, uid
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ofHelm := partUIDs(items)
	items = slices.DeleteFunc(items, func(it Item) bool {
		return ofHelm[it.uid] || it.uid == "" && it.Action != Refused && it.Before == nil && !it.unserved
	})
	p.keepContainers(items)
	p.sortPruned(items)
	return items, nil
}

// partUIDs returns the UIDs of the existing objects that go or stay with their Helm release.
func partUIDs(items []Item) map[string]bool {
	uids := map[string]bool{}
	for _, it := range items {
		for _, part := range it.Parts {
			if part.uid != "" {
				uids[part.uid] = true
			}
		}
	}
	return uids
}

// pruneRecorded returns whether an object of the inventory is pruned or kept, and why it
// is kept.
func (p *planner) pruneRecorded(it *Item, current *unstructured.Unstructured) (Action, string) {
	known := p.recorded[it.ID]
	if known.Preexisting {
		return Keep, "it existed before fleetc applied it"
	}
	if known.Adopted && (known.Kept || p.Origin.Rollback > 0) { // kept by this rollback, or by an earlier one
		return Keep, "it existed before fleetc took it over"
	}
	if p.Drifted != nil {
		return Keep, "--fix does not prune"
	}
	return p.pruneOrKeep(it.kind(), current)
}

// servedAs finds a version in which the cluster serves an object of the inventory;
// it may differ from the applied version. An object that is not served any more
// cannot be read and stays in the inventory.
func (p *planner) servedAs(ctx context.Context, it *Item) (bool, error) {
	ref, served, err := servedRef(ctx, p.Live, it.ref)
	if err != nil || served || ref != it.ref {
		it.ref = ref
		return err == nil, err
	}
	it.Action, it.Reason, it.unserved = Keep, "the cluster does not serve its kind", true
	return false, nil
}

// sortPruned sorts pruned objects into the reverse order of stages. Custom
// resources come first: their operators must still run to clean up after them.
func (p *planner) sortPruned(items []Item) {
	rank := func(it Item) int {
		stages := p.Bundle.Cluster.Stages
		i := slices.Index(stages, it.Stage)
		if i < 0 {
			i = len(stages) // a removed stage counts as the last one
		}
		if it.isCustom() {
			i += len(stages) + 1
		}
		return i
	}
	slices.SortStableFunc(items, func(a, b Item) int { return rank(b) - rank(a) })
}

// isCustom reports whether the object is a custom resource. A Helm release is not:
// it may be an operator.
func (it *Item) isCustom() bool { return !it.isBase() && !it.IsHelm() && !kube.HasKind(it.kind()) }

// keepContainers keeps the namespaces and CRDs of objects that stay, which would be
// deleted with them.
func (p *planner) keepContainers(items []Item) {
	spaces, kinds := map[string]string{}, map[schema.GroupKind]string{}
	stays := func(namespace string, gk schema.GroupKind, id string) { spaces[namespace], kinds[gk] = id, id }
	present, pruned := map[string]bool{}, map[string]bool{}
	for _, it := range items {
		present[it.ID], pruned[it.ID] = true, it.Action == Prune
	}
	for _, e := range p.inventory.Objects {
		// An interrupted run has deleted those that are no longer there.
		if !pruned[e.id()] && (present[e.id()] || !p.inScope(e.Stage, e.Release)) {
			stays(e.Namespace, schema.GroupKind{Group: e.Group, Kind: e.Kind}, e.id())
		}
	}
	for _, o := range p.Bundle.Objects {
		stays(o.GetNamespace(), o.GroupVersionKind().GroupKind(), o.ID())
	}
	for _, it := range slices.Concat(p.items, items) {
		for _, part := range it.Parts {
			if part.Action == Keep {
				stays(part.ref.Namespace, part.kind(), part.ID)
			}
		}
	}
	for i := range items {
		it := &items[i]
		if it.Action != Prune || !it.isBase() {
			continue
		}
		held := ""
		if it.ref.Kind == "Namespace" {
			held = spaces[it.ref.Name]
		}
		for _, gvk := range fleet.ServedKinds(it.Before) {
			held = cmp.Or(held, kinds[gvk.GroupKind()])
		}
		if held != "" {
			it.Action, it.Reason = Keep, "it contains "+held+", which is kept"
		}
	}
}

// isRecorded reports whether the object is the one in the inventory, and not a
// later one of the same name.
func (p *planner) isRecorded(id string, current *unstructured.Unstructured) bool {
	if uid := p.recorded[id].UID; uid != "" {
		return uid == string(current.GetUID())
	}
	// An apply ended before it could record the UID.
	return ownFields(current) != nil
}

// pruneOrKeep returns whether an object that is not in the bundle any more is
// pruned or kept, and why it is kept.
func (o Options) pruneOrKeep(gk schema.GroupKind, current *unstructured.Unstructured) (Action, string) {
	kept := fleet.KeepAnnotation(current)
	switch {
	case gk == schema.GroupKind{Kind: "Namespace"} && current.GetName() == Namespace:
		return Keep, "it contains the inventory"
	case kept != "":
		return Keep, kept
	case fleet.IsProtected(gk) && !slices.Contains(o.PruneProtected, gk):
		return Keep, "a " + gk.Kind + " is pruned only with --prune-protected"
	}
	return Prune, ""
}

// prune deletes the objects that are not in the bundle any more. It waits for
// custom resources to be deleted first, because their operators may be pruned as
// well.
func (r *runner) prune(ctx context.Context) error {
	if err := r.runDeleteHooks(ctx, func(h *hook) bool { return h.pre }); err != nil {
		return err
	}
	var custom, rest []*Item
	for i := range r.plan.Items {
		it := &r.plan.Items[i]
		switch {
		case it.Action != Prune:
		case it.isCustom():
			custom = append(custom, it)
		default:
			rest = append(rest, it)
		}
	}
	all, err := r.pruneAll(ctx, custom)
	if err != nil {
		return err
	}
	if !all {
		i := slices.IndexFunc(custom, func(it *Item) bool { return it.Action == Pending })
		for _, it := range postponePrune(r.plan.Items, custom[i].ID) {
			r.reportPending(it)
		}
		return nil
	}
	if _, err := r.pruneAll(ctx, rest); err != nil {
		return err
	}
	return r.runDeleteHooks(ctx, func(h *hook) bool { return h.post })
}

// pruneAll deletes objects in order, those of one kind and release concurrently,
// and returns whether all are deleted.
func (r *runner) pruneAll(ctx context.Context, items []*Item) (all bool, err error) {
	for rest := items; len(rest) > 0; {
		if rest[0].IsHelm() {
			if err := r.pruneHelm(ctx, rest[0]); err != nil {
				return false, err
			}
			rest = rest[1:]
			continue
		}
		n := pruneBatch(rest)
		if err := doAll(ctx, rest[:n], r.pruneOne, r.recordPruned); err != nil {
			return false, err
		}
		rest = rest[n:]
	}
	return r.finishPrune(ctx, items)
}

// pruneBatch returns how many of the first items can be deleted concurrently.
// Releases may depend on each other. Objects with a cascade are deleted one by one,
// so that each cascade is compared with the plan.
func pruneBatch(items []*Item) int {
	n := sameKindPrefix(items)
	for i, it := range items[:n] {
		if i > 0 && it.Release != items[0].Release || it.Cascade != nil {
			return max(i, 1)
		}
	}
	return n
}

// pruneOne deletes an object and returns whether it stays: another tool has taken it
// since the plan, or an annotation keeps it now.
func (r *runner) pruneOne(ctx context.Context, it *Item) (stays bool, err error) {
	// This run may have changed the served versions of the CRD.
	if it.ref, _, err = servedRef(ctx, r.Live, it.ref); err != nil {
		return false, err
	}
	current, err := r.Live.Object(ctx, it.ref)
	if err != nil {
		return false, err
	}
	if current != nil && string(current.GetUID()) == it.uid {
		it.Action, it.Reason = r.pruneOrKeep(it.kind(), current)
		if owner := it.delivery.newOwner(current); owner != "" {
			it.leaveTo(owner)
		}
		if it.Action == Keep {
			return true, nil
		}
	}
	if err := r.checkCascade(ctx, it); err != nil {
		return false, err
	}
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil && cluster.ReasonOf(err) != cluster.Moved {
		return false, err
	}
	return false, nil
}

// recordPruned records that an object was deleted, or stays. An object of another tool
// leaves the inventory.
func (r *runner) recordPruned(it *Item, stays bool) {
	if stays {
		r.report(Event{Stage: it.Stage, ID: it.ID, What: "keep", Text: it.Reason})
		if it.Owner != "" {
			r.record.remove(map[string]bool{it.ID: true})
		}
		return
	}
	r.report(Event{Stage: it.Stage, ID: it.ID, What: "prune"})
	r.result.Pruned++
	r.result.Cascaded += it.Cascade.Count()
}

// AllKinds selects all protected kinds.
const AllKinds = "all"

// ParseProtected parses protected kinds on the command line: KIND, KIND.GROUP or
// all.
func ParseProtected(names []string) ([]schema.GroupKind, error) {
	var out []schema.GroupKind
	var faults diag.List
	for _, name := range names {
		found := slices.DeleteFunc(fleet.ProtectedKinds(), func(gk schema.GroupKind) bool {
			return name != AllKinds && name != "true" && name != gk.Kind && name != gk.String()
		})
		if len(found) == 0 && name != "false" {
			faults.Add(&diag.Diag{
				Code: diag.CodeFlagValue,
				Msg:  fmt.Sprintf("--prune-protected: %s is not a protected kind", quote(name)), Hint: diag.OneOf(name, ProtectedNames()),
			})
		}
		for _, gk := range found {
			if !slices.Contains(out, gk) {
				out = append(out, gk)
			}
		}
	}
	return out, faults.Err()
}

// ProtectedNames returns the kinds that [ParseProtected] accepts.
func ProtectedNames() []string {
	return diag.Each(fleet.ProtectedKinds(), func(gk schema.GroupKind) string { return gk.Kind })
}

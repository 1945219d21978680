package apply

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/kube"
	"github.com/fleetc/fleetc/compiler/live"
)

// gone returns what happens to the objects in the inventory, and in scope, that
// the bundle has no more: in the order of pruning, which is the reverse of that
// of applying. Those that are not there any more are left out.
func (p *planner) gone(ctx context.Context) ([]Item, error) {
	has, uids := map[string]bool{}, map[string]bool{}
	for _, o := range p.Bundle.Objects {
		has[o.ID()] = true
	}
	for _, r := range p.Bundle.Cluster.Releases {
		has[idOf(helmRefOf(r))] = r.Delivery == fleet.ByHelm
	}
	for _, it := range p.items {
		uids[it.uid] = true
	}
	var items []Item
	for _, e := range slices.Backward(p.inventory.Objects) {
		if !has[e.id()] && p.inScope(e.Stage, e.Release) {
			items = append(items, Item{ID: e.id(), Release: e.Release, Stage: e.Stage, ref: e.ref()})
		}
	}
	err := each(ctx, len(items), func(ctx context.Context, i int) error {
		it := &items[i]
		if it.IsHelm() {
			return p.goneHelm(ctx, it)
		}
		if served, err := p.servedAs(ctx, it); err != nil || !served {
			return err
		}
		is, err := p.object(ctx, it.ref)
		if live.ReasonOf(err) == live.Forbidden {
			it.refuse("it cannot be read, and is to be pruned: "+err.Error(), "see docs/apply.md for the rights that fleetc needs")
			return nil
		}
		if err != nil || is == nil {
			return err
		}
		it.Action, it.Reason = p.pruneOrKeep(it.kind(), is)
		if p.known[it.ID].Found {
			it.Action, it.Reason = Keep, "it was there before fleetc applied it"
		}
		owner, err := p.lostTo(ctx, it, is)
		if err != nil {
			return err
		}
		if owner != "" {
			it.leaveTo(owner)
		}
		// One object may have two names, in an old group and in a new one.
		if uid := string(is.GetUID()); !uids[uid] && p.isOurs(it.ID, is) {
			it.Before, it.uid = is, uid
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(it Item) bool { return it.uid == "" && it.Action != Refused && it.Before == nil && !it.unserved })
	p.keepHolders(items)
	p.sortGone(items)
	return items, nil
}

// servedAs finds a version in which the cluster serves the object of the
// inventory, which may be another than when it was applied. What it does not
// serve any more cannot be seen, and is not forgotten.
func (p *planner) servedAs(ctx context.Context, it *Item) (bool, error) {
	ref, served, err := servedRef(ctx, p.Live, it.ref)
	if err != nil || served || ref != it.ref {
		it.ref = ref
		return err == nil, err
	}
	it.Action, it.Reason, it.unserved = Keep, "the cluster does not serve its kind", true
	return false, nil
}

// sortGone puts what is pruned, which is in the reverse of the order in which it
// was applied, into the reverse of the order of stages. Custom resources come
// first of all: their operators are needed to undo what they stand for.
func (p *planner) sortGone(items []Item) {
	rank := func(it Item) int {
		stages := p.Bundle.Cluster.Stages
		i := slices.Index(stages, it.Stage)
		if i < 0 {
			i = len(stages) // a stage that is gone is taken for one that came last
		}
		if it.isCustom() {
			i += len(stages) + 1
		}
		return i
	}
	slices.SortStableFunc(items, func(a, b Item) int { return rank(b) - rank(a) })
}

// isCustom reports whether the object is of a kind that is not Kubernetes' own. A
// release of Helm's is none: it may be the operator of others.
func (it *Item) isCustom() bool { return !it.isBase() && !it.IsHelm() && !kube.HasKind(it.kind()) }

// keepHolders keeps the namespaces and CRDs of what stays, which would go with
// them: of what the bundle has, and of all that is not pruned.
func (p *planner) keepHolders(items []Item) {
	spaces, kinds := map[string]string{}, map[schema.GroupKind]string{}
	stays := func(namespace string, gk schema.GroupKind, id string) { spaces[namespace], kinds[gk] = id, id }
	there, pruned := map[string]bool{}, map[string]bool{} // of the items
	for _, it := range items {
		there[it.ID], pruned[it.ID] = true, it.Action == Prune
	}
	for _, e := range p.inventory.Objects {
		// An interrupted run has deleted those that are no longer there.
		if !pruned[e.id()] && (there[e.id()] || !p.inScope(e.Stage, e.Release)) {
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
		for _, gvk := range defines(it.Before) {
			held = cmp.Or(held, kinds[gvk.GroupKind()])
		}
		if held != "" {
			it.Action, it.Reason = Keep, "it has "+held+", which stays"
		}
	}
}

// isOurs reports whether the object is the one that the inventory means, and
// not another of its name that came later.
func (p *planner) isOurs(id string, is *unstructured.Unstructured) bool {
	if uid := p.known[id].UID; uid != "" {
		return uid == string(is.GetUID())
	}
	// An apply ended before it could note that it had made the object.
	return ownFields(is) != nil
}

// pruneOrKeep returns what happens to an object that the bundle has no more, and
// why it is kept.
func (o Options) pruneOrKeep(gk schema.GroupKind, is *unstructured.Unstructured) (Action, string) {
	kept := fleet.KeptBy(is)
	switch {
	case gk == schema.GroupKind{Kind: "Namespace"} && is.GetName() == Namespace:
		return Keep, "it has the inventory"
	case kept != "":
		return Keep, kept
	case fleet.IsProtected(gk) && !slices.Contains(o.PruneProtected, gk):
		return Keep, "a " + gk.Kind + " is pruned only with --prune-protected"
	}
	return Prune, ""
}

// prune deletes what the bundle has no more. Custom resources are gone before
// anything else is deleted: who undoes what they stand for may go as well.
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
		for _, it := range holdBack(r.plan.Items, custom[i].ID) {
			r.tellPending(it)
		}
		return nil
	}
	if _, err := r.pruneAll(ctx, rest); err != nil {
		return err
	}
	return r.runDeleteHooks(ctx, func(h *hook) bool { return h.post })
}

// pruneAll deletes objects in their order, those of one kind and release several at a
// time, and returns whether all of them are gone.
func (r *runner) pruneAll(ctx context.Context, items []*Item) (all bool, err error) {
	for rest := items; len(rest) > 0; {
		if rest[0].IsHelm() {
			if err := r.pruneHelm(ctx, rest[0]); err != nil {
				return false, err
			}
			rest = rest[1:]
			continue
		}
		n := firstToPrune(rest)
		if err := doAll(ctx, rest[:n], r.pruneOne, r.pruned); err != nil {
			return false, err
		}
		rest = rest[n:]
	}
	return r.finishPrune(ctx, items)
}

// firstToPrune returns how many items at the beginning can be deleted at the same time.
// Releases may depend on each other. Objects that take others with them are deleted one
// by one: what goes with each is compared with what goes with the others.
func firstToPrune(items []*Item) int {
	n := firstOfKind(items)
	for i, it := range items[:n] {
		if i > 0 && it.Release != items[0].Release || it.Cascade != nil {
			return max(i, 1)
		}
	}
	return n
}

// pruneOne deletes an object, unless another tool has taken it since the plan: the
// stages before may have taken long. It returns that tool then.
func (r *runner) pruneOne(ctx context.Context, it *Item) (owner string, err error) {
	// This run may have changed the CRD.
	if it.ref, _, err = servedRef(ctx, r.Live, it.ref); err != nil {
		return "", err
	}
	is, err := r.Live.Object(ctx, it.ref)
	if err != nil {
		return "", err
	}
	if is != nil && string(is.GetUID()) == it.uid {
		if owner := it.delivery.lostTo(is); owner != "" {
			return owner, nil
		}
	}
	if err := r.checkCascade(ctx, it); err != nil {
		return "", err
	}
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil && live.ReasonOf(err) != live.Moved {
		return "", err
	}
	return "", nil
}

// pruned notes that an object was deleted, or is kept for the tool that owns it now.
func (r *runner) pruned(it *Item, owner string) {
	if owner != "" {
		it.leaveTo(owner)
		r.tell(Event{Stage: it.Stage, ID: it.ID, What: "keep", Text: it.Reason})
		r.record.remove(map[string]bool{it.ID: true})
		return
	}
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: "prune"})
	r.result.Pruned++
	r.result.Cascaded += it.Cascade.Count()
}

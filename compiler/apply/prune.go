package apply

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/live"
)

// Annotations that keep an object that is no longer part of the bundle.
const (
	helmPolicy = "helm.sh/resource-policy"
	ownPolicy  = "fleetc.dev/prune"
	helmKeep   = "keep"
	ownKeep    = "never"
)

// isProtected reports whether what hangs on objects of the kind is lost with
// them.
func isProtected(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "PersistentVolume"}, schema.GroupKind{Kind: "PersistentVolumeClaim"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// gone returns what happens to the objects in the inventory, and in scope, that
// the bundle has no more: in the order of pruning, which is the reverse of that
// of applying. Those that are not there any more are left out.
func (p *planner) gone(ctx context.Context) ([]Item, error) {
	has, uids := map[string]bool{}, map[string]bool{}
	for _, o := range p.Bundle.Objects {
		has[o.ID()] = true
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
		is, err := p.Live.Object(ctx, it.ref)
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
		// One object may have two names, in an old group and in a new one.
		if uid := string(is.GetUID()); !uids[uid] && p.isOurs(it.ID, is) {
			it.Before, it.uid = is, uid
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(it Item) bool { return it.uid == "" && it.Action != Refused })
	p.keepHolders(items)
	return items, nil
}

// keepHolders keeps the namespaces and CRDs of what stays, which would go with
// them: of what the bundle has, and of all that is not pruned.
func (p *planner) keepHolders(items []Item) {
	spaces, kinds := map[string]string{}, map[schema.GroupKind]string{}
	stays := func(namespace string, gk schema.GroupKind, id string) { spaces[namespace], kinds[gk] = id, id }
	pruned := map[string]bool{}
	for _, it := range items {
		pruned[it.ID] = it.Action == Prune
	}
	for _, e := range p.inventory.Objects {
		if !pruned[e.id()] {
			stays(e.Namespace, schema.GroupKind{Group: e.Group, Kind: e.Kind}, e.id())
		}
	}
	for _, o := range p.Bundle.Objects {
		stays(o.GetNamespace(), o.GroupVersionKind().GroupKind(), o.ID())
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

func (p *planner) pruneOrKeep(gk schema.GroupKind, is *unstructured.Unstructured) (Action, string) {
	a := is.GetAnnotations()
	switch {
	case a[helmPolicy] == helmKeep:
		return Keep, helmPolicy + ": " + helmKeep
	case a[ownPolicy] == ownKeep:
		return Keep, ownPolicy + ": " + ownKeep
	case isProtected(gk) && !p.PruneProtected:
		return Keep, "a " + gk.Kind + " is pruned only with --prune-protected"
	}
	return Prune, ""
}

package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file stores the hooks that run when a release is deleted, because the fleet
// does not have them by then. They may be Secrets, so they are stored in chunks
// that the inventory names.

// hooksOn returns the hooks of the bundle that run on one of the events, by
// release. A chart's hook may be among the bundle's objects, its hooks, or both.
func hooksOn(b *fleet.Bundle, events ...string) map[string][]fleet.Object {
	out, seen := map[string][]fleet.Object{}, map[string]bool{}
	for _, o := range slices.Concat(b.Hooks, b.Objects) {
		on := fleet.HookEvents(o.Unstructured)
		wanted := slices.ContainsFunc(events, func(e string) bool { return slices.Contains(on, e) })
		if wanted && !seen[o.ID()] {
			seen[o.ID()] = true
			out[o.Release.Name] = append(out[o.Release.Name], o)
		}
	}
	return out
}

// nextHooks returns the names of the chunks with the deletion hooks of each release
// after the apply, and sets p.hooks to those that must be written. An unchanged
// release keeps its stored hooks if its own are nondeterministic.
func (p *planner) nextHooks(objects []Entry) map[string]string {
	out := map[string]string{}
	p.hooks = map[string][]byte{}
	for _, e := range objects {
		if names, ok := p.inventory.Hooks[e.Release]; ok && !e.Kept {
			out[e.Release] = names
		}
	}
	now := hooksOn(p.Bundle, "pre-delete", "post-delete")
	for _, r := range p.Bundle.Cluster.Releases {
		if !p.inScope(r.Stage, r.Name) || out[r.Name] != "" && p.inventory.Releases[r.Name] == p.digests.releases[r.Name] && slices.ContainsFunc(now[r.Name], isNondeterministic) {
			continue
		}
		delete(out, r.Name)
		if r.Delivery == fleet.ByHelm {
			continue // Helm stores them
		}
		hooks := diag.Each(now[r.Name], func(o fleet.Object) map[string]any { return o.Object })
		if packed, err := pack(hooks); err == nil && len(hooks) > 0 {
			out[r.Name] = strings.Join(chunkNamesOf(p.Fleet, bundlePrefix, packed), " ")
			if out[r.Name] != p.inventory.Hooks[r.Name] {
				p.hooks[r.Name] = packed
			}
		}
	}
	return out
}

// OnlyDeletionHooks returns a copy of the bundle with only its cluster, its digest, its charts and
// its deletion hooks.
func OnlyDeletionHooks(b *fleet.Bundle) *fleet.Bundle {
	return &fleet.Bundle{Cluster: b.Cluster, Digest: b.Digest, Charts: b.Charts, Hooks: slices.Concat(slices.Collect(maps.Values(hooksOn(b, "pre-delete", "post-delete")))...)}
}

// DeletionHooksDigest identifies the deletion hooks that the digest of the bundle does not cover;
// it is empty without any. For nondeterministic hooks, it covers the inputs of the release.
func DeletionHooksDigest(b *fleet.Bundle) string {
	sum, isEmpty := sha256.New(), true
	add := func(parts ...any) {
		isEmpty = false
		_ = json.NewEncoder(sum).Encode(parts) // an apply stores no hooks that JSON does not support
	}
	hooks := hooksOn(b, "pre-delete", "post-delete")
	for _, r := range b.Cluster.Releases {
		own := diag.Filter(hooks[r.Name], func(o fleet.Object) bool { return o.Unapplied && r.Delivery != fleet.ByHelm })
		if slices.ContainsFunc(own, isNondeterministic) {
			add(r.Name, r.Namespace, diag.Filter(b.Charts, func(p fleet.Pin) bool { return p.Release == r.Name }), r.Values.Value(), b.Cluster.KubeVersion, b.Cluster.APIs)
			for _, p := range r.Patches {
				p.Pos, p.Texts, p.Written = diag.Pos{}, nil, nil // positions in files
				add(p)
			}
			continue
		}
		for _, o := range own {
			add(r.Name, o.Object)
		}
	}
	if isEmpty {
		return ""
	}
	return fleet.Sum(sum.Sum(nil)).String()
}

// HooksDiffer reports whether an apply of the bundle that the cluster runs would store other
// deletion hooks, which its digest does not cover. Hooks with values of secrets count as equal.
func (v *Inventory) HooksDiffer(b *fleet.Bundle) bool {
	p := planner{Target: Target{Fleet: v.Fleet, Bundle: b}, inventory: v, digests: digests{releases: v.Releases}}
	next := p.nextHooks(v.Objects)
	for release, hooks := range hooksOn(b, "pre-delete", "post-delete") {
		if slices.ContainsFunc(hooks, func(o fleet.Object) bool { return hasReferences(o.Unstructured) }) {
			next[release] = v.Hooks[release]
		}
	}
	return slices.ContainsFunc(b.Cluster.Releases, func(r *fleet.Release) bool { return next[r.Name] != v.Hooks[r.Name] })
}

func hasReferences(u *unstructured.Unstructured) bool {
	inside, outside := fleet.ReferringFields(u)
	return len(inside)+len(outside) > 0
}

func isNondeterministic(o fleet.Object) bool { return o.Nondeterministic }

// writeHooks stores the hooks that the next inventory names.
func (r *runner) writeHooks(ctx context.Context) error {
	for _, release := range slices.Sorted(maps.Keys(r.plan.deleteHooks)) {
		if err := r.lease.Check(ctx); err != nil {
			return err
		}
		if _, err := r.store().writeChunks(ctx, bundlePrefix, r.plan.deleteHooks[release], nil); err != nil {
			return err
		}
	}
	return nil
}

// readHooks returns the stored hooks of a release.
func (p *planner) readHooks(ctx context.Context, release string) ([]*unstructured.Unstructured, error) {
	names := strings.Fields(p.inventory.Hooks[release])
	if len(names) == 0 {
		return nil, nil
	}
	packed, err := p.store().readChunks(ctx, names)
	if broken := (*brokenError)(nil); errors.As(err, &broken) {
		return nil, corruptFault("the hooks of release "+release+" cannot be read: "+broken.why, headName(p.Fleet))
	} else if err != nil {
		return nil, err
	}
	var hooks []map[string]any
	text, err := unpack(packed)
	if err == nil {
		err = utiljson.Unmarshal(text, &hooks)
	}
	out := diag.Each(hooks, func(h map[string]any) *unstructured.Unstructured { return &unstructured.Unstructured{Object: h} })
	if err != nil || slices.ContainsFunc(out, isIncomplete) {
		return nil, corruptFault("the hooks of release "+release+" are not in the format that fleetc writes", headName(p.Fleet))
	}
	return out, nil
}

// deleteHooks returns the deletion hooks of releases that are removed as a whole.
// They stay stored until the deletion is complete, and run again after an
// interruption. They do not run when another tool now manages an object of the
// release, which they might destroy, or when its objects moved to other releases and
// none is deleted.
func (p *planner) deleteHooks(ctx context.Context, removed []Item) ([]Item, error) {
	stages := map[string]string{} // of removed releases
	stays, kept, moved, deleted := p.bundleIDs(), map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, it := range removed {
		kept[it.ID] = kept[it.ID] || it.Action == Keep
	}
	for _, e := range p.inventory.Objects {
		if p.inScope(e.Stage, e.Release) {
			id := e.id()
			stages[e.Release] = e.Stage
			moved[e.Release] = moved[e.Release] || stays[id]
			deleted[e.Release] = deleted[e.Release] || !stays[id] && !kept[id]
		}
	}
	for _, r := range p.Bundle.Cluster.Releases {
		delete(stages, r.Name)
	}
	maps.DeleteFunc(stages, func(release, _ string) bool { return moved[release] && !deleted[release] })
	var out []Item
	for _, release := range slices.Sorted(maps.Keys(stages)) {
		hooks, err := p.readHooks(ctx, release)
		if err != nil {
			return nil, err
		}
		if owned := ownedOf(removed, release); owned != nil && len(hooks) > 0 {
			owned.Reason += ", so that the hooks for the deletion of release " + release + " do not run"
			continue
		}
		for _, h := range hooks {
			it := newHook(fleet.Object{Unstructured: h, Release: &fleet.Release{Name: release, Stage: stages[release]}}, "delete")
			if err := p.findHook(ctx, &it); err != nil {
				return nil, err
			}
			it.hook.object, it.object = it.object, nil
			out = append(out, it)
		}
	}
	return out, nil
}

// newHook returns the item of a hook that runs on the event, before or after it.
func newHook(o fleet.Object, event string) Item {
	it := Item{ID: o.ID(), Release: o.Release.Name, Stage: o.Release.Stage, ref: cluster.RefOf(o.Unstructured), release: o.Release, object: o.Unstructured, hook: hookOn(o, event)}
	it.positions = o.Release.Places()
	return it
}

// findHook plans a hook by its live object.
func (p *planner) findHook(ctx context.Context, it *Item) error {
	before, err := p.object(ctx, it.ref)
	if err != nil && cluster.ReasonOf(err) != cluster.Forbidden {
		return err
	}
	p.planHook(it, before)
	return nil
}

// runDeleteHooks runs the wanted deletion hooks.
func (r *runner) runDeleteHooks(ctx context.Context, wanted func(*hook) bool) error {
	var items []*Item
	for i := range r.plan.Items {
		if it := &r.plan.Items[i]; it.Action == Hook && it.hook.object != nil && wanted(it.hook) {
			it.object = it.hook.object
			items = append(items, it)
		}
	}
	return r.hooks(ctx, items)
}

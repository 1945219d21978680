package apply

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file compares the objects of releases that Helm delivers.

const noHelmRecord = notAllowedTo + "read the records that Helm stores of their release"

// expandHelm replaces each release that Helm delivers by its objects, without
// hooks. It returns the objects that Helm made for a release and that are not in
// the bundle.
func (c *comparer) expandHelm(ctx context.Context) ([]ObjectDiff, error) {
	var items []Item
	var orphans []ObjectDiff
	for i := range c.items {
		it := &c.items[i]
		if it.hook != nil {
			continue
		}
		if !it.IsHelm() {
			items = append(items, *it)
			continue
		}
		removed, err := c.expandHelmRelease(ctx, it)
		if err != nil {
			return nil, err
		}
		for _, part := range it.Parts {
			part.parent = it
			items = append(items, part)
		}
		orphans = append(orphans, removed...)
	}
	c.items = items
	return orphans, nil
}

// expandHelmRelease reads the records of a release and sets the parts to the
// objects that Helm will send. For an up-to-date release, these are the objects in
// its record.
func (c *comparer) expandHelmRelease(ctx context.Context, it *Item) ([]ObjectDiff, error) {
	state, err := cluster.HelmSecrets.Read(ctx, c.Live, it.ref.Namespace, it.ref.Name)
	if cluster.ReasonOf(err) == cluster.Forbidden {
		it.helm, it.Reason = &cluster.HelmState{}, noHelmRecord
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	it.helm, it.digest = state, c.helmDigest(it.release)
	state.IsTakeover = !state.Deployed && c.takesOver(it)
	removed, err := c.removedParts(ctx, it, append(state.Objects, state.Extra...))
	if err != nil {
		return nil, err
	}
	targets := map[string]*unstructured.Unstructured{}
	if it.isUpToDate() {
		for _, o := range state.Objects {
			targets[idOf(cluster.RefOf(o))] = cluster.MarkForHelm(o, it.ref.Namespace, it.ref.Name)
		}
	} else if targets, err = c.helmTargets(ctx, it); err != nil {
		return nil, err
	}
	for i := range it.Parts {
		part := &it.Parts[i]
		part.managedBy = part.object.GetLabels()[managedByLabel]
		part.object = cluster.MarkForHelm(part.object, it.ref.Namespace, it.ref.Name)
		if o := targets[part.ID]; o != nil {
			part.object = o
		}
	}
	return orphanedParts(removed), nil
}

// afterHelm returns an object of a release after the next install or upgrade.
func (c *comparer) afterHelm(ctx context.Context, part *Item, now *unstructured.Unstructured, out *ObjectDiff, may bool) (*unstructured.Unstructured, error) {
	part.Before = now
	after, err := c.patched(ctx, part.parent.helm, part, part.object, may)
	if err != nil {
		return nil, err
	}
	if part.Action == Refused {
		out.Why, out.Before, out.After = part.Reason, nil, nil
		return nil, nil
	}
	if part.parent.Reason == noHelmRecord {
		out.Simulated, out.SimulatedWhy = true, noHelmRecord
	} else if part.noDryRun {
		out.Simulated, out.SimulatedWhy = true, cmp.Or(part.Reason, noPatchRight)
	}
	return after, nil
}

// orphanedParts returns the objects of a Helm release that are pruned with it.
func orphanedParts(parts []Item) []ObjectDiff {
	var out []ObjectDiff
	for _, part := range parts {
		if part.Action == Prune {
			out = append(out, ObjectDiff{ID: part.ID, Release: part.Release, Finding: Orphaned, Before: part.Before})
		}
	}
	return out
}

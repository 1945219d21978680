package apply

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// This file compares the objects of releases that Helm delivers.

const noRecord = "the user may not read the records that Helm stores of their release"

// spread replaces each release that Helm delivers by its objects, and leaves out
// hooks. It returns the objects that Helm made for a release and the bundle does
// not have.
func (c *comparer) spread(ctx context.Context) ([]Compared, error) {
	var items []Item
	var orphans []Compared
	for i := range c.items {
		it := &c.items[i]
		if it.hook != nil {
			continue
		}
		if !it.IsHelm() {
			items = append(items, *it)
			continue
		}
		gone, err := c.spreadOne(ctx, it)
		if err != nil {
			return nil, err
		}
		for _, part := range it.Parts {
			part.of = it
			items = append(items, part)
		}
		orphans = append(orphans, gone...)
	}
	c.items = items
	return orphans, nil
}

// spreadOne reads the records of a release, and makes the objects of its parts
// those that Helm will send: of a release that is up to date, those of its record.
func (c *comparer) spreadOne(ctx context.Context, it *Item) ([]Compared, error) {
	state, err := helm.Read(ctx, c.Live, it.ref.Namespace, it.ref.Name)
	if live.ReasonOf(err) == live.Forbidden {
		it.helm, it.Reason = &helm.State{}, noRecord
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	it.helm = state
	if it.digest, err = c.helmDigest(it.release); err != nil {
		return nil, err
	}
	gone, err := c.partsGone(ctx, it, append(state.Objects, state.Left...))
	if err != nil {
		return nil, err
	}
	targets := map[string]*unstructured.Unstructured{}
	if it.isUpToDate() {
		for _, o := range state.Objects {
			targets[idOf(live.RefOf(o))] = helm.Mark(o, it.ref.Namespace, it.ref.Name)
		}
	} else {
		rendered, err := c.helmTargets(ctx, it)
		if err != nil {
			return nil, err
		}
		maps.Copy(targets, rendered)
	}
	for i := range it.Parts {
		part := &it.Parts[i]
		part.object = helm.Mark(part.object, it.ref.Namespace, it.ref.Name)
		if o := targets[part.ID]; o != nil {
			part.object = o
		}
	}
	var out []Compared
	for _, part := range gone {
		if part.Action == Prune {
			out = append(out, Compared{ID: part.ID, Release: it.Release, Finding: Orphaned, Before: part.Before})
		}
	}
	return out, nil
}

// wouldByHelm returns an object of a release after the next install or upgrade.
func (c *comparer) wouldByHelm(ctx context.Context, part *Item, now *unstructured.Unstructured, out *Compared, may bool) (*unstructured.Unstructured, error) {
	part.Before = now
	after, err := c.patched(ctx, part.of.helm, part, part.object, may)
	if err != nil {
		return nil, err
	}
	if part.Action == Refused {
		out.Why, out.Before, out.After = part.Reason, nil, nil
		return nil, nil
	}
	switch {
	case part.of.Reason == noRecord:
		out.Predicted, out.How = true, noRecord
	case part.untried && part.Reason != "":
		out.Predicted, out.How = true, part.Reason
	case part.untried:
		out.Predicted, out.How = true, mayNot
	}
	return after, nil
}

// explainPart says when Helm changes an object of a release that is up to date.
func (it *Item) explainPart(out *Compared) {
	if out.Finding == Changed && it.of.digest != "" && it.of.isUpToDate() {
		out.Why = "Helm changes it back at the next upgrade of the release"
	}
}

// orphansOf returns the objects of a release of Helm's that the bundle does not
// have; the release itself when it has no objects.
func orphansOf(it Item) []Compared {
	var out []Compared
	for _, part := range it.Parts {
		if part.Action == Prune {
			out = append(out, Compared{ID: part.ID, Release: it.Release, Finding: Orphaned, Before: part.Before})
		}
	}
	if out == nil {
		out = append(out, Compared{ID: it.ID, Release: it.Release, Finding: Orphaned, Before: it.Before, Why: it.Reason})
	}
	return out
}

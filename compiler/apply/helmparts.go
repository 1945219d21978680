package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// This file plans the objects of releases that Helm delivers: the parts of an
// item. It computes the patches that Helm would send, and has the API server try
// them as dry runs.

// readAll reads the objects of items, with one request for each kind and
// namespace where that is possible. Those that are absent, or that the user may
// not read, are nil; the missing right is reported with the others.
func (p *planner) readAll(ctx context.Context, items []*Item) (map[*Item]*unstructured.Unstructured, error) {
	refs := make([]live.Ref, len(items))
	for i, it := range items {
		refs[i] = it.ref
	}
	reader := p.Live.NewReader(refs)
	found := make([]*unstructured.Unstructured, len(items))
	err := each(ctx, len(items), func(ctx context.Context, i int) (err error) {
		found[i], err = reader.Object(ctx, refs[i])
		if live.ReasonOf(err) == live.Forbidden {
			return nil
		}
		return err
	})
	out := make(map[*Item]*unstructured.Unstructured, len(items))
	for i, it := range items {
		out[it] = found[i]
	}
	return out, err
}

// meetParts reads the objects of a release, and refuses the release when others
// made one. It returns the ID of an object that Helm installed and the cluster
// does not have, if there is one.
func (p *planner) meetParts(ctx context.Context, it *Item) (missing string, err error) {
	stored := map[string]bool{}
	for _, o := range it.helm.Objects {
		stored[idOf(live.RefOf(o))] = true
	}
	parts := make([]*Item, len(it.Parts))
	for i := range it.Parts {
		parts[i] = &it.Parts[i]
	}
	found, err := p.readAll(ctx, parts)
	if err != nil {
		return "", err
	}
	in := map[string]bool{}
	for _, part := range parts {
		in[part.ID], part.Action = true, Unchanged
		part.Before = found[part]
		if part.Before == nil {
			switch {
			case stored[part.ID] && it.isUpToDate() && health.DeletesItself(part.object): // it has ended
			case stored[part.ID]:
				missing, part.Action = part.ID, Create
			default:
				part.Action = Create
			}
			continue
		}
		part.uid, part.managers = string(part.Before.GetUID()), othersOf(part.Before)
		if !isPartOf(part.Before, it.ref) && p.isForeign(part, part.Before) {
			part.foreign = true
			if !p.mayAdopt(part.Before) {
				it.refuse(part.ID+" is there already, and "+p.ownerOf(part.Before)+" made it", p.takeOver(part.Before))
				return "", nil
			}
		}
	}
	var gone []*unstructured.Unstructured
	for _, o := range append(it.helm.Objects, it.helm.Left...) {
		if !in[idOf(live.RefOf(o))] {
			gone = append(gone, o)
		}
	}
	out, err := p.partsGone(ctx, it, gone)
	it.Parts = append(it.Parts, out...)
	return missing, err
}

// partsGone returns what happens to objects that Helm made for a release which
// does not have them any more. It leaves out objects that are gone, that the bundle
// has, and that say they are of no release.
func (p *planner) partsGone(ctx context.Context, it *Item, objects []*unstructured.Unstructured) ([]Item, error) {
	has := map[string]bool{}
	for _, o := range p.Bundle.Objects {
		has[o.ID()] = true
	}
	var parts []*Item
	for _, o := range objects {
		if ref := live.RefOf(o); !has[idOf(ref)] {
			parts = append(parts, &Item{ID: idOf(ref), Release: it.Release, Stage: it.Stage, ref: ref})
		}
	}
	found, err := p.readAll(ctx, parts)
	if err != nil {
		return nil, err
	}
	var out []Item
	for _, part := range parts {
		now := found[part]
		if now == nil {
			continue
		}
		owner := it.partDelivery(p.Fleet).lostTo(now)
		if owner == "" && !isPartOf(now, it.ref) {
			continue
		}
		part.Before, part.uid = now, string(now.GetUID())
		if part.Action, part.Reason = p.pruneOrKeep(part.kind(), now); owner != "" {
			part.leaveTo(owner)
		}
		out = append(out, *part)
	}
	return out, nil
}

// tryParts decides what the next install or upgrade does to the objects of a
// release, whose chart Helm renders for that.
func (p *planner) tryParts(ctx context.Context, it *Item) error {
	targets, err := p.helmTargets(ctx, it)
	if err != nil || it.Action == Refused {
		return err
	}
	parts := it.present()
	if err := each(ctx, len(parts), func(ctx context.Context, i int) error {
		return p.tryPart(ctx, it, parts[i], targets[parts[i].ID])
	}); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Action == Refused {
			it.refuse(part.ID+": "+part.Reason, part.Hint)
			return nil
		}
	}
	return nil
}

// helmTargets returns the objects of a release as Helm will send them, by ID. A
// chart that Helm cannot render, or whose record Kubernetes would not store, is
// refused.
func (p *planner) helmTargets(ctx context.Context, it *Item) (map[string]*unstructured.Unstructured, error) {
	targets := map[string]*unstructured.Unstructured{}
	for _, part := range it.present() {
		targets[part.ID] = part.object
	}
	values, _ := it.release.Values.Value().(map[string]any)
	run := &helm.Run{Live: p.Live, Namespace: it.ref.Namespace, Name: it.ref.Name, Hide: p.Live.Hidden}
	var served []string // API versions that come with CRDs of the bundle
	for gvk, crd := range p.brought {
		if p.before(crd, it) {
			served = append(served, gvk.GroupVersion().String(), gvk.GroupVersion().String()+"/"+gvk.Kind)
		}
	}
	rendered, err := run.Render(ctx, it.helm, helm.Wanted{Chart: p.Charts[it.Release], Values: values}, served)
	switch fault := (*diag.Diag)(nil); {
	case err == nil:
	case !errors.As(err, &fault) || ctx.Err() != nil:
		return nil, err
	case len(served) > 0: // its templates may look up what its CRDs are needed for
		rendered = &helm.Rendering{}
	default:
		it.refuse("Helm cannot render the chart: "+strings.TrimPrefix(fault.Msg, "Helm: "), fault.Hint)
		return nil, nil
	}
	if rendered.Record > helm.MaxRecord {
		it.refuse(fmt.Sprintf("the record that Helm stores of the release would have %d bytes, and Kubernetes stores at most %d in a Secret", rendered.Record, helm.MaxRecord),
			`make the chart or its values smaller, or set delivery: "manifests"`)
		return nil, nil
	}
	for _, o := range rendered.Objects {
		if id := idOf(live.RefOf(o)); targets[id] != nil {
			targets[id] = o
		}
	}
	for id, o := range targets {
		targets[id] = helm.Mark(o, it.ref.Namespace, it.ref.Name)
	}
	return targets, nil
}

// tryPart decides what Helm does to one object of a release.
func (p *planner) tryPart(ctx context.Context, it, part *Item, target *unstructured.Unstructured) error {
	if part.Before == nil {
		part.Action, part.After = Create, asStored(target)
		return nil
	}
	after, err := p.patched(ctx, it.helm, part, target, true)
	switch {
	case err != nil || part.Action == Refused:
		return err
	case reflect.DeepEqual(content(part.Before), content(after)):
		part.Action, part.Before, part.Reason = Unchanged, nil, ""
	default:
		part.Action, part.After = Change, after
	}
	return nil
}

// patched returns the object of a part after Helm has made it the target. The API
// server tries the first patch, when it may be asked; later ones, and those for
// which a dry run is refused, are computed here, which untried then says.
func (p *planner) patched(ctx context.Context, state *helm.State, part *Item, target *unstructured.Unstructured, ask bool) (*unstructured.Unstructured, error) {
	now := part.Before
	for step := range state.Patches() {
		patch, err := state.Patch(step, target, now)
		if err != nil {
			part.refuse(diag.Visible(p.Live.Hidden(err.Error()), diag.MaxText), "")
			return nil, nil
		}
		if patch.IsEmpty() {
			continue
		}
		if ask && now == part.Before {
			after, err := p.Live.TryPatch(ctx, part.ref, helm.Manager, patch)
			if err == nil {
				now = after
				continue
			}
			if err := p.patchRefused(part, err); err != nil || part.Action == Refused {
				return nil, err
			}
		}
		part.untried = true
		if now, err = helm.Patched(now, patch); err != nil {
			part.refuse(diag.Visible(p.Live.Hidden(err.Error()), diag.MaxText), "")
			return nil, nil
		}
		now = asStored(now)
	}
	return now, nil
}

// patchRefused decides about a part for which the API server refused the dry run
// of Helm's patch.
func (p *planner) patchRefused(part *Item, err error) error {
	why := withoutOld(part.Before, err)
	switch live.ReasonOf(err) {
	case "":
		return err
	case live.Webhook:
		part.Reason = silentWebhook
		return nil
	case live.Forbidden:
		if strings.HasPrefix(err.Error(), "User ") {
			return nil // a missing right, which is reported with the others
		}
	case live.Immutable:
		part.refuse(why, "change it back, or delete the object: Helm cannot change this field")
		return nil
	default:
		if crd := p.brought[part.ref.GroupVersionKind]; crd != nil && crd.Action == Change {
			part.Reason = "its CRD changes first"
			return nil
		}
	}
	part.refuse(why, "")
	return nil
}

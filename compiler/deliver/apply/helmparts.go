package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file plans the objects of releases that Helm delivers: the parts of an item.
// It computes the patches that Helm would send and sends them as dry runs.

// readAll sets Before of items to their objects, which it reads with one request per kind and
// namespace where possible. It is nil for objects that do not exist or that the user is not
// allowed to read; missing rights are reported elsewhere.
func (p *planner) readAll(ctx context.Context, items []*Item) error {
	refs := diag.Each(items, func(it *Item) cluster.Ref { return it.ref })
	reader := p.Live.NewReader(refs)
	return forEach(ctx, len(items), func(ctx context.Context, i int) (err error) {
		if items[i].Before, err = reader.Object(ctx, refs[i]); cluster.ReasonOf(err) == cluster.Forbidden {
			return nil
		}
		return err
	})
}

// checkParts reads the objects of a release and refuses the release when another
// tool made one of them. It returns why an object needs an upgrade, if one does: Helm
// installed it and it is missing from the cluster, or fleetc has applied it since.
func (p *planner) checkParts(ctx context.Context, it *Item) (why string, err error) {
	stored := map[string]bool{}
	for _, o := range it.helm.Objects {
		stored[idOf(cluster.RefOf(o))] = true
	}
	parts := withParts(it.Parts)
	if err := p.readAll(ctx, parts); err != nil {
		return "", err
	}
	for _, part := range parts {
		part.Action = Unchanged
		if part.Before == nil {
			switch {
			case stored[part.ID] && it.isUpToDate() && kube.DeletesItself(part.object): // it was deleted after its end
			case stored[part.ID]:
				why, part.Action = part.ID+" is missing", Create
			default:
				part.Action = Create
			}
			continue
		}
		part.uid, part.managers = string(part.Before.GetUID()), otherManagers(part.Before)
		if !isPartOf(part.Before, it.ref) && p.isForeign(part, part.Before) {
			part.foreign = true
			if !p.mayAdopt(part.Before) {
				it.refuse(part.ID+" already exists, and "+p.ownerOf(part.Before)+" created it", p.takeoverHint(part.Before))
				return "", nil
			}
		}
		if part.hasOwnFields = ownFields(part.Before) != nil; part.hasOwnFields && it.isUpToDate() {
			why = "Helm takes over " + part.ID + " from fleetc"
		}
	}
	removed, err := p.removedParts(ctx, it, append(it.helm.Objects, it.helm.Extra...))
	it.Parts = append(it.Parts, removed...)
	return why, err
}

// removedParts plans objects that Helm made for a release which does not have them
// any more. It leaves out objects that do not exist, that the bundle has, or that
// do not name the release.
func (p *planner) removedParts(ctx context.Context, it *Item, objects []*unstructured.Unstructured) ([]Item, error) {
	inBundle := p.bundleIDs()
	var parts []*Item
	for _, o := range objects {
		if ref := cluster.RefOf(o); !inBundle[idOf(ref)] {
			parts = append(parts, &Item{ID: idOf(ref), Release: it.Release, Stage: it.Stage, ref: ref})
		}
	}
	if err := p.readAll(ctx, parts); err != nil {
		return nil, err
	}
	var out []Item
	for _, part := range parts {
		now := part.Before
		if now == nil {
			continue
		}
		owner := it.partDelivery(p.Fleet).newOwner(now)
		if owner == "" && !isPartOf(now, it.ref) {
			continue
		}
		part.uid = string(now.GetUID())
		if part.Action, part.Reason = p.pruneOrKeep(part.kind(), now); owner != "" {
			part.leaveTo(owner)
		}
		out = append(out, *part)
	}
	return out, nil
}

// planParts plans what the next install or upgrade does to the objects of a
// release. Helm renders the chart for that.
func (p *planner) planParts(ctx context.Context, it *Item) error {
	targets, err := p.helmTargets(ctx, it)
	if err != nil || it.Action == Refused {
		return err
	}
	parts := it.bundleObjects()
	if err := forEach(ctx, len(parts), func(ctx context.Context, i int) error {
		return p.planPart(ctx, it, parts[i], targets[parts[i].ID])
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

// helmTargets returns the objects of a release as Helm will send them, by ID. It
// refuses the release when Helm cannot render the chart, or when its record is too
// large for Kubernetes.
func (p *planner) helmTargets(ctx context.Context, it *Item) (map[string]*unstructured.Unstructured, error) {
	targets := map[string]*unstructured.Unstructured{}
	for _, part := range it.bundleObjects() {
		targets[part.ID] = part.object
	}
	values, _ := it.release.Values.Value().(map[string]any)
	run := &cluster.HelmRun{Live: p.Live, Namespace: it.ref.Namespace, Name: it.ref.Name, Hide: p.Live.Hidden}
	var served []string // API versions of CRDs in the bundle
	for gvk, crd := range p.bundleCRDs {
		if p.before(crd, it) {
			served = append(served, gvk.GroupVersion().String(), gvk.GroupVersion().String()+"/"+gvk.Kind)
		}
	}
	rendered, err := run.Render(ctx, it.helm, cluster.HelmReleaseSpec{Chart: p.Charts[it.Release], Values: values}, served)
	switch fault := (*diag.Diag)(nil); {
	case err == nil:
	case !errors.As(err, &fault) || ctx.Err() != nil:
		return nil, err
	case len(served) > 0: // its templates may look up objects of these CRDs
		rendered = &cluster.HelmRendering{}
	default:
		it.refuse("Helm cannot render the chart: "+strings.TrimPrefix(fault.Msg, "Helm: "), fault.Hint)
		return nil, nil
	}
	if rendered.Record > cluster.MaxHelmRecord {
		it.refuse(fmt.Sprintf("the record that Helm stores of the release would have %d bytes, and Kubernetes stores at most %d in a Secret", rendered.Record, cluster.MaxHelmRecord),
			`make the chart or its values smaller, or set delivery: "manifests"`)
		return nil, nil
	}
	for _, o := range rendered.Objects {
		if id := idOf(cluster.RefOf(o)); targets[id] != nil {
			targets[id] = o
		}
	}
	for id, o := range targets {
		targets[id] = cluster.MarkForHelm(o, it.ref.Namespace, it.ref.Name)
	}
	return targets, nil
}

// planPart plans one object of a release.
func (p *planner) planPart(ctx context.Context, it, part *Item, target *unstructured.Unstructured) error {
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

// partGivenToHelm returns the object of a part that fleetc has applied so far after
// [runner.giveToHelm]. The API server tries it if ask is set; else it is simulated.
func (p *planner) partGivenToHelm(ctx context.Context, part *Item, target *unstructured.Unstructured, ask bool) (*unstructured.Unstructured, error) {
	o := asStored(target)
	if ask {
		after, err := p.Live.Apply(ctx, o, cluster.Application{DryRun: true, Force: true})
		if err == nil {
			return after, nil
		}
		if err := p.patchRefused(part, err); err != nil || part.Action == Refused {
			return nil, err
		}
	}
	part.noDryRun = true
	s, err := p.simulate(ctx, &Item{ref: part.ref, object: o}, part.Before)
	return s.after, err
}

// patched returns the object of a part after Helm's patches toward the target. The
// API server tries the first patch if ask is set. Later patches are computed here, and
// so is the first one if it has no dry run, which sets noDryRun.
func (p *planner) patched(ctx context.Context, state *cluster.HelmState, part *Item, target *unstructured.Unstructured, ask bool) (*unstructured.Unstructured, error) {
	now := part.Before
	if ownFields(now) != nil {
		var err error
		if now, err = p.partGivenToHelm(ctx, part, target, ask); err != nil || now == nil {
			return nil, err
		}
	}
	for step := range state.Patches() {
		patch, err := state.Patch(step, target, now)
		if err != nil {
			part.refuse(diag.Line(p.Live.Hidden(err.Error()), diag.MaxText), "")
			return nil, nil
		}
		if patch.IsEmpty() {
			continue
		}
		first := now == part.Before
		if ask && first {
			after, err := p.Live.DryRunPatch(ctx, part.ref, cluster.HelmManager, patch)
			if err == nil {
				now = after
				continue
			}
			if err := p.patchRefused(part, err); err != nil || part.Action == Refused {
				return nil, err
			}
		}
		part.noDryRun = part.noDryRun || first || !ask
		after, err := cluster.HelmPatched(now, patch)
		if err != nil {
			part.refuse(diag.Line(p.Live.Hidden(err.Error()), diag.MaxText), "")
			return nil, nil
		}
		schemas, err := p.schemasOf(ctx, now.GroupVersionKind().GroupVersion())
		if err != nil {
			return nil, err
		}
		now = schemas.Stored(asStored(after), now)
	}
	return now, nil
}

// patchRefused decides about a part when the API server rejected the dry run of
// Helm's patch.
func (p *planner) patchRefused(part *Item, err error) error {
	why := errorText(part.Before, err)
	switch cluster.ReasonOf(err) {
	case "":
		return err
	case cluster.Webhook:
		part.Reason = webhookUnavailable
		return nil
	case cluster.Forbidden:
		if cluster.IsMissingRight(err) {
			return nil // a missing right is reported with the others
		}
	case cluster.Immutable:
		part.refuse(why, "change it back, or delete the object: Helm cannot change this field")
		return nil
	default:
		if crd := p.bundleCRDs[part.ref.GroupVersionKind]; crd != nil && crd.Action == Change {
			part.Reason = "its CRD changes first"
			return nil
		}
	}
	part.refuse(why, "")
	return nil
}

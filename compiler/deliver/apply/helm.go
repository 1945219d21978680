package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file plans releases that Helm delivers. In a plan and in the inventory, such
// a release is one object of a kind that no cluster serves; the parts of its item
// are its objects.

// helmKind is the kind of the item that stands for a Helm release.
var helmKind = schema.GroupVersionKind{Group: "helm.sh", Version: "v1", Kind: "HelmRelease"}

func helmRef(namespace, name string) cluster.Ref {
	return cluster.Ref{GroupVersionKind: helmKind, Namespace: namespace, Name: name}
}

func helmRefOf(r *fleet.Release) cluster.Ref { return helmRef(r.Namespace, r.Name) }

// IsHelm reports whether the item stands for a release that Helm delivers.
func (it *Item) IsHelm() bool { return it.ref.GroupVersionKind == helmKind }

// byHelm reports whether Helm applies the object. fleetc applies the crds directory
// of a chart itself: Helm would install it and never upgrade it.
func byHelm(o fleet.Object) bool { return o.Release.Delivery == fleet.ByHelm && !o.CRD }

// helmNamespace is the annotation with the namespace of the Helm release of an
// object.
const helmNamespace = "meta.helm.sh/release-namespace"

// isPartOf reports whether the annotations of an object name the release.
func isPartOf(o *unstructured.Unstructured, release cluster.Ref) bool {
	a := o.GetAnnotations()
	return a[helmRelease] == release.Name && a[helmNamespace] == release.Namespace
}

// collectHelm adds the releases of the bundle that are in scope and that Helm
// delivers.
func (p *planner) collectHelm() {
	parts := map[*fleet.Release][]Item{}
	for _, o := range p.Bundle.Objects {
		if byHelm(o) && !fleet.IsHook(o.Unstructured) {
			object := fleet.Unmark(o.DeepCopy()) // Helm applies the chart's own labels
			parts[o.Release] = append(parts[o.Release], Item{
				ID: o.ID(), Release: o.Release.Name, Stage: o.Release.Stage, ref: cluster.RefOf(object), release: o.Release, object: object,
				positions: o.Release.Places(),
			})
		}
	}
	for _, r := range p.Bundle.Cluster.Releases {
		if r.Delivery != fleet.ByHelm || !p.inScope(r.Stage, r.Name) {
			continue
		}
		ref := helmRefOf(r)
		p.items = append(p.items, Item{
			ID: idOf(ref), Release: r.Name, Stage: r.Stage, Parts: parts[r], ref: ref, release: r, object: placeholder(ref, ""), positions: r.Places(),
		})
	}
}

// placeholder returns an object without content, such as the one that stands for a Helm
// release.
func placeholder(ref cluster.Ref, uid string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(ref.GroupVersionKind)
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)
	if uid != "" {
		o.SetUID(types.UID(uid))
	}
	return o
}

// helmState returns the stored state of a release that Helm delivers. It is nil after an
// error, and if the user is not allowed to read it, which refuses the release.
func (p *planner) helmState(ctx context.Context, it *Item) (*cluster.HelmState, error) {
	state, err := cluster.HelmSecrets.Read(ctx, p.Live, it.ref.Namespace, it.ref.Name)
	if cluster.ReasonOf(err) == cluster.Forbidden {
		it.refuse("Helm's records of it cannot be read: "+err.Error(), "see docs/helm.md for the rights that Helm needs")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return state, nil
}

// planHelm plans a release that Helm delivers.
func (p *planner) planHelm(ctx context.Context, it *Item) error {
	state, err := p.helmState(ctx, it)
	if state == nil {
		return err
	}
	it.helm, it.uid, it.digest = state, state.UID, p.helmDigest(it.release)
	if state.Revision > 0 {
		it.Before = placeholder(it.ref, state.UID)
	}
	it.foreign = state.Revision > 0 && !state.FromFleetc && p.recorded[it.ID].UID != state.UID
	switch {
	case it.foreign && !p.mayAdoptHelm():
		it.refuse("a Helm release with this name exists, and fleetc did not create it", p.adoptHint())
		return nil
	case state.IsPending() && state.Digest == "":
		it.refuse(fmt.Sprintf("another Helm operation is running on it or was interrupted: revision %d is %s", state.Revision, state.Status),
			fmt.Sprintf("wait; if it was interrupted, run helm rollback %s -n %s", it.ref.Name, it.ref.Namespace))
		return nil
	}
	it.Adopts = it.foreign
	why, err := p.checkParts(ctx, it)
	if err != nil || it.Action == Refused {
		return err
	}
	state.IsTakeover = !state.Deployed && p.takesOver(it)
	switch {
	case !state.Deployed && !state.IsTakeover && p.restores(it):
		it.Action, it.After = Create, it.object
	case it.isUpToDate() && why == "" || !p.restores(it):
		it.Action, it.Before = Unchanged, nil
		return nil
	default:
		it.Action, it.After = Change, it.object
		it.Reason = it.whyUpgrade(why)
	}
	return p.planParts(ctx, it)
}

// takesOver reports whether Helm takes over the release from fleetc: its objects are in the
// inventory until Helm's first upgrade succeeds; without an inventory, their marks say so.
// CRDs of the chart do not count: fleetc always applies them.
func (p *planner) takesOver(it *Item) bool {
	if !p.installed[it.Release] {
		return false
	}
	return slices.ContainsFunc(p.inventory.Objects, func(e Entry) bool {
		return e.Release == it.Release && e.UID != "" && !e.Kept && !e.Pending && e.ref().GroupVersionKind != helmKind && e.ref().GroupKind() != fleet.CRDKind
	}) || slices.ContainsFunc(it.bundleObjects(), func(part *Item) bool {
		return part.hasOwnFields && part.Before.GetLabels()[fleet.ReleaseLabel] == it.Release
	})
}

// restores reports whether the plan may upgrade a release: a plan that restores drift
// upgrades only those that drifted, or whose objects did.
func (p *planner) restores(it *Item) bool {
	return p.Drifted == nil || p.Drifted[it.ID] || slices.ContainsFunc(it.Parts, func(part Item) bool { return p.Drifted[part.ID] })
}

// isUpToDate reports whether the last revision of the release matches the bundle.
func (it *Item) isUpToDate() bool {
	return it.helm.Status == "deployed" && it.helm.Digest == it.digest
}

// whyUpgrade returns why a release is upgraded whose chart and values may be
// unchanged; ofPart is the reason of one of its objects.
func (it *Item) whyUpgrade(ofPart string) string {
	s := it.helm
	switch {
	case s.IsTakeover && s.Revision == 0:
		return "Helm takes over its objects from fleetc"
	case s.Status != "deployed":
		return fmt.Sprintf("its revision %d is %s", s.Revision, s.Status)
	case s.Digest == "" && !it.Adopts:
		return fmt.Sprintf("another tool created its revision %d", s.Revision)
	}
	return ofPart
}

// helmDigest returns the cache key of a release: a digest of its chart, values and
// objects. It does not depend on the values of secrets, but on their references.
func (p *planner) helmDigest(r *fleet.Release) string {
	if i := slices.Index(p.Bundle.Cluster.Releases, r); i >= 0 {
		r = p.declared[i]
	}
	return stateOf(p.Charts[r.Name].Digest, r.Values.Value(), p.digests.releases[r.Name])
}

// planHelmPrune plans a Helm release that is in the inventory and not delivered by
// the bundle any more. A release that does not exist, or now belongs to another
// tool, gets no UID.
func (p *planner) planHelmPrune(ctx context.Context, it *Item) error {
	state, err := p.helmState(ctx, it)
	switch {
	case state == nil:
		return err
	case state.Revision == 0:
		return p.planWithoutRecord(ctx, it)
	case !isOurRelease(p.recorded[it.ID], state):
		return nil
	}
	it.helm, it.uid, it.Action, it.Before = state, state.UID, Prune, placeholder(it.ref, state.UID)
	switch {
	case p.handedOver[it.ID]:
		it.handedOver, it.Reason = true, "its objects are applied now"
		return nil
	case state.IsPending() && state.Digest == "":
		it.refuse(fmt.Sprintf("another Helm operation is running on it or was interrupted: revision %d is %s", state.Revision, state.Status), "wait, or run helm uninstall")
		return nil
	}
	it.Parts, err = p.removedParts(ctx, it, append(state.Objects, state.Extra...))
	return err
}

// planWithoutRecord keeps a Helm release without a record in the inventory while objects of it
// exist. Helm cannot uninstall it; the newest readable revision that has it names its objects.
func (p *planner) planWithoutRecord(ctx context.Context, it *Item) error {
	for _, r := range slices.Backward(p.inventory.History) {
		b, err := p.ReadBundle(ctx, r, p.Bundle.Cluster)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		var objects []*unstructured.Unstructured
		for _, o := range b.Objects {
			if byHelm(o) && helmRefOf(o.Release) == it.ref {
				objects = append(objects, o.Unstructured)
			}
		}
		if len(objects) == 0 {
			continue
		}
		parts, err := p.removedParts(ctx, it, objects)
		parts = slices.DeleteFunc(parts, func(part Item) bool { return part.Owner != "" })
		if len(parts) > 0 {
			it.Action, it.Before = Keep, placeholder(it.ref, "")
			it.Reason = "Helm has no record of it any more, so delete its objects yourself: " + firstOf(diag.Each(parts, func(part Item) string { return part.ID }), len(parts))
		}
		return err
	}
	return nil
}

// isOurRelease reports whether the stored release is the one of the inventory's
// entry, and not a later one of the same name.
func isOurRelease(e Entry, s *cluster.HelmState) bool {
	return s.Revision > 0 && (s.FromFleetc || e.UID == s.UID)
}

// takeOverFromHelm adds to the inventory the objects of releases that Helm
// delivered so far and that fleetc applies from now on.
func (p *planner) takeOverFromHelm(ctx context.Context) error {
	now := map[cluster.Ref]bool{}
	for _, r := range p.Bundle.Cluster.Releases {
		if r.Delivery != fleet.ByHelm && p.inScope(r.Stage, r.Name) {
			now[helmRefOf(r)] = true
		}
	}
	v := p.inventory.clone()
	for _, e := range p.inventory.Objects {
		if !now[e.ref()] {
			continue
		}
		state, err := cluster.HelmSecrets.Read(ctx, p.Live, e.Namespace, e.Name)
		if err != nil {
			return err
		}
		if !isOurRelease(e, state) {
			continue
		}
		p.handedOver[e.id()] = true
		for _, o := range append(state.Objects, state.Extra...) {
			it := Item{ID: idOf(cluster.RefOf(o)), Release: e.Release, Stage: e.Stage, ref: cluster.RefOf(o)}
			current, err := p.Live.Object(ctx, it.ref)
			if err != nil {
				return err
			}
			if current == nil || !isPartOf(current, e.ref()) {
				continue
			}
			p.handedOver[it.ID] = true
			if _, known := p.recorded[it.ID]; !known {
				p.recorded[it.ID] = entryOf(it, string(current.GetUID()))
				v.Objects = append(v.Objects, p.recorded[it.ID])
			}
		}
	}
	p.inventory = v
	return nil
}

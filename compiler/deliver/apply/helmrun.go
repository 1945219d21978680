package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// bundleObjects returns the parts that are in the bundle.
func (it *Item) bundleObjects() []*Item {
	return slices.DeleteFunc(withParts(it.Parts), func(part *Item) bool { return part.object == nil })
}

// mayPrunePart reports whether the plan prunes an object with a Helm release, and
// the object still belongs to the release and may be deleted.
func (r *runner) mayPrunePart(it *Item, current *unstructured.Unstructured) bool {
	action, _ := r.pruneOrKeep(current.GroupVersionKind().GroupKind(), current)
	return action == Prune && isPartOf(current, it.ref) && it.partDelivery(r.Fleet).newOwner(current) == "" &&
		slices.ContainsFunc(it.Parts, func(part Item) bool { return part.Action == Prune && part.uid == string(current.GetUID()) })
}

// helmRun returns the operations on a Helm release. Waits are fleetc's own: they
// end when the lease is lost, and explain unhealthy objects.
func (r *runner) helmRun(it *Item) *cluster.HelmRun {
	release := it.release
	if release == nil {
		release = &fleet.Release{Name: it.Release}
	}
	item := func(o *unstructured.Unstructured) *Item {
		ref := cluster.RefOf(o)
		return &Item{ID: idOf(ref), Release: it.Release, Stage: it.Stage, ref: ref, release: release, object: o, positions: it.positions}
	}
	return &cluster.HelmRun{
		Live: r.Live, Namespace: it.ref.Namespace, Name: it.ref.Name, Timeout: r.timeout(), Hide: r.hide, BeforeWrite: r.lease.Check,
		MayPrune:   func(current *unstructured.Unstructured) bool { return r.mayPrunePart(it, current) },
		GiveToHelm: func(ctx context.Context, o *unstructured.Unstructured) error { return r.giveToHelm(ctx, it, o) },
		Wait: func(ctx context.Context, objects []*unstructured.Unstructured) error {
			items := diag.Each(objects, item)
			return r.wait(ctx, it.Stage, items)
		},
		Hook: func(ctx context.Context, o *unstructured.Unstructured) error {
			hook := item(o)
			r.report(Event{Stage: it.Stage, ID: hook.ID, What: "hook"})
			r.result.Hooks++
			_, fault, err := r.hookEnds(ctx, hook, o)
			return cmp.Or(err, fault)
		},
	}
}

// giveToHelm hands an object that fleetc has applied so far to Helm, right before Helm
// patches it. It applies the object that Helm will send, which removes the fields that
// only fleetc has applied and that this object does not have. Helm becomes the manager of
// the others. An interruption leaves the release pending, so that the next apply repeats it.
func (r *runner) giveToHelm(ctx context.Context, it *Item, o *unstructured.Unstructured) error {
	ref := cluster.RefOf(o)
	i := slices.IndexFunc(it.Parts, func(part Item) bool { return part.hasOwnFields && part.ID == idOf(ref) })
	if i < 0 {
		return nil
	}
	part := &it.Parts[i]
	o = asStored(o).DeepCopy()
	o.SetUID(types.UID(part.uid))
	_, err := r.Live.Apply(ctx, o, cluster.Application{Force: true})
	if err == nil {
		err = r.Live.SetManagedFields(ctx, ref, part.uid, managedByHelm)
	}
	if err != nil {
		return part.fault(err)
	}
	return nil
}

// managedByHelm makes Helm the manager of the fields that fleetc has applied.
func managedByHelm(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool) {
	i := slices.IndexFunc(entries, isOwnApply)
	if i < 0 {
		return entries, false
	}
	own := entries[i]
	own.Manager, own.Operation = cluster.HelmManager, metav1.ManagedFieldsOperationUpdate
	out := slices.Delete(slices.Clone(entries), i, i+1)
	for i, m := range out {
		if m.Manager == own.Manager && m.Operation == own.Operation && m.APIVersion == own.APIVersion && m.Subresource == "" {
			out[i].FieldsV1 = encodeFields(union(entryFields(m), entryFields(own)))
			return out, true
		}
	}
	return append(out, own), true
}

// applyHelm makes Helm install or upgrade a release.
func (r *runner) applyHelm(ctx context.Context, it *Item) error {
	if !it.Action.writes() {
		return nil
	}
	values, _ := it.release.Values.Value().(map[string]any)
	run := r.helmRun(it)
	err := run.Apply(ctx, it.helm, cluster.HelmReleaseSpec{Chart: r.Charts[it.Release], Values: values, Digest: it.digest})
	switch {
	case err != nil && !run.Written:
	case it.Action == Create:
		r.result.Created++
	default:
		r.result.Changed++
	}
	if err != nil {
		return it.withPosition(err)
	}
	state, err := cluster.HelmSecrets.Read(ctx, r.Live, it.ref.Namespace, it.ref.Name)
	if err != nil {
		return err
	}
	it.uid = state.UID
	if e := r.record.entry(it.ref); e != nil {
		e.UID = it.uid
	}
	r.result.Pruned += prunes(it.Parts)
	r.result.Cascaded += cascaded(it.Parts)
	r.report(Event{Stage: it.Stage, ID: it.ID, What: string(it.Action)})
	return nil
}

// pruneHelm makes Helm uninstall a release, or forget one whose objects fleetc now
// applies.
func (r *runner) pruneHelm(ctx context.Context, it *Item) error {
	run := r.helmRun(it)
	if it.handedOver {
		return it.withPosition(run.Forget(ctx))
	}
	run.NoHooks = ownedOf(it.Parts, it.Release) != nil
	if err := run.Uninstall(ctx, it.helm); err != nil {
		return it.withPosition(err)
	}
	r.report(Event{Stage: it.Stage, ID: it.ID, What: "prune"})
	r.result.Pruned += prunes(it.Parts)
	r.result.Cascaded += cascaded(it.Parts)
	return nil
}

// withPosition returns err with the position and the ID of the item where it has
// none.
func (it *Item) withPosition(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return diag.Changed(err, func(d *diag.Diag) {
		if len(d.At) == 0 {
			d.At = it.positions
		}
		d.Path = cmp.Or(d.Path, it.ID)
	})
}

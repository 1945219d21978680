package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// present returns the objects that a release of Helm's has when it is applied.
func (it *Item) present() []*Item {
	var out []*Item
	for i := range it.Parts {
		if it.Parts[i].object != nil {
			out = append(out, &it.Parts[i])
		}
	}
	return out
}

// prunesPart reports whether an object is one that the plan prunes with a release
// of Helm's, and still what it was then: the release's own, and not to be kept.
func (r *runner) prunesPart(it *Item, is *unstructured.Unstructured) bool {
	action, _ := r.pruneOrKeep(is.GroupVersionKind().GroupKind(), is)
	return action == Prune && isPartOf(is, it.ref) && it.partDelivery(r.Fleet).lostTo(is) == "" &&
		slices.ContainsFunc(it.Parts, func(part Item) bool { return part.Action == Prune && part.uid == string(is.GetUID()) })
}

// helmRun returns what does something about a release of Helm's. The waits are ours:
// they end when the lease is lost, and say what holds an object up.
func (r *runner) helmRun(it *Item) *helm.Run {
	release := it.release
	if release == nil {
		release = &fleet.Release{Name: it.Release}
	}
	item := func(o *unstructured.Unstructured) *Item {
		ref := live.RefOf(o)
		return &Item{ID: idOf(ref), Release: it.Release, Stage: it.Stage, ref: ref, release: release, object: o, at: it.at}
	}
	return &helm.Run{
		Live: r.Live, Namespace: it.ref.Namespace, Name: it.ref.Name, Timeout: r.timeout(), Hide: r.hide, May: r.lease.Check,
		Prunes: func(is *unstructured.Unstructured) bool { return r.prunesPart(it, is) },
		Wait: func(ctx context.Context, objects []*unstructured.Unstructured) error {
			items := make([]*Item, len(objects))
			for i, o := range objects {
				items[i] = item(o)
			}
			return r.wait(ctx, it.Stage, items)
		},
		Hook: func(ctx context.Context, o *unstructured.Unstructured) error {
			hook := item(o)
			r.tell(Event{Stage: it.Stage, ID: hook.ID, What: "hook"})
			r.result.Hooks++
			_, fault, err := r.hookEnds(ctx, hook, o)
			return cmp.Or(err, fault)
		},
	}
}

// applyHelm has Helm install or upgrade a release.
func (r *runner) applyHelm(ctx context.Context, it *Item) error {
	if !it.Action.writes() {
		return nil
	}
	values, _ := it.release.Values.Value().(map[string]any)
	run := r.helmRun(it)
	if err := run.Apply(ctx, it.helm, helm.Wanted{Chart: r.Charts[it.Release], Values: values, Digest: it.digest}); err != nil {
		return it.located(err)
	}
	state, err := helm.Read(ctx, r.Live, it.ref.Namespace, it.ref.Name)
	if err != nil {
		return err
	}
	it.uid = state.UID
	r.record.setApplied(it.ref, it.uid, "")
	if it.Action == Create {
		r.result.Created++
	} else {
		r.result.Changed++
	}
	r.result.Pruned += it.prunes()
	r.result.Cascaded += it.cascaded()
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: string(it.Action)})
	return nil
}

// pruneHelm has Helm uninstall a release, or forget one whose objects are
// applied now.
func (r *runner) pruneHelm(ctx context.Context, it *Item) error {
	run := r.helmRun(it)
	if it.handed {
		return it.located(run.Forget(ctx))
	}
	run.NoHooks = ownedOf(it.Parts, it.Release) != nil
	if err := run.Uninstall(ctx); err != nil {
		return it.located(err)
	}
	// Helm starts from the last revision, also when that is one that failed, and
	// others have more.
	for _, part := range it.Parts {
		if part.Action != Prune || it.helm.Status == "deployed" {
			continue
		}
		is, err := r.Live.Object(ctx, part.ref)
		if err == nil && is != nil && r.prunesPart(it, is) {
			err = r.Live.Delete(ctx, part.ref, part.uid)
		}
		if err != nil && live.ReasonOf(err) != live.Moved {
			return part.failed(err)
		}
	}
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: "prune"})
	r.result.Pruned += it.prunes()
	r.result.Cascaded += it.cascaded()
	return nil
}

// located returns err with the place and the name of the item where it has none.
func (it *Item) located(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var out diag.List
	for _, d := range diag.All(err) {
		e := *d
		if len(e.At) == 0 {
			e.At = it.at
		}
		e.Path = cmp.Or(e.Path, it.ID)
		out = append(out, &e)
	}
	return out.Err()
}

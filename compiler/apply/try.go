package apply

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// try decides what happens to an object of the bundle.
func (p *planner) try(ctx context.Context, it *Item) error {
	if same := p.unchanged[it.ID]; same != nil {
		*it = *same
		return nil
	}
	if it.IsHelm() {
		return p.tryHelm(ctx, it)
	}
	if fleet.HasReferences(it.object) {
		it.refuse("it has references to values that are elsewhere, which fleetc apply does not look up", "export it for whoever does, or keep the values with External Secrets")
		return nil
	}
	if holder := p.holder(it); holder != nil && isGoing(holder.Before) && p.before(holder, it) {
		// What is there goes with its namespace or CRD, which is made anew first.
		it.toCome()
		return nil
	}
	ref, served, err := servedRef(ctx, p.Live, it.ref)
	if err != nil {
		return err
	}
	r, readable, err := p.Live.Resource(ctx, ref.GroupVersionKind)
	if err != nil {
		return err
	}
	if readable && !r.Namespaced && it.ref.Namespace != "" {
		it.refuse("the kind has no namespaces", "remove metadata.namespace")
		return nil
	}
	was, err := p.object(ctx, ref)
	if live.ReasonOf(err) == live.Forbidden {
		it.Action, it.Reason = Create, "it cannot be read" // a missing right, which is named with the others
		return nil
	}
	if err != nil {
		return err
	}
	if it.hook != nil && served {
		p.tryHook(it, was)
		return nil
	}
	if it.hook == nil && !p.meets(it, was) {
		return nil
	}
	if !served {
		p.unserved(it, was)
		return nil
	}
	if p.isUpToDate(it, was) {
		it.Action, it.Before, it.applied = Unchanged, nil, p.known[it.ID].Applied
		return nil
	}
	if was == nil {
		if done, err := p.admits(ctx, it); done || err != nil {
			return err
		}
	}
	return p.dryRun(ctx, it, was)
}

// meets notes the object that is there, and reports whether what happens to it is
// still to be found out.
func (p *planner) meets(it *Item, was *unstructured.Unstructured) bool {
	it.Before = was
	p.keepCompleted(it, was)
	if p.completedBefore(it, was) {
		it.Action, it.Before, it.uid = Unchanged, nil, p.known[it.ID].UID
		return false
	}
	if was == nil {
		return true
	}
	it.uid = string(was.GetUID())
	it.foreign = p.known[it.ID].UID != it.uid && ownFields(was) == nil
	if isGoing(was) {
		it.Action, it.After, it.Reason = Create, it.object, "the one that is there is being deleted"
		return false
	}
	it.managers = othersOf(was)
	if p.isForeign(it, was) {
		if !p.mayAdopt(was) {
			it.refuse("it is there already, and "+p.ownerOf(was)+" made it", p.takeOver(was))
			return false
		}
		it.Adopts = true
	}
	it.takeover = p.takeover(it, it.Adopts)
	it.Adopts = it.Adopts || p.handed[it.ID] || len(it.former(was)) > 0
	it.Found = !it.Adopts && (it.foreign || p.known[it.ID].Found)
	return true
}

// isGoing reports whether an object is being deleted.
func isGoing(o *unstructured.Unstructured) bool {
	return o != nil && o.GetDeletionTimestamp() != nil
}

// holder returns the namespace or the CRD of the bundle that the object cannot be
// without, the one that is being deleted first; nil when the bundle has neither.
func (p *planner) holder(it *Item) *Item {
	ns, crd := p.spaces[it.ref.Namespace], p.brought[it.ref.GroupVersionKind]
	if ns == nil || crd != nil && isGoing(crd.Before) {
		return crd
	}
	return ns
}

// toCome notes that an object comes after its namespace or CRD, which are not
// there yet.
func (it *Item) toCome() {
	it.Action, it.After, it.First = Create, it.object, true
	if it.hook != nil {
		it.Action = Hook
	}
}

// servedRef returns how to read an object, and whether the cluster serves it in
// the version of the bundle: an older version may be served until its CRD changes.
func servedRef(ctx context.Context, c *live.Cluster, ref live.Ref) (live.Ref, bool, error) {
	_, served, err := c.Resource(ctx, ref.GroupVersionKind)
	if err != nil || served {
		return ref, served, err
	}
	versions, err := c.Versions(ctx, ref.GroupKind())
	if len(versions) > 0 {
		ref.Version = versions[0]
	}
	return ref, false, err
}

// tryHook decides about a hook, which is as was now. Helm deletes what is there
// of an earlier run and makes it anew. Here this is done with what runs, Jobs and
// pods; other objects may have what nobody has elsewhere, a password or a volume,
// and are applied over.
func (p *planner) tryHook(it *Item, was *unstructured.Unstructured) {
	it.Action, it.Before, it.After = Hook, was, it.object
	if was != nil {
		it.uid = string(was.GetUID())
	}
	if !fleet.HookRuns(it.object) {
		it.hook.deletions = slices.DeleteFunc(it.hook.deletions, func(d string) bool { return d == "before-hook-creation" })
	}
	if was == nil {
		return
	}
	if action, _ := p.pruneOrKeep(it.kind(), was); action == Keep {
		it.hook.deletions = nil
	}
	switch {
	case !it.hook.pre && !it.hook.post:
	case !fleet.IsHook(was):
		it.refuse("an object of this name is there, and is no hook", "rename one of them")
	case fleet.HookRuns(was) && !slices.Contains(it.hook.deletions, "before-hook-creation"):
		it.refuse("it is there from an earlier run, and its hook does not say before-hook-creation", "delete it, or have the chart say so")
	}
}

func (it *Item) refuse(reason, hint string) { it.Action, it.Reason, it.Hint = Refused, reason, hint }

// unserved decides about an object of a kind that the cluster does not serve in
// the version of the bundle; was is how it is in another version.
func (p *planner) unserved(it *Item, was *unstructured.Unstructured) {
	crd := p.brought[it.ref.GroupVersionKind]
	switch {
	case crd == nil:
		it.refuse(fmt.Sprintf("the cluster does not serve %s %s", it.ref.GroupVersion(), it.ref.Kind), "apply the release with its CRD first")
	case !p.before(crd, it):
		it.refuse(it.comesLater("its CRD", crd))
	default:
		it.toCome()
		if was != nil && it.hook == nil {
			it.Action = Change
		}
	}
}

// dryRun has the cluster try out an object, which is as was now.
func (p *planner) dryRun(ctx context.Context, it *Item, was *unstructured.Unstructured) error {
	o := it.leaving(was)
	is, err := p.Live.Apply(ctx, o, live.Application{DryRun: true})
	if live.ReasonOf(err) == live.Conflict {
		it.conflict(err, was, p.Force)
		is, err = p.Live.Apply(ctx, o, live.Application{DryRun: true, Force: true})
		if it.Action == Conflict {
			// What stands against taking the fields is of no interest yet.
			if it.After = is; live.ReasonOf(err) != "" {
				it.After, err = nil, nil
			}
			return err
		}
	}
	if err == nil && was != nil && it.differs(was, is) {
		// A controller may have changed it between the two.
		var again *unstructured.Unstructured
		if again, err = p.Live.Object(ctx, it.ref); err == nil && again != nil {
			it.Before, was = again, again
		}
	}
	switch {
	case err != nil:
		return p.refused(ctx, it, was, err)
	case was == nil:
		it.Action, it.After = Create, it.object
	case it.Adopts:
		return p.adopt(ctx, it, was, is)
	case it.differs(was, is):
		it.Action, it.After = Change, is
	default:
		it.Action, it.Before = Unchanged, nil
		it.applied = it.fingerprint(is)
	}
	return nil
}

// conflict notes the fields that others have, except those from whom the
// object is taken over. Those that the release or force takes stand against nothing.
func (it *Item) conflict(err error, was *unstructured.Unstructured, force Force) {
	former := it.former(was)
	var taken []live.Field
	for _, f := range fieldsOf(err) {
		switch {
		case slices.Contains(former, f.Manager):
		case force.takes(it, f.Manager) || it.takes([]live.Field{f}):
			taken = append(taken, f)
		default:
			it.Fields = append(it.Fields, f)
		}
	}
	switch {
	case len(it.Fields) > 0:
		it.Action = Conflict
		it.Hint = it.conflictHint()
	case len(taken) > 0:
		it.Fields, it.Forced, it.Reason = taken, true, "takes what others have: "+listFields(taken)
	}
}

const silentWebhook = "a webhook that is to be asked does not answer"

// refused decides about an object whose dry run was refused.
func (p *planner) refused(ctx context.Context, it *Item, was *unstructured.Unstructured, err error) error {
	it.untried = true
	action := Create
	if was != nil {
		action = Change
	}
	why := withoutOld(was, err)
	switch live.ReasonOf(err) {
	case "":
		return err
	case live.NotFound:
		p.withoutNamespace(it, why)
	case live.Webhook:
		if p.isApplied(it, was) {
			it.Action, it.Before = Unchanged, nil
			return nil
		}
		it.Action, it.After, it.Reason = action, it.object, silentWebhook
		if was != nil {
			return p.untriedChange(ctx, it, was)
		}
	case live.Forbidden:
		if strings.HasPrefix(err.Error(), "User ") {
			it.Action, it.After = action, it.object // a missing right, which is named with the others
			return nil
		}
		it.refuse(why, "")
	case live.Immutable:
		return p.immutable(ctx, it, was, why)
	default:
		if crd := p.brought[it.ref.GroupVersionKind]; crd != nil && crd.Action == Change && p.before(crd, it) {
			it.Action, it.After, it.Reason = action, it.object, "its CRD changes first"
			return nil
		}
		it.refuse(why, "")
	}
	return nil
}

// isApplied reports, without a dry run, whether an object is as the bundle has
// it: its release was applied as it is, and all of its fields are still there.
func (p *planner) isApplied(it *Item, was *unstructured.Unstructured) bool {
	digest := p.digests.releases[it.Release]
	return was != nil && !it.Adopts && p.inventory.Releases[it.Release] == digest && within(it.leaving(was).Object, was.Object)
}

// within reports whether all of a value is in another.
func within(part, whole any) bool {
	switch part := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for k, v := range part {
			is, has := w[k]
			ok = ok && has && within(v, is)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		return ok && slices.EqualFunc(part, w, within)
	}
	return part == whole
}

// withoutNamespace decides about an object whose namespace is not there.
func (p *planner) withoutNamespace(it *Item, why string) {
	ns := p.spaces[it.ref.Namespace]
	switch {
	case ns == nil && it.ref.Namespace == "":
		it.refuse(why, "")
	case ns == nil:
		it.refuse("there is no namespace "+it.ref.Namespace, "add the Namespace to a release")
	case !p.before(ns, it):
		it.refuse(it.comesLater("its namespace", ns))
	default:
		it.toCome()
	}
}

// differs reports whether an object would be changed, other than in fields that
// its release leaves to others, or fleetc would have other fields of it than now.
func (it *Item) differs(was, is *unstructured.Unstructured) bool {
	before, after := it.withoutLeft(was, is)
	return !reflect.DeepEqual(content(before), content(after)) || !slices.Equal(ownFields(was), ownFields(is))
}

// content returns what of an object its owners decide.
func content(o *unstructured.Unstructured) map[string]any {
	out := make(map[string]any, len(o.Object))
	for k, v := range o.Object {
		if k != "status" {
			out[k] = v
		}
	}
	if meta, ok := out["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(meta))
		for k, v := range meta {
			switch k {
			case "managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds":
			default:
				kept[k] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

// ownFields returns which fields of the object fleetc has.
func ownFields(o *unstructured.Unstructured) []byte {
	for _, m := range o.GetManagedFields() {
		if m.Manager == live.Manager && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == "" && m.FieldsV1 != nil {
			return m.FieldsV1.GetRawBytes()
		}
	}
	return nil
}

// Content returns a copy of an object without what the API server and
// controllers add to it; nil for nil.
func Content(o *unstructured.Unstructured) *unstructured.Unstructured {
	if o == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: content(o)}
}

package apply

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// planObject plans an object of the bundle.
func (p *planner) planObject(ctx context.Context, it *Item) error {
	if p.leavesAsIs(it) {
		return nil
	}
	if it.IsHelm() {
		return p.planHelm(ctx, it)
	}
	if inside, _ := fleet.ReferringFields(it.object); len(inside) > 0 {
		it.refuse("it refers to the secret "+inside[0].Secret+", whose value is not known", "apply from the fleet's files, which declare the secret")
		return nil
	}
	if holder := p.prerequisite(it); holder != nil && isBeingDeleted(holder.Before) && p.before(holder, it) {
		// The live object is deleted with its namespace or CRD, which is recreated
		// first.
		it.createLater()
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
		it.refuse("the kind is cluster-scoped", "remove metadata.namespace")
		return nil
	}
	before, err := p.object(ctx, ref)
	if cluster.ReasonOf(err) == cluster.Forbidden {
		it.Action, it.Reason = Create, "it cannot be read" // a missing right is reported with the others
		return nil
	}
	if err != nil {
		return err
	}
	if it.hook != nil && served {
		p.planHook(it, before)
		return nil
	}
	if it.hook == nil && !p.checkLive(it, before) {
		return nil
	}
	if !served {
		p.planUnserved(it, before)
		return nil
	}
	if p.isUpToDate(it, before) {
		it.Action, it.Before, it.appliedState = Unchanged, nil, p.recorded[it.ID].Applied
		return nil
	}
	if before == nil {
		if done, err := p.planWithoutDryRun(ctx, it); done || err != nil {
			return err
		}
	}
	return p.dryRun(ctx, it, before)
}

// checkLive sets what the live object decides about the plan, and reports whether a
// dry run must decide the rest.
func (p *planner) checkLive(it *Item, before *unstructured.Unstructured) bool {
	it.Before = before
	p.keepCompleted(it, before)
	if p.completedBefore(it, before) {
		it.Action, it.Before, it.uid = Unchanged, nil, p.recorded[it.ID].UID
		return false
	}
	if before == nil {
		return true
	}
	it.uid = string(before.GetUID())
	it.foreign = p.recorded[it.ID].UID != it.uid && ownFields(before) == nil
	if isBeingDeleted(before) {
		it.Action, it.After, it.Reason = Create, it.object, "the existing object is being deleted"
		return false
	}
	it.managers = otherManagers(before)
	if p.isForeign(it, before) {
		if !p.mayAdopt(before) {
			it.refuse("it already exists, and "+p.ownerOf(before)+" created it", p.takeoverHint(before))
			return false
		}
		it.Adopts, it.adopted = true, true
	}
	it.takeover = p.takeover(it, it.Adopts)
	it.Adopts = it.Adopts || p.handedOver[it.ID] || len(it.formerManagers(before)) > 0
	it.Preexisting = p.isPreexisting(it, before)
	it.adopted = it.adopted || p.recorded[it.ID].Adopted && p.isRecorded(it.ID, before)
	return true
}

// isBeingDeleted reports whether an object is being deleted.
func isBeingDeleted(o *unstructured.Unstructured) bool {
	return o != nil && o.GetDeletionTimestamp() != nil
}

// prerequisite returns the namespace or CRD of the bundle that the object needs,
// preferring one that is being deleted; nil when the bundle has neither.
func (p *planner) prerequisite(it *Item) *Item {
	ns, crd := p.bundleNamespaces[it.ref.Namespace], p.bundleCRDs[it.ref.GroupVersionKind]
	if ns == nil || crd != nil && isBeingDeleted(crd.Before) {
		return crd
	}
	return ns
}

// createLater plans the creation of an object whose namespace or CRD does not exist
// yet.
func (it *Item) createLater() {
	it.Action, it.After, it.WaitsForBase = Create, it.object, true
	if it.hook != nil {
		it.Action = Hook
	}
}

// servedRef returns the reference to read an object, and whether the cluster serves
// the bundle's version: it may serve another one until the CRD changes.
func servedRef(ctx context.Context, c *cluster.Cluster, ref cluster.Ref) (cluster.Ref, bool, error) {
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

// planHook plans a hook whose live object is before. Helm deletes and recreates
// objects of an earlier run. fleetc does so only with Jobs and pods; other objects,
// which may be the only copy of a password or a volume, are updated.
func (p *planner) planHook(it *Item, before *unstructured.Unstructured) {
	it.Action, it.Before, it.After = Hook, before, it.object
	if before != nil {
		it.uid = string(before.GetUID())
	}
	if !fleet.HookRuns(it.object) {
		it.hook.deletions = slices.DeleteFunc(it.hook.deletions, func(d string) bool { return d == "before-hook-creation" })
	}
	if before == nil {
		return
	}
	if action, _ := p.pruneOrKeep(it.kind(), before); action == Keep {
		it.hook.deletions = nil
	}
	switch {
	case !it.hook.pre && !it.hook.post:
	case !fleet.IsHook(before):
		it.refuse("an object with this name exists and is not a hook", "rename one of them")
	case fleet.HookRuns(before) && !slices.Contains(it.hook.deletions, "before-hook-creation"):
		it.refuse("it exists from an earlier run, and its hook has no deletion policy before-hook-creation", "delete it, or add the policy to the chart")
	case p.installed[it.Release] && !fleet.HookRuns(before): // Helm may have made it
		it.takeover.named = []string{cluster.HelmManager}
		it.Adopts = len(it.formerManagers(before)) > 0
	}
}

// refusedHint is the hint for an object that the API server refuses.
const refusedHint = "correct the object in the fleet, or what rejects it in the cluster"

// refuse plans that the object cannot be applied. Without a hint, it has refusedHint.
func (it *Item) refuse(reason, hint string) {
	it.Action, it.Reason, it.Hint = Refused, reason, cmp.Or(hint, refusedHint)
}

// planUnserved plans an object whose kind the cluster does not serve in the version
// of the bundle; before is the object in another version, or nil.
func (p *planner) planUnserved(it *Item, before *unstructured.Unstructured) {
	crd := p.bundleCRDs[it.ref.GroupVersionKind]
	switch {
	case crd == nil:
		it.refuse(fmt.Sprintf("the cluster does not serve %s %s", it.ref.GroupVersion(), it.ref.Kind), "apply the release with its CRD first")
	case !p.before(crd, it):
		it.refuse(comesLater(it.release, "its CRD", crd.release))
	default:
		it.createLater()
		if before != nil && it.hook == nil {
			it.Action = Change
		}
	}
}

// dryRun plans an object by sending it as a dry run; before is the live object.
func (p *planner) dryRun(ctx context.Context, it *Item, before *unstructured.Unstructured) error {
	o := it.objectToApply(before)
	after, err := p.Live.Apply(ctx, o, cluster.Application{DryRun: true})
	if cluster.ReasonOf(err) == cluster.Conflict {
		p.recordConflict(it, err, before)
		after, err = p.Live.Apply(ctx, o, cluster.Application{DryRun: true, Force: true})
		if it.Action == Conflict {
			// Errors of the forced apply do not matter yet.
			if it.After = after; cluster.ReasonOf(err) != "" {
				it.After, err = nil, nil
			}
			return err
		}
	}
	if err == nil && before != nil && it.differs(before, after) {
		// A controller may have changed it in between.
		var again *unstructured.Unstructured
		if again, err = p.Live.Object(ctx, it.ref); err == nil && again != nil {
			it.Before, before = again, again
		}
	}
	switch {
	case err != nil:
		return p.dryRunRefused(ctx, it, before, err)
	case before == nil:
		it.Action, it.After = Create, it.object
	case it.Adopts:
		return p.planAdoption(ctx, it, before, after)
	case it.differs(before, after):
		it.Action, it.After = Change, after
	default:
		it.Action, it.Before = Unchanged, nil
		it.appliedState = it.fingerprint(after)
	}
	return nil
}

// recordConflict sets the fields of other managers, except managers whose fields
// are adopted. Fields that the release or force takes are not a conflict.
func (p *planner) recordConflict(it *Item, err error, before *unstructured.Unstructured) {
	former := it.formerManagers(before)
	var taken []cluster.Field
	fields := fieldsOf(err)
	shown := it.withPaths(fields, before)
	for i, f := range fields {
		switch {
		case slices.Contains(former, f.Manager):
		case p.Force.takes(it, f.Manager) || it.takes([]cluster.Field{f}):
			taken = append(taken, shown[i])
		default:
			it.Fields = append(it.Fields, shown[i])
		}
	}
	switch {
	case len(it.Fields) > 0:
		it.Action = Conflict
		it.Hint = p.conflictHint(it)
	case len(taken) > 0:
		it.Fields, it.Forced, it.Reason = taken, true, "takes fields of other managers: "+listFields(taken)
	}
}

const webhookUnavailable = "a webhook does not answer"

// dryRunRefused plans an object whose dry run was rejected.
func (p *planner) dryRunRefused(ctx context.Context, it *Item, before *unstructured.Unstructured, err error) error {
	it.noDryRun = true
	action := Create
	if before != nil {
		action = Change
	}
	why := errorText(before, err)
	switch cluster.ReasonOf(err) {
	case "":
		return err
	case cluster.NotFound:
		p.withoutNamespace(it, why)
	case cluster.Webhook:
		if p.isApplied(it, before) {
			it.Action, it.Before = Unchanged, nil
			return nil
		}
		it.Action, it.After, it.Reason = action, it.object, webhookUnavailable
		if before != nil {
			return p.untriedChange(ctx, it, before)
		}
	case cluster.Forbidden:
		if cluster.IsMissingRight(err) {
			it.Action, it.After = action, it.object // a missing right is reported with the others
			return nil
		}
		it.refuse(why, "")
	case cluster.Immutable:
		return p.planImmutable(ctx, it, before, why)
	default:
		if crd := p.bundleCRDs[it.ref.GroupVersionKind]; crd != nil && crd.Action == Change && p.before(crd, it) {
			it.Action, it.After, it.Reason = action, it.object, "its CRD changes first"
			return nil
		}
		if done, err := p.planUnstored(ctx, it, before); done || err != nil {
			return err
		}
		it.refuse(why, "")
	}
	return nil
}

// isApplied reports without a dry run whether an object is up to date: its release
// is recorded as applied, and all of its fields are unchanged.
func (p *planner) isApplied(it *Item, before *unstructured.Unstructured) bool {
	digest := p.digests.releases[it.Release]
	return before != nil && !it.Adopts && p.inventory.Releases[it.Release] == digest && contains(it.objectToApply(before).Object, before.Object)
}

// contains reports whether whole contains all of part.
func contains(part, whole any) bool {
	switch part := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for k, v := range part {
			other, exists := w[k]
			ok = ok && exists && contains(v, other)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		return ok && slices.EqualFunc(part, w, contains)
	}
	return part == whole
}

// withoutNamespace plans an object whose namespace does not exist.
func (p *planner) withoutNamespace(it *Item, why string) {
	ns := p.bundleNamespaces[it.ref.Namespace]
	switch {
	case ns == nil && it.ref.Namespace == "":
		it.refuse(why, "")
	case ns == nil:
		it.refuse("there is no namespace "+it.ref.Namespace, "add the Namespace to a release")
		it.noNamespace = true
	case !p.before(ns, it):
		it.refuse(comesLater(it.release, "its namespace", ns.release))
	default:
		it.createLater()
	}
}

// differs reports whether an apply changes the object, apart from fields that its
// release leaves to others, or changes which fields fleetc owns.
func (it *Item) differs(before, after *unstructured.Unstructured) bool {
	b, a := it.withoutLeftFields(before, after)
	return !reflect.DeepEqual(content(b), content(a)) || !slices.Equal(ownFields(before), ownFields(after))
}

// content returns the fields of an object without the status and server-side
// metadata.
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

// ownFields returns the fields of the object that fleetc applied.
func ownFields(o *unstructured.Unstructured) []byte {
	for _, m := range o.GetManagedFields() {
		if isOwnApply(m) && m.FieldsV1 != nil {
			return m.FieldsV1.GetRawBytes()
		}
	}
	return nil
}

// Content returns a copy of an object without the status and metadata that the API
// server and controllers add; nil for nil.
func Content(o *unstructured.Unstructured) *unstructured.Unstructured {
	if o == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: content(o)}
}

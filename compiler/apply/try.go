package apply

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/live"
)

// try decides what happens to an object of the bundle.
func (p *planner) try(ctx context.Context, it *Item) error {
	r, served, err := p.Live.Resource(ctx, it.ref.GroupVersionKind)
	if err != nil {
		return err
	}
	if !served {
		p.unserved(it)
		return nil
	}
	if !r.Namespaced && it.ref.Namespace != "" {
		it.refuse("the kind has no namespaces", "remove metadata.namespace")
		return nil
	}
	was, err := p.Live.Object(ctx, it.ref)
	if live.ReasonOf(err) == live.Forbidden {
		it.Action, it.Reason = Create, "it cannot be read" // a missing right, which is named with the others
		return nil
	}
	if err != nil {
		return err
	}
	if it.hook != nil {
		p.tryHook(it, was)
		return nil
	}
	it.Before = was
	if was != nil {
		it.uid = string(was.GetUID())
		if p.isForeign(it, was) {
			if !p.Adopt {
				it.refuse("it is there already, and "+ownerOf(was)+" made it", "pass --adopt to take it over")
				return nil
			}
			it.Adopts = true
		}
	}
	it.foreign = was != nil && p.known[it.ID].UID != it.uid && ownFields(was) == nil
	it.Found = was != nil && !it.Adopts && (it.foreign || p.known[it.ID].Found)
	if was != nil && was.GetDeletionTimestamp() != nil {
		it.Action, it.After, it.Reason = Create, it.object, "the one that is there is being deleted"
		return nil
	}
	return p.dryRun(ctx, it, was)
}

// tryHook decides about a hook, which is as was now. Helm deletes what is there
// of an earlier run and makes it anew. Here this is done with what runs, Jobs and
// pods; other objects may have what nobody has elsewhere, a password or a volume,
// and are applied over.
func (p *planner) tryHook(it *Item, was *unstructured.Unstructured) {
	it.Action, it.Before, it.After = Hook, was, it.object
	if !runs(it.object) {
		it.hook.deletions = slices.DeleteFunc(it.hook.deletions, func(d string) bool { return d == "before-hook-creation" })
	}
	if was == nil {
		return
	}
	if action, _ := p.pruneOrKeep(it.kind(), was); action == Keep {
		it.hook.deletions = nil
	}
	switch _, isHook := was.GetAnnotations()[hookAnnotation]; {
	case !it.hook.pre && !it.hook.post:
	case !isHook:
		it.refuse("an object of this name is there, and is no hook", "rename one of them")
	case runs(was) && !slices.Contains(it.hook.deletions, "before-hook-creation"):
		it.refuse("it is there from an earlier run, and its hook does not say before-hook-creation", "delete it, or have the chart say so")
	}
}

func (it *Item) refuse(reason, hint string) { it.Action, it.Reason, it.Hint = Refused, reason, hint }

// unserved decides about an object of a kind that the cluster does not serve.
func (p *planner) unserved(it *Item) {
	crd := p.brought[it.ref.GroupVersionKind]
	switch {
	case crd == nil:
		it.refuse(fmt.Sprintf("the cluster does not serve %s %s", it.ref.GroupVersion(), it.ref.Kind), "apply the release with its CRD first")
	case !p.before(crd, it):
		it.refuse(fmt.Sprintf("its CRD comes with release %s of the later stage %s", crd.Release, crd.Stage), "move one of them to another stage")
	default:
		it.Action, it.After, it.First = Create, it.object, true
		if it.hook != nil {
			it.Action = Hook
		}
	}
}

// dryRun has the cluster try out an object, which is as was now.
func (p *planner) dryRun(ctx context.Context, it *Item, was *unstructured.Unstructured) error {
	is, err := p.Live.Apply(ctx, it.object, live.Application{DryRun: true})
	if live.ReasonOf(err) == live.Conflict {
		it.conflict(err, was)
		if p.ForceConflicts && it.Action == Conflict {
			it.Action, it.Hint, it.Forced = "", "", true
			it.Reason = "takes what others have: " + listFields(it.Fields)
		}
		if is, err = p.Live.Apply(ctx, it.object, live.Application{DryRun: true, Force: true}); err == nil && it.Action == Conflict {
			it.After = is
			return nil
		}
	}
	if err == nil && was != nil && differs(was, is) {
		// A controller may have changed it between the two.
		var again *unstructured.Unstructured
		if again, err = p.Live.Object(ctx, it.ref); err == nil && again != nil {
			it.Before, was = again, again
		}
	}
	switch {
	case err != nil:
		return p.refused(it, was, err)
	case was == nil:
		it.Action, it.After = Create, it.object
	case it.Adopts || differs(was, is):
		it.Action, it.After = Change, is
	default:
		it.Action, it.Before = Unchanged, nil
	}
	return nil
}

// conflict notes the fields that others have, except those from whom the
// object is taken over.
func (it *Item) conflict(err error, was *unstructured.Unstructured) {
	var former []string
	if it.Adopts {
		former = formerManagers(was)
	}
	for _, f := range fieldsOf(err) {
		if !slices.Contains(former, f.Manager) {
			it.Fields = append(it.Fields, f)
		}
	}
	if len(it.Fields) > 0 {
		it.Action, it.Reason = Conflict, ""
		it.Hint = "pass --force-conflicts to take these fields, or leave them out of the release"
	}
}

// refused decides about an object whose dry run was refused.
func (p *planner) refused(it *Item, was *unstructured.Unstructured, err error) error {
	action := Create
	if was != nil {
		action = Change
	}
	switch live.ReasonOf(err) {
	case "":
		return err
	case live.NotFound:
		p.withoutNamespace(it, err)
	case live.Webhook:
		if p.isApplied(it, was) {
			it.Action, it.Before = Unchanged, nil
			return nil
		}
		it.Action, it.After, it.Reason = action, it.object, "a webhook that is to be asked does not answer"
	case live.Forbidden:
		if strings.HasPrefix(err.Error(), "User ") {
			it.Action, it.After = action, it.object // a missing right, which is named with the others
			return nil
		}
		it.refuse(err.Error(), "")
	case live.Immutable:
		it.Action, it.Reason = Immutable, err.Error()
		it.Hint = "change it back, or delete the object yourself: fleetc deletes nothing to make it anew"
	default:
		if crd := p.brought[it.ref.GroupVersionKind]; crd != nil && crd.Action == Change && p.before(crd, it) {
			it.Action, it.After, it.Reason = action, it.object, "its CRD changes first"
			return nil
		}
		it.refuse(err.Error(), "")
	}
	return nil
}

// isApplied reports, without a dry run, whether an object is as the bundle has
// it: its release was applied as it is, and all of its fields are still there.
func (p *planner) isApplied(it *Item, was *unstructured.Unstructured) bool {
	digest := p.digests.releases[it.Release]
	return was != nil && !it.Adopts && p.inventory.Releases[it.Release] == digest && within(it.object.Object, was.Object)
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
func (p *planner) withoutNamespace(it *Item, err error) {
	ns := p.spaces[it.ref.Namespace]
	switch {
	case ns == nil && it.ref.Namespace == "":
		it.refuse(err.Error(), "")
	case ns == nil:
		it.refuse("there is no namespace "+it.ref.Namespace, "add the Namespace to a release")
	case !p.before(ns, it):
		it.refuse(fmt.Sprintf("its namespace comes with release %s of the later stage %s", ns.Release, ns.Stage), "move one of them to another stage")
	default:
		it.Action, it.After, it.First = Create, it.object, true
	}
}

// differs reports whether an object would be changed, or fleetc would have
// other fields of it than now.
func differs(was, is *unstructured.Unstructured) bool {
	return !reflect.DeepEqual(content(was), content(is)) || !slices.Equal(ownFields(was), ownFields(is))
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

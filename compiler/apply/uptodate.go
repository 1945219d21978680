package apply

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/live"
)

// This file decides which objects need no dry run, and no read at all.

// openReader makes one reader of everything that the plan reads: the objects of the
// bundle and of the inventory, without those that an earlier plan found unchanged.
func (p *planner) openReader() {
	var refs []live.Ref
	for _, o := range p.Bundle.Objects {
		if p.inScope(o.Release.Stage, o.Release.Name) && p.unchanged[o.ID()] == nil {
			refs = append(refs, live.RefOf(o.Unstructured))
		}
	}
	for _, e := range p.inventory.Objects {
		if ref := e.ref(); ref.GroupVersionKind != helmKind && p.unchanged[e.id()] == nil {
			refs = append(refs, ref)
		}
	}
	p.reader = p.Live.NewReader(refs)
}

// object returns an object of the cluster, nil when it does not exist.
func (p *planner) object(ctx context.Context, ref live.Ref) (*unstructured.Unstructured, error) {
	if p.reader == nil {
		return p.Live.Object(ctx, ref)
	}
	return p.reader.Object(ctx, ref)
}

// follow takes over what an earlier plan found unchanged. It returns that plan, or
// nil when another apply has written the inventory since, or there is none.
func (p *planner) follow(earlier *Plan) *Plan {
	if earlier == nil || earlier.inventory.version != p.inventory.version || earlier.Bundle != p.Bundle.Digest {
		return nil
	}
	p.unchanged = map[string]*Item{}
	for i := range earlier.Items {
		if it := &earlier.Items[i]; it.Action == Unchanged {
			p.unchanged[it.ID] = it
		}
	}
	return earlier
}

// isUpToDate reports whether an object is as the last apply left it, and the
// bundle would apply the same again: a dry run would change nothing.
func (p *planner) isUpToDate(it *Item, was *unstructured.Unstructured) bool {
	known := p.known[it.ID]
	if was == nil || it.hook != nil || it.Adopts || known.Applied == "" || known.UID != string(was.GetUID()) {
		return false
	}
	return known.Applied == it.fingerprint(was)
}

// fingerprint returns a digest of what decides whether applying the object again
// changes anything: the fields that are sent, which fields of the live object the
// manager fleetc owns, and their values. Fields of other managers are not in it:
// server-side apply does not look at them. It is empty when fleetc owns nothing of
// the object in the version of the bundle.
func (it *Item) fingerprint(is *unstructured.Unstructured) string {
	for _, m := range is.GetManagedFields() {
		if m.Manager != live.Manager || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" || m.FieldsV1 == nil {
			continue
		}
		var own fieldSet
		raw := m.FieldsV1.GetRawBytes()
		if m.APIVersion != it.object.GetAPIVersion() || is.GetAPIVersion() != m.APIVersion || json.Unmarshal(raw, &own) != nil {
			return ""
		}
		return stateOf(it.leaving(is).Object, string(raw), only(is.Object, own))
	}
	return ""
}

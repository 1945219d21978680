package apply

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file decides which objects need no dry run and no read.

// openReader creates the reader of some objects of the bundle and of all objects of the
// inventory, except those that known reports.
func (p *planner) openReader(objects []fleet.Object, known func(id string) bool) {
	var refs []cluster.Ref
	for _, o := range objects {
		if p.inScope(o.Release.Stage, o.Release.Name) && !known(o.ID()) {
			refs = append(refs, cluster.RefOf(o.Unstructured))
		}
	}
	for _, e := range p.inventory.Objects {
		if ref := e.ref(); ref.GroupVersionKind != helmKind && !known(e.id()) {
			refs = append(refs, ref)
		}
	}
	p.reader = p.Live.NewReader(refs)
}

// object returns an object of the cluster, nil when it does not exist.
func (p *planner) object(ctx context.Context, ref cluster.Ref) (*unstructured.Unstructured, error) {
	if p.reader == nil {
		return p.Live.Object(ctx, ref)
	}
	return p.reader.Object(ctx, ref)
}

// reuseUnchanged reuses the unchanged items of an earlier plan. It returns that
// plan, or nil when it does not apply any more.
func (p *planner) reuseUnchanged(earlier *Plan) *Plan {
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

// isUpToDate reports whether an object is unchanged since the last apply and equal
// to the one in the bundle, so that a dry run would change nothing.
func (p *planner) isUpToDate(it *Item, before *unstructured.Unstructured) bool {
	known := p.recorded[it.ID]
	if before == nil || it.hook != nil || it.Adopts || known.Applied == "" || known.UID != string(before.GetUID()) {
		return false
	}
	return known.Applied == it.fingerprint(before)
}

// fingerprint returns a digest of everything that decides whether another apply
// changes the object: the applied fields, the set of fields that fleetc owns, and
// their values. Server-side apply ignores the fields of other managers. It is empty
// when fleetc owns nothing of the object in the version of the bundle.
func (it *Item) fingerprint(current *unstructured.Unstructured) string {
	for _, m := range current.GetManagedFields() {
		if !isOwnApply(m) || m.FieldsV1 == nil {
			continue
		}
		var own fieldSet
		raw := m.FieldsV1.GetRawBytes()
		if m.APIVersion != it.object.GetAPIVersion() || current.GetAPIVersion() != m.APIVersion || json.Unmarshal(raw, &own) != nil {
			return ""
		}
		return stateOf(it.objectToApply(current).Object, string(raw), keepFields(current.Object, own))
	}
	return ""
}

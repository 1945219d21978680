package apply

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// helmRelease is the annotation with the Helm release of an object.
const helmRelease = "meta.helm.sh/release-name"

// fieldsOf returns the fields that an API error names.
func fieldsOf(err error) []cluster.Field {
	if e, ok := errors.AsType[*cluster.Error](err); ok {
		return e.Fields
	}
	return nil
}

// isForeign reports whether an existing object belongs to another tool: the
// inventory does not have it (or only as an object that Helm kept), and fleetc
// never applied it or another tool manages it now. Another fleet uses the same
// field manager, so that the API server reports no conflict. Namespaces of other tools and
// objects of the control plane are never foreign.
func (p *planner) isForeign(it *Item, before *unstructured.Unstructured) bool {
	known := p.recorded[it.ID]
	switch {
	case otherFleet(before, p.Fleet) != "":
		return true
	case it.kind() == (schema.GroupKind{Kind: "Namespace"}):
		return false
	case known.UID == it.uid && !known.Kept:
		return false
	}
	if ownFields(before) != nil {
		owner, _ := delivery{fleet: p.Fleet}.otherOwner(before)
		return owner != "" && !known.Kept
	}
	return slices.ContainsFunc(before.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "" && !isControlPlane(m.Manager)
	})
}

// isPreexisting reports whether an object existed before fleetc applied it and is not
// adopted. Namespaces are adopted only from Helm. If the inventory does not have a
// namespace that fleetc has applied, because it is lost or another fleet applied it,
// the managers of the namespace decide.
func (p *planner) isPreexisting(it *Item, before *unstructured.Unstructured) bool {
	known := p.recorded[it.ID]
	if it.kind() != (schema.GroupKind{Kind: "Namespace"}) {
		return !it.Adopts && (it.foreign || known.Preexisting)
	}
	return !p.handedOver[it.ID] && (it.foreign || known.Preexisting || known.UID != it.uid && otherCreator(before) != "")
}

// otherCreator returns a manager other than fleetc that may have created a namespace,
// empty when there is none. Managers of the status do not count.
func otherCreator(namespace *unstructured.Unstructured) string {
	for _, m := range namespace.GetManagedFields() {
		if !isOwn(m) && m.Subresource == "" {
			return diag.Visible(m.Manager, diag.MaxText)
		}
	}
	return ""
}

// ownerOf names the tool that made an object.
func (p *planner) ownerOf(o *unstructured.Unstructured) string {
	owner, _ := delivery{fleet: p.Fleet}.otherOwner(o)
	return cmp.Or(owner, strings.Join(otherManagers(o), " and "))
}

// takeoverHint says what to do about an object of another tool. Flux, for example,
// would revert the changes of fleetc.
func (p *planner) takeoverHint(o *unstructured.Unstructured) string {
	if p.Origin.Rollback > 0 {
		return p.adoptHint()
	}
	if _, hint := (delivery{fleet: p.Fleet}).otherOwner(o); hint != "" {
		return hint
	}
	if len(p.AdoptFrom) > 0 {
		return "pass --adopt, or name one of its managers with --adopt=from:NAME"
	}
	return p.adoptHint()
}

// adoptHint says how to adopt an object. Rollbacks do not adopt.
func (p *planner) adoptHint() string {
	if p.Origin.Rollback > 0 {
		return "restore the fleet's files of the revision, and run fleetc apply --adopt: a rollback takes over no objects"
	}
	return "pass --adopt to take it over"
}

// mayAdopt reports whether the options allow to adopt an object of another tool:
// with Adopt from any tool that does not revert changes, with AdoptFrom from the
// named managers.
func (p *planner) mayAdopt(o *unstructured.Unstructured) bool {
	if len(takeover{named: p.AdoptFrom}.managers(o)) > 0 {
		return true
	}
	_, hint := delivery{fleet: p.Fleet}.otherOwner(o)
	return p.Adopt && hint == ""
}

// mayAdoptHelm is mayAdopt for a release in Helm's storage.
func (o Options) mayAdoptHelm() bool {
	return o.Adopt || slices.ContainsFunc(o.AdoptFrom, func(name string) bool { return strings.EqualFold(name, cluster.HelmManager) })
}

// takeover chooses the managers whose fields fleetc takes over. adopted says
// whether another tool made the object. Namespaces are shared: they are adopted
// only from Helm.
func (p *planner) takeover(it *Item, adopted bool) takeover {
	if it.kind() == (schema.GroupKind{Kind: "Namespace"}) {
		return takeover{handed: p.handedOver[it.ID]}
	}
	known := p.recorded[it.ID]
	return takeover{
		appliers: adopted && p.Adopt, handed: p.handedOver[it.ID], named: p.AdoptFrom,
		byHand: p.Strict && !adopted && known.UID == it.uid && !known.Preexisting,
	}
}

// unusedAdoptFrom returns the names of AdoptFrom that are not a manager of any
// object.
func (p *planner) unusedAdoptFrom() []string {
	return slices.DeleteFunc(slices.Clone(p.AdoptFrom), func(name string) bool {
		return slices.ContainsFunc(withParts(p.items), func(it *Item) bool { return slices.ContainsFunc(it.managers, takeover{named: []string{name}}.names) })
	})
}

// otherManagers returns the field managers of an object except fleetc, the control
// plane and managers of the status, sorted.
func otherManagers(o *unstructured.Unstructured) []string {
	var names []string
	for _, m := range o.GetManagedFields() {
		if m.Subresource == "" && m.Manager != cluster.Manager && !isControlPlane(m.Manager) {
			names = append(names, diag.Visible(m.Manager, diag.MaxText))
		}
	}
	return diag.Distinct(names)
}

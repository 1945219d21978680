package apply

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// helmRelease is the annotation by which Helm knows its objects.
const helmRelease = "meta.helm.sh/release-name"

// fieldsOf returns the fields that an error of a cluster is about.
func fieldsOf(err error) []live.Field {
	var e *live.Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.Fields
}

// isForeign reports whether another tool made an object that is there: the
// inventory does not have it, other than as an object that Helm kept, and fleetc
// never applied it or another tool manages it by now. Another fleet takes objects over
// with the same field manager, so that the API server reports no conflict. The control
// plane makes objects for all, and namespaces are shared.
func (p *planner) isForeign(it *Item, was *unstructured.Unstructured) bool {
	known := p.known[it.ID]
	switch {
	case it.kind() == (schema.GroupKind{Kind: "Namespace"}):
		return false
	case otherFleet(was, p.Fleet) != "":
		return true
	case known.UID == it.uid && !known.Kept:
		return false
	}
	if ownFields(was) != nil {
		owner, _ := delivery{fleet: p.Fleet}.otherOwner(was)
		return owner != "" && !known.Kept
	}
	return slices.ContainsFunc(was.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "" && !strings.HasPrefix(m.Manager, "kube-")
	})
}

// ownerOf says who made an object.
func (p *planner) ownerOf(o *unstructured.Unstructured) string {
	owner, _ := delivery{fleet: p.Fleet}.otherOwner(o)
	return cmp.Or(owner, strings.Join(othersOf(o), " and "))
}

// takeOver says what to do about an object that another tool made. Flux would put
// back what fleetc changes.
func (p *planner) takeOver(o *unstructured.Unstructured) string {
	if _, hint := (delivery{fleet: p.Fleet}).otherOwner(o); hint != "" {
		return hint
	}
	if len(p.AdoptFrom) > 0 {
		return "pass --adopt, or name one of its managers with --adopt=from:NAME"
	}
	return "pass --adopt to take it over"
}

// mayAdopt reports whether fleetc may take over an object that another tool made:
// from any tool that does not put back what fleetc changes, or from a manager that
// the user has named.
func (p *planner) mayAdopt(o *unstructured.Unstructured) bool {
	if len(takeover{named: p.AdoptFrom}.chosen(o)) > 0 {
		return true
	}
	_, hint := delivery{fleet: p.Fleet}.otherOwner(o)
	return p.Adopt && hint == ""
}

// mayAdoptHelm is mayAdopt for a release that Helm has stored.
func (o Options) mayAdoptHelm() bool {
	return o.Adopt || slices.ContainsFunc(o.AdoptFrom, func(name string) bool { return strings.EqualFold(name, helm.Manager) })
}

// takeover chooses the managers that an object is taken over from. adopted says
// whether another tool made it. Namespaces are shared.
func (p *planner) takeover(it *Item, adopted bool) takeover {
	if it.kind() == (schema.GroupKind{Kind: "Namespace"}) {
		return takeover{handed: p.handed[it.ID]}
	}
	known := p.known[it.ID]
	return takeover{
		appliers: adopted && p.Adopt, handed: p.handed[it.ID], named: p.AdoptFrom,
		byHand: p.Strict && !adopted && known.UID == it.uid && !known.Found,
	}
}

// notAdopted returns the names of AdoptFrom that no object has as a manager.
func (p *planner) notAdopted() []string {
	return slices.DeleteFunc(slices.Clone(p.AdoptFrom), func(name string) bool {
		return slices.ContainsFunc(p.items, func(it Item) bool {
			return slices.ContainsFunc(append([]Item{it}, it.Parts...), func(it Item) bool { return slices.Contains(it.managers, name) })
		})
	})
}

// othersOf returns who else than fleetc and the control plane wrote to an
// object, its status aside.
func othersOf(o *unstructured.Unstructured) []string {
	var names []string
	for _, m := range o.GetManagedFields() {
		if m.Subresource == "" && m.Manager != live.Manager && !strings.HasPrefix(m.Manager, "kube-") {
			names = append(names, diag.Visible(m.Manager, diag.MaxText))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

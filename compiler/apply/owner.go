package apply

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/helm"
)

// This file recognizes the tool that manages an object: adoption asks it before
// fleetc takes an object over, pruning before fleetc deletes one.

// A delivery says how fleetc brought an object into a cluster, so that its own
// marks are not taken for those of another tool. The zero value is for an object
// that fleetc did not bring.
type delivery struct {
	fleet string // module

	// release is the name of the Helm release that the object was delivered with,
	// empty when fleetc applied it; namespace is empty when it is not known.
	release, namespace string
}

// wrote reports whether the entry has the fields that fleetc set.
func (d delivery) wrote(m metav1.ManagedFieldsEntry) bool {
	return m.Subresource == "" && (isOwn(m) || d.release != "" && m.Manager == helm.Manager)
}

// marks are the labels and annotations of an object that fleetc did not set.
type marks struct{ labels, annotations map[string]string }

// marksOf returns the labels and annotations of an object that a manager other
// than those chosen has, or nobody.
func marksOf(o *unstructured.Unstructured, own func(metav1.ManagedFieldsEntry) bool) marks {
	meta := fieldsWhere(o, own)["f:metadata"]
	without := func(texts map[string]string, own fieldSet) map[string]string {
		out := map[string]string{}
		for key, text := range texts {
			if _, ok := own["f:"+key]; !ok {
				out[key] = diag.Visible(text, diag.MaxText)
			}
		}
		return out
	}
	return marks{without(o.GetLabels(), meta["f:labels"]), without(o.GetAnnotations(), meta["f:annotations"])}
}

// A tool recognizes the objects that it manages.
type tool struct {
	name string // Flux
	// owner returns what of the tool the object belongs to, Kustomization apps/web,
	// and whether it belongs to the tool.
	owner func(marks) (string, bool)
	hint  string // what to do instead of adopting the object; empty when adopting it is enough
}

const fluxHint = "change it where Flux reads it; or have Flux stop applying it, and pass --adopt=from:"

// tools are those that mark their objects, but Helm and fleetc. Where
// several tools mark an object, such as Flux and Helm, the first is the one to ask.
var tools = []tool{
	{"Flux", func(m marks) (string, bool) { return named(m.labels, "Kustomization", "kustomize.toolkit.fluxcd.io/") }, fluxHint + "kustomize-controller"},
	{"Flux", func(m marks) (string, bool) { return named(m.labels, "HelmRelease", "helm.toolkit.fluxcd.io/") }, fluxHint + "helm-controller"},
	{"Argo CD", argoApplication, ""},
	{"kapp", func(m marks) (string, bool) { return prefixed("app ", m.labels["kapp.k14s.io/app"]) }, ""},
	{"Config Sync", configSync, ""},
	{"Rancher", rancherObjects, ""},
}

// named returns the object that the labels PREFIXname and PREFIXnamespace name.
func named(texts map[string]string, kind, prefix string) (string, bool) {
	return prefixed(kind+" ", joined(texts[prefix+"namespace"], texts[prefix+"name"]))
}

// joined returns the name in the namespace, empty for an empty name.
func joined(namespace, name string) string {
	if name == "" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// prefixed returns the name after a prefix, and whether there is a name.
func prefixed(prefix, name string) (string, bool) { return prefix + name, name != "" }

// argoApplication returns the application of Argo CD that tracks an object.
func argoApplication(m marks) (string, bool) {
	app, _, _ := strings.Cut(m.annotations["argocd.argoproj.io/tracking-id"], ":")
	return prefixed("application ", cmp.Or(app, m.labels["argocd.argoproj.io/instance"]))
}

// configSync reports whether Config Sync manages an object, and which part of it.
func configSync(m marks) (string, bool) {
	isIts := func(key string) bool { return strings.HasPrefix(key, "configsync.gke.io/") }
	_, inLabels := anyKey(m.labels, isIts)
	_, inAnnotations := anyKey(m.annotations, isIts)
	managed := m.annotations["configmanagement.gke.io/managed"]
	return m.annotations["configsync.gke.io/manager"], managed != "disabled" && (managed != "" || inLabels || inAnnotations)
}

// rancherObjects returns what Rancher Fleet, or another controller of Rancher's,
// manages an object for.
func rancherObjects(m marks) (string, bool) {
	const prefix = "objectset.rio.cattle.io/"
	isIts := func(key string) bool { return strings.HasPrefix(key, prefix) }
	_, inLabels := anyKey(m.labels, isIts)
	_, inAnnotations := anyKey(m.annotations, isIts)
	_, kind, _ := strings.Cut(m.annotations[prefix+"owner-gvk"], "Kind=")
	owner := joined(m.annotations[prefix+"owner-namespace"], m.annotations[prefix+"owner-name"])
	return strings.TrimSpace(kind + " " + owner), inLabels || inAnnotations
}

// anyKey returns a key that is wanted, the first in the order of names.
func anyKey(texts map[string]string, wanted func(string) bool) (key string, found bool) {
	for k := range texts {
		if wanted(k) && (!found || k < key) {
			key, found = k, true
		}
	}
	return key, found
}

// otherFleet returns the CUE module of the fleet that has applied an object, if it is
// another.
func otherFleet(o *unstructured.Unstructured, than string) string {
	if module := o.GetAnnotations()[fleet.FleetAnnotation]; module != than {
		return diag.Visible(module, diag.MaxText)
	}
	return ""
}

// otherOwner returns the tool that manages an object by its marks, with what of
// the tool it belongs to: Flux Kustomization apps/web. It is empty for an object
// without such marks. Marks that fleetc set itself, as the bundle has them, do not
// count. The hint says what to do instead of adopting the object, if anything.
func (d delivery) otherOwner(o *unstructured.Unstructured) (owner, hint string) {
	its := marksOf(o, d.wrote)
	for _, t := range tools {
		if of, ok := t.owner(its); ok {
			return strings.TrimSpace(t.name + " " + of), t.hint
		}
	}
	if module := otherFleet(o, d.fleet); module != "" {
		return "fleet " + module + " of fleetc", ""
	}
	notApplied := marksOf(o, isOwn).annotations // Helm writes those of its own release and of others by one name
	name, namespace := notApplied[helmRelease], notApplied[helmNamespace]
	if name != "" && (name != d.release || d.namespace != "" && d.namespace != namespace) {
		return "Helm release " + joined(namespace, name), ""
	}
	return "", ""
}

// lostTo returns the tool that manages an object by now which fleetc brought, by
// its marks, or the managers that have taken all of fleetc's fields; empty when
// the object is still fleetc's.
func (d delivery) lostTo(o *unstructured.Unstructured) string {
	if owner, _ := d.otherOwner(o); owner != "" {
		return owner
	}
	if slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return d.wrote(m) && (m.Operation == metav1.ManagedFieldsOperationApply || !isOwn(m))
	}) {
		return ""
	}
	return strings.Join(othersOf(o), " and ")
}

// deliveryOf says how fleetc brought an object of the inventory. Helm wrote the
// objects that it kept, and those that fleetc applies from now on.
func (p *planner) deliveryOf(ctx context.Context, e Entry, is *unstructured.Unstructured) (delivery, error) {
	d := delivery{fleet: p.Fleet}
	switch {
	case p.handed[e.id()], e.Kept && ownFields(is) == nil:
		d.release = e.Release
	case e.Kept && is.GetAnnotations()[helmRelease] == e.Release:
		// fleetc applied it, then Helm did. A release that is gone owns nothing.
		state, err := helm.Read(ctx, p.Live, is.GetAnnotations()[helmNamespace], e.Release)
		if err != nil {
			return d, err
		}
		if state.Revision == 0 {
			d.release = e.Release
		}
	}
	return d, nil
}

// lostTo returns the tool that manages an object of the inventory by now; empty
// when it is still fleetc's, or another object of that name.
func (p *planner) lostTo(ctx context.Context, it *Item, is *unstructured.Unstructured) (string, error) {
	if !p.isOurs(it.ID, is) {
		return "", nil
	}
	var err error
	if it.delivery, err = p.deliveryOf(ctx, p.known[it.ID], is); err != nil {
		return "", err
	}
	return it.delivery.lostTo(is), nil
}

// leaveTo keeps an object that another tool manages by now. It leaves the
// inventory.
func (it *Item) leaveTo(owner string) {
	it.Action, it.Owner, it.Reason = Keep, owner, owner+" owns it now"
}

// partDelivery says how the objects of a release came that Helm delivers.
func (it *Item) partDelivery(module string) delivery {
	return delivery{fleet: module, release: it.ref.Name, namespace: it.ref.Namespace}
}

// ownedOf returns an object of a release that another tool manages by now; nil
// when there is none.
func ownedOf(items []Item, release string) *Item {
	for i := range items {
		if items[i].Release == release && items[i].Owner != "" {
			return &items[i]
		}
	}
	return nil
}

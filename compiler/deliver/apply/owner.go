package apply

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file recognizes the tool that manages an object, for adoption and pruning.

// A delivery says how fleetc delivered an object, so that fleetc's own labels and
// annotations do not count as another tool's. The zero value is for an object that
// fleetc did not deliver.
type delivery struct {
	fleet string // CUE module

	// release is the Helm release that delivered the object, empty when fleetc
	// applied it; namespace is empty when unknown.
	release, namespace string
}

// wrote reports whether fleetc is the manager of the entry, directly or through
// Helm.
func (d delivery) wrote(m metav1.ManagedFieldsEntry) bool {
	return m.Subresource == "" && (isOwn(m) || d.release != "" && m.Manager == cluster.HelmManager)
}

// marks are the labels and annotations that fleetc did not set on an object.
type marks struct{ labels, annotations map[string]string }

// have reports whether a key begins with the prefix.
func (m marks) have(prefix string) bool {
	for _, texts := range []map[string]string{m.labels, m.annotations} {
		for key := range texts {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
	}
	return false
}

// marksOf returns the labels and annotations of an object that no own manager has.
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
	// owner returns the tool's object that manages the marked object, such as
	// Kustomization apps/web, and whether the tool manages it.
	owner func(marks) (string, bool)
	hint  string // how to stop the tool, if adopting the object is not enough

	// managers are the field managers of a tool for which exports have a layout, and prefix
	// is that of its labels and annotations.
	managers []string
	prefix   string

	omitsEmpty bool // whether it leaves out empty values of Kubernetes' own kinds
}

// Prefixes of labels and annotations of GitOps tools.
const (
	kustomizePrefix = "kustomize.toolkit.fluxcd.io/"
	helmPrefix      = "helm.toolkit.fluxcd.io/"
	argoPrefix      = "argocd.argoproj.io/"
)

const fluxHint = "change it where Flux reads it; or have Flux stop applying it, and pass --adopt=from:"

// tools are the tools that mark their objects, except Helm and fleetc. When several
// tools mark an object, such as Flux and Helm, the first in the list is its owner.
var tools = []tool{
	{
		name:     "Flux",
		owner:    func(m marks) (string, bool) { return labeledObject(m.labels, "Kustomization", kustomizePrefix) },
		hint:     fluxHint + "kustomize-controller",
		managers: []string{"kustomize-controller"}, prefix: kustomizePrefix, omitsEmpty: true,
	},
	{
		name:  "Flux",
		owner: func(m marks) (string, bool) { return labeledObject(m.labels, "HelmRelease", helmPrefix) },
		hint:  fluxHint + "helm-controller",
	},
	{name: "Argo CD", owner: argoApplication, managers: []string{argoManager, argoReplacer}, prefix: argoPrefix},
	{name: "kapp", owner: func(m marks) (string, bool) { return withPrefix("app ", m.labels["kapp.k14s.io/app"]) }},
	{name: "Config Sync", owner: configSync},
	{name: "Rancher", owner: rancherObjects},
}

// labeledObject returns the object that the labels PREFIXname and PREFIXnamespace
// name.
func labeledObject(texts map[string]string, kind, prefix string) (string, bool) {
	return withPrefix(kind+" ", namespacedName(texts[prefix+"namespace"], texts[prefix+"name"]))
}

// namespacedName returns NAMESPACE/NAME, or the name alone without a namespace.
func namespacedName(namespace, name string) string {
	if name == "" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// withPrefix returns the name after a prefix, and whether there is a name.
func withPrefix(prefix, name string) (string, bool) { return prefix + name, name != "" }

// argoApplication returns the Argo CD application that tracks an object.
func argoApplication(m marks) (string, bool) {
	app, _, _ := strings.Cut(m.annotations[argoPrefix+"tracking-id"], ":")
	return withPrefix("application ", cmp.Or(app, m.labels[argoPrefix+"instance"]))
}

// configSync returns the Config Sync manager of an object, and whether Config Sync
// manages it.
func configSync(m marks) (string, bool) {
	managed := m.annotations["configmanagement.gke.io/managed"]
	return m.annotations["configsync.gke.io/manager"], managed != "disabled" && (managed != "" || m.have("configsync.gke.io/"))
}

// rancherObjects returns the owner of an object that Rancher Fleet or another
// Rancher controller manages.
func rancherObjects(m marks) (string, bool) {
	const prefix = "objectset.rio.cattle.io/"
	_, kind, _ := strings.Cut(m.annotations[prefix+"owner-gvk"], "Kind=")
	owner := namespacedName(m.annotations[prefix+"owner-namespace"], m.annotations[prefix+"owner-name"])
	return strings.TrimSpace(kind + " " + owner), m.have(prefix)
}

// otherFleet returns the CUE module of another fleet that has applied an object, if
// there is one.
func otherFleet(o *unstructured.Unstructured, than string) string {
	if module := o.GetAnnotations()[fleet.FleetAnnotation]; module != than {
		return diag.Visible(module, diag.MaxText)
	}
	return ""
}

// otherOwner returns the tool that manages an object by its labels and annotations,
// with the tool's object: Flux Kustomization apps/web. It is empty for an object
// without such marks. Marks that the bundle sets do not count. The hint says how to
// stop the tool, if adopting the object is not enough.
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
	notApplied := marksOf(o, isOwn).annotations // Helm's annotations name its own release, or another one
	name, namespace := notApplied[helmRelease], notApplied[helmNamespace]
	if name != "" && (name != d.release || d.namespace != "" && d.namespace != namespace) {
		return "Helm release " + namespacedName(namespace, name), ""
	}
	return "", ""
}

// newOwner returns the tool that now manages an object of fleetc, or the managers
// that have taken all of its fields; empty when fleetc still owns it.
func (d delivery) newOwner(o *unstructured.Unstructured) string {
	if owner, _ := d.otherOwner(o); owner != "" {
		return owner
	}
	if slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return d.wrote(m) && (m.Operation == metav1.ManagedFieldsOperationApply || !isOwn(m))
	}) {
		return ""
	}
	return strings.Join(otherManagers(o), " and ")
}

// deliveryOf returns the delivery of an object in the inventory. Helm wrote objects
// that it kept, and those that fleetc applies from now on.
func (p *planner) deliveryOf(ctx context.Context, e Entry, current *unstructured.Unstructured) (delivery, error) {
	d := delivery{fleet: p.Fleet}
	switch {
	case p.handedOver[e.id()], e.Kept && ownFields(current) == nil:
		d.release = e.Release
	case e.Kept && current.GetAnnotations()[helmRelease] == e.Release:
		// fleetc applied it before Helm did. A deleted release owns nothing.
		state, err := cluster.HelmSecrets.Read(ctx, p.Live, current.GetAnnotations()[helmNamespace], e.Release)
		if err != nil {
			return d, err
		}
		if state.Revision == 0 {
			d.release = e.Release
		}
	}
	return d, nil
}

// newOwner returns the tool that now manages an object of the inventory; empty when
// fleetc still owns it, or when it is a different object of the same name.
func (p *planner) newOwner(ctx context.Context, it *Item, current *unstructured.Unstructured) (string, error) {
	if !p.isRecorded(it.ID, current) {
		return "", nil
	}
	var err error
	if it.delivery, err = p.deliveryOf(ctx, p.recorded[it.ID], current); err != nil {
		return "", err
	}
	return it.delivery.newOwner(current), nil
}

// leaveTo keeps an object that another tool now manages. It leaves the inventory.
func (it *Item) leaveTo(owner string) {
	it.Action, it.Owner, it.Reason = Keep, owner, owner+" owns it now"
}

// partDelivery returns the delivery of the objects of a release that Helm delivers.
func (it *Item) partDelivery(module string) delivery {
	return delivery{fleet: module, release: it.ref.Name, namespace: it.ref.Namespace}
}

// ownedOf returns an object of a release that another tool now manages, nil when
// there is none.
func ownedOf(items []Item, release string) *Item {
	for i := range items {
		if items[i].Release == release && items[i].Owner != "" {
			return &items[i]
		}
	}
	return nil
}

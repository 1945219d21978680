package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/kube"
)

const crdKind = "CustomResourceDefinition.apiextensions.k8s.io"

// A catalog is what one cluster serves: Kubernetes' own kinds, those of the
// CRDs among its objects, and those that the cluster declares. Where they
// disagree, the one named first here wins.
type catalog struct {
	kube     *kube.Version
	declared map[schema.GroupKind][]declared
}

// A declared version of a kind is one that Kubernetes itself does not have.
type declared struct {
	version    string
	namespaced bool
	served     bool
	by         string // who declares it, as messages name it
}

// newCatalog reads the CRDs among objs and the cluster's own declarations. A
// CRD that cannot be read describes nothing: what is wrong with it is reported
// with its fields.
func newCatalog(v *kube.Version, c *fleet.Cluster, objs []fleet.Object) *catalog {
	k := &catalog{kube: v, declared: map[schema.GroupKind][]declared{}}
	for _, o := range objs {
		if o.Unstructured != nil && o.GroupVersionKind().GroupKind().String() == crdKind {
			k.addCRD(o)
		}
	}
	for _, a := range c.APIs {
		gvk := schema.FromAPIVersionAndKind(a.APIVersion, a.Kind)
		k.declared[gvk.GroupKind()] = append(k.declared[gvk.GroupKind()],
			declared{gvk.Version, a.Namespaced, true, "cluster.apis"})
	}
	return k
}

// addCRD adds the kind that a CRD describes.
func (k *catalog) addCRD(o fleet.Object) {
	spec := mapOf(o.Object["spec"])
	var gk schema.GroupKind
	gk.Group, _ = spec["group"].(string)
	gk.Kind, _ = mapOf(spec["names"])["kind"].(string)
	scope, _ := spec["scope"].(string)
	for _, v := range listOf(spec, "versions") {
		name, _ := mapOf(v)["name"].(string)
		served, _ := mapOf(v)["served"].(bool)
		k.declared[gk] = append(k.declared[gk],
			declared{name, scope == "Namespaced", served, "the CRD of release " + visible(o.Release.Name)})
	}
}

// scope reports whether the cluster serves a kind in this version, and whether
// its objects live in a namespace.
func (k *catalog) scope(gvk schema.GroupVersionKind) (namespaced, known bool) {
	if kind, served := k.kube.Kind(gvk); served {
		return kind.Namespaced, true
	}
	for _, d := range k.declared[gvk.GroupKind()] {
		if d.version == gvk.Version && d.served {
			return d.namespaced, true
		}
	}
	return false, false
}

// versions returns the versions in which the cluster serves a kind, the most
// stable and newest first.
func (k *catalog) versions(gk schema.GroupKind) []string {
	out := k.kube.ServedIn(gk)
	for _, d := range k.declared[gk] {
		if d.served {
			out = append(out, d.version)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(version.CompareKubeAwareVersionStrings(b, a), cmp.Compare(a, b))
	})
	return slices.Compact(out)
}

// unknown returns a message and a hint for a kind that the cluster does not
// serve.
func (k *catalog) unknown(gvk schema.GroupVersionKind) (msg, hint string) {
	gk, gv := gvk.GroupKind(), gvk.GroupVersion().String()
	msg = fmt.Sprintf("Kubernetes %s has no kind %s in %s", k.kube, gvk.Kind, gv)
	if when := kube.WhenKind(gvk); when != "" {
		msg += ": it is there " + when
		hint = "set cluster.kubernetes to a version that has it, or leave the object out"
	}
	if d := k.declared[gk]; len(d) > 0 && !kube.HasKind(gk) {
		msg, hint = fmt.Sprintf("%s serves no %s in %s", d[0].by, gvk.Kind, gv), "set served in one of its versions"
	}
	if served := k.versions(gk); len(served) > 0 {
		return msg, "use " + schema.GroupVersion{Group: gvk.Group, Version: served[0]}.String()
	}
	if hint != "" {
		return msg, hint
	}
	if kube.HasGroup(gvk.Group) || !strings.Contains(gvk.Group, ".") {
		// A group of a CRD has a dot: what is wanted is a kind of Kubernetes.
		return msg, k.elsewhere(gvk)
	}
	msg = fmt.Sprintf("nothing describes kind %s of %s", gvk.Kind, gv)
	if near := diag.DidYouMean(gvk.Kind, k.kindsOf(gvk.Group)); near != "" {
		hint = near + " if not, "
	}
	return msg, hint + fmt.Sprintf(`set cluster: apis: %q: %s: "Namespaced", or "Cluster", `+
		"in the cluster's layer, or add the release that brings its CRD", gv, gvk.Kind)
}

// elsewhere returns a hint for a kind that a group of Kubernetes does not
// have: the group that does, or the name that is meant.
func (k *catalog) elsewhere(gvk schema.GroupVersionKind) string {
	var use []string
	for _, gk := range kube.GroupKinds() {
		if gk.Kind != gvk.Kind {
			continue
		}
		if served := k.versions(gk); len(served) > 0 {
			use = append(use, schema.GroupVersion{Group: gk.Group, Version: served[0]}.String())
		}
	}
	if len(use) > 0 {
		slices.Sort(use)
		return "use " + strings.Join(use, " or ")
	}
	if near := diag.DidYouMean(gvk.Kind, k.kindsOf(gvk.Group)); near != "" {
		return near
	}
	return "leave the object out"
}

// kindsOf returns the kinds of a group that the cluster serves, sorted.
func (k *catalog) kindsOf(group string) []string {
	var out []string
	for _, gk := range kube.GroupKinds() {
		if gk.Group == group && len(k.versions(gk)) > 0 {
			out = append(out, gk.Kind)
		}
	}
	for gk := range k.declared {
		if gk.Group == group && len(k.versions(gk)) > 0 {
			out = append(out, gk.Kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

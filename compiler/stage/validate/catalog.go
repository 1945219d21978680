package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

const crdKind = "CustomResourceDefinition.apiextensions.k8s.io"

// A catalog holds the kinds that a cluster serves: built-in kinds, kinds of the
// CRDs among its objects, and declared kinds. In a conflict, the first of these
// wins.
type catalog struct {
	kube            *kube.Version
	declaredVersion map[schema.GroupKind][]declaredVersion
}

// A declaredVersion is a version of a kind that is not built in.
type declaredVersion struct {
	version    string
	namespaced bool
	served     bool
	by         string // source of the declaration, for messages
}

// newCatalog reads the CRDs among objs and the cluster's declarations. It
// ignores an invalid CRD, whose fields are reported elsewhere.
func newCatalog(v *kube.Version, c *fleet.Cluster, objs []fleet.Object) *catalog {
	k := &catalog{kube: v, declaredVersion: map[schema.GroupKind][]declaredVersion{}}
	for _, o := range objs {
		if o.Unstructured != nil && o.GroupVersionKind().GroupKind().String() == crdKind {
			k.addCRD(o)
		}
	}
	for _, a := range c.APIs {
		gvk := schema.FromAPIVersionAndKind(a.APIVersion, a.Kind)
		k.declaredVersion[gvk.GroupKind()] = append(k.declaredVersion[gvk.GroupKind()],
			declaredVersion{gvk.Version, a.Namespaced, true, "cluster.apis"})
	}
	return k
}

// addCRD adds the kind of a CRD.
func (k *catalog) addCRD(o fleet.Object) {
	spec := mapOf(o.Object["spec"])
	gk := fleet.DefinedKind(o.Unstructured)
	scope, _ := spec["scope"].(string)
	for _, v := range listOf(spec, "versions") {
		name, _ := mapOf(v)["name"].(string)
		served, _ := mapOf(v)["served"].(bool)
		k.declaredVersion[gk] = append(k.declaredVersion[gk],
			declaredVersion{name, scope == "Namespaced", served, "the CRD of release " + visible(o.Release.Name)})
	}
}

// scope reports whether the cluster serves a kind in this version, and whether
// the kind is namespaced.
func (k *catalog) scope(gvk schema.GroupVersionKind) (namespaced, known bool) {
	if kind, served := k.kube.Kind(gvk); served {
		return kind.Namespaced, true
	}
	for _, d := range k.declaredVersion[gvk.GroupKind()] {
		if d.version == gvk.Version && d.served {
			return d.namespaced, true
		}
	}
	return false, false
}

// versions returns the versions of a kind that the cluster serves, the most
// stable and newest first.
func (k *catalog) versions(gk schema.GroupKind) []string {
	out := k.kube.ServedIn(gk)
	for _, d := range k.declaredVersion[gk] {
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
	if d := k.declaredVersion[gk]; len(d) > 0 && !kube.HasKind(gk) {
		msg, hint = fmt.Sprintf("%s serves no %s in %s", d[0].by, gvk.Kind, gv), "set served in one of its versions"
	}
	if served := k.versions(gk); len(served) > 0 {
		return msg, "use " + schema.GroupVersion{Group: gvk.Group, Version: served[0]}.String()
	}
	if hint != "" {
		return msg, hint
	}
	if kube.HasGroup(gvk.Group) || !strings.Contains(gvk.Group, ".") {
		// Groups of CRDs contain a dot, so this is meant to be a built-in kind.
		return msg, k.elsewhere(gvk)
	}
	msg = fmt.Sprintf("unknown kind %s of %s: no CRD of the cluster defines it", gvk.Kind, gv)
	if near := diag.DidYouMean(gvk.Kind, k.kindsOf(gvk.Group)); near != "" {
		hint = near + " if not, "
	}
	return msg, hint + fmt.Sprintf(`set cluster: apis: %q: %s: "Namespaced", or "Cluster", `+
		"in the cluster's layer, or add the release that brings its CRD", gv, gvk.Kind)
}

// elsewhere returns a hint for a kind that is not in a built-in group: the
// group that has it, or a similar name.
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
	for _, gk := range slices.AppendSeq(kube.GroupKinds(), maps.Keys(k.declaredVersion)) {
		if gk.Group == group && len(k.versions(gk)) > 0 {
			out = append(out, gk.Kind)
		}
	}
	return diag.Distinct(out)
}

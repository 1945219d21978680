package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const crdKind = "CustomResourceDefinition.apiextensions.k8s.io"

// A catalog is what one cluster serves: Kubernetes' own kinds, those of the
// CRDs among its objects, and those that the cluster declares. Where they
// disagree, the one named first here wins.
type catalog struct {
	table    *table
	minor    int
	declared map[schema.GroupKind][]declared
}

// A declared version of a kind is one that Kubernetes itself does not have.
type declared struct {
	version    string
	namespaced bool
	served     bool
	by         string // who declares it, as messages name it
}

// newCatalog reads the CRDs among objs and the cluster's own declarations.
// CRDs that cannot be read are faults.
func newCatalog(t *table, minor int, c *fleet.Cluster, objs []fleet.Object) (*catalog, diag.List) {
	k := &catalog{table: t, minor: minor, declared: map[schema.GroupKind][]declared{}}
	var faults diag.List
	for _, o := range objs {
		if o.Unstructured == nil || o.GroupVersionKind().GroupKind().String() != crdKind {
			continue
		}
		if problem := k.addCRD(o); problem != "" {
			faults = append(faults, fault(o, problem, "write the CRD as apiextensions.k8s.io/v1 has it"))
		}
	}
	for _, a := range c.APIs {
		gvk := schema.FromAPIVersionAndKind(a.APIVersion, a.Kind)
		k.declared[gvk.GroupKind()] = append(k.declared[gvk.GroupKind()],
			declared{gvk.Version, a.Namespaced, true, "cluster.apis"})
	}
	return k, faults
}

// addCRD adds the kind that a CRD describes. It returns what is wrong with the
// CRD, or "".
func (k *catalog) addCRD(o fleet.Object) (problem string) {
	var gk schema.GroupKind
	var plural, scope string
	for _, f := range []struct {
		to   *string
		path []string
	}{
		{&gk.Group, []string{"spec", "group"}},
		{&gk.Kind, []string{"spec", "names", "kind"}},
		{&plural, []string{"spec", "names", "plural"}},
		{&scope, []string{"spec", "scope"}},
	} {
		if *f.to, _, _ = unstructured.NestedString(o.Object, f.path...); *f.to == "" {
			return strings.Join(f.path, ".") + " is missing or not a string"
		}
	}
	if scope != "Namespaced" && scope != "Cluster" {
		return fmt.Sprintf("spec.scope is %q, neither Namespaced nor Cluster", visible(scope))
	}
	field, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "versions")
	versions, _ := field.([]any)
	if len(versions) == 0 {
		return "spec.versions is missing, empty or not a list"
	}
	for i, v := range versions {
		v, _ := v.(map[string]any)
		name, _ := v["name"].(string)
		if name == "" {
			return fmt.Sprintf("spec.versions[%d].name is missing or not a string", i)
		}
		served, _ := v["served"].(bool)
		k.declared[gk] = append(k.declared[gk],
			declared{name, scope == "Namespaced", served, "the CRD of release " + visible(o.Release.Name)})
	}
	return ""
}

// scope reports whether the cluster serves a kind in this version, and whether
// its objects live in a namespace.
func (k *catalog) scope(gvk schema.GroupVersionKind) (namespaced, known bool) {
	for _, r := range k.table.kinds[gvk.GroupKind()] {
		if r.version == gvk.Version && r.in(k.minor) {
			return r.namespaced, true
		}
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
	var out []string
	for _, r := range k.table.kinds[gk] {
		if r.in(k.minor) {
			out = append(out, r.version)
		}
	}
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
	msg = fmt.Sprintf("Kubernetes 1.%d has no kind %s in %s", k.minor, gvk.Kind, gv)
	for _, r := range k.table.kinds[gk] {
		if r.version == gvk.Version {
			msg += ": it is there " + k.table.when(r)
			hint = "set cluster.kubernetes to a version that has it, or leave the object out"
		}
	}
	if d := k.declared[gk]; len(d) > 0 && len(k.table.kinds[gk]) == 0 {
		msg, hint = fmt.Sprintf("%s serves no %s in %s", d[0].by, gvk.Kind, gv), "set served in one of its versions"
	}
	if served := k.versions(gk); len(served) > 0 {
		return msg, "use " + schema.GroupVersion{Group: gvk.Group, Version: served[0]}.String()
	}
	if hint != "" {
		return msg, hint
	}
	if k.table.groups[gvk.Group] || !strings.Contains(gvk.Group, ".") {
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
	for gk := range k.table.kinds {
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
	for gk := range k.table.kinds {
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

package importer

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// unknownKinds returns the kinds of objects for which the cluster has neither a built-in
// kind nor a CRD in a release, as cluster.apis has them, sorted.
func (w *work) unknownKinds(c *Cluster) []fleet.API {
	known := map[schema.GroupKind]bool{}
	for _, r := range c.Releases {
		for _, o := range r.expected.objects {
			for _, gvk := range fleet.ServedKinds(o.Unstructured) {
				known[gvk.GroupKind()] = true
			}
		}
	}
	scopes := map[schema.GroupVersionKind]bool{}  // whether objects have a namespace
	isKnown := map[schema.GroupVersionKind]bool{} // whether the scope is not a guess
	for _, r := range c.Releases {
		// Charts and Argo CD leave the namespace out where it is that of the release.
		inRelease := r.Chart != nil || w.model.Tool == "argocd"
		for _, o := range r.expected.objects {
			gvk := o.GroupVersionKind()
			if known[gvk.GroupKind()] || kube.HasKind(gvk.GroupKind()) || o.GetAPIVersion() == "" {
				continue
			}
			isCommon := slices.Contains(kube.CustomKinds(gvk.Group), gvk.Kind)
			scopes[gvk] = scopes[gvk] || !isClusterWide(gvk.GroupKind()) && (inRelease || isCommon || o.GetNamespace() != "")
			// A kustomization can set the namespace of any object.
			isKnown[gvk] = isKnown[gvk] || isCommon || r.Chart != nil && o.GetNamespace() != ""
		}
	}
	var out []fleet.API
	c.guesses = map[bool][]string{}
	for gvk, namespaced := range scopes {
		version, kind := gvk.ToAPIVersionAndKind()
		for _, a := range c.declared {
			if a.APIVersion == version && a.Kind == kind {
				namespaced, isKnown[gvk] = a.Namespaced, true
			}
		}
		out = append(out, fleet.API{APIVersion: version, Kind: kind, Namespaced: namespaced})
		if !isKnown[gvk] {
			c.guesses[namespaced] = append(c.guesses[namespaced], gvk.GroupKind().String())
		}
	}
	slices.SortFunc(out, func(a, b fleet.API) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// noteGuesses notes the kinds of which the import guesses whether their objects have a namespace.
func (w *work) noteGuesses() {
	for _, c := range w.model.Clusters {
		for _, isNamespaced := range []bool{false, true} {
			kinds := c.guesses[isNamespaced]
			if len(kinds) == 0 {
				continue
			}
			guess, other := "no namespace", "Namespaced"
			if isNamespaced {
				guess, other = "a namespace", "Cluster"
			}
			w.model.Note(Note{
				Pos: w.clusterFile(c), Doc: "cluster", Field: "apis",
				Do: "the import guesses that objects of " + strings.Join(diag.Distinct(kinds), ", ") + " have " + guess + ", because no release has their CRDs: change wrong ones to " + other,
			})
		}
	}
}

// clusterFile returns the position of the file of a cluster in the fleet.
func (w *work) clusterFile(c *Cluster) diag.Pos {
	return diag.Pos{File: filepath.ToSlash(filepath.Join(w.root, "environments", c.ID, "cluster.cue"))}
}

// isNamespaced reports whether objects of a kind are known to have a namespace.
func isNamespaced(gvk schema.GroupVersionKind) bool {
	for _, v := range kube.Versions() {
		if k, isServed := v.Kind(gvk); isServed {
			return k.Namespaced
		}
	}
	return slices.Contains(kube.CustomKinds(gvk.Group), gvk.Kind) && !isClusterWide(gvk.GroupKind())
}

// isClusterWide reports whether the name of a kind says that its objects have no
// namespace. Kustomizations set a namespace for them, too, which a cluster ignores.
func isClusterWide(kind schema.GroupKind) bool {
	namespaced := []string{"ClusterServiceVersion.operators.coreos.com", "ClusterDeployment.hive.openshift.io", "ClusterLogForwarder.observability.openshift.io"}
	if kind.Kind == "Cluster" || strings.HasSuffix(kind.Group, "cluster.x-k8s.io") || slices.Contains(namespaced, kind.String()) {
		return false
	}
	return strings.HasPrefix(kind.Kind, "Cluster") || strings.HasSuffix(kind.Kind, "Class")
}

// apisNode returns the text of cluster.apis.
func apisNode(apis []fleet.API) *Node {
	out := mapNode()
	for _, a := range apis {
		kinds := out.Get(a.APIVersion)
		if kinds == nil {
			kinds = mapNode()
			out.Set(a.APIVersion, kinds)
		}
		scope := "Cluster"
		if a.Namespaced {
			scope = "Namespaced"
		}
		kinds.Set(a.Kind, textNode(scope))
	}
	return out
}

package query

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// workloads are kinds that can replace each other under the same name.
var workloads = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"}, {Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"},
}

// reportedKinds are kinds of which each deleted object is a finding, with the effect of its
// deletion. Others are counted in one finding for each release.
var reportedKinds = map[string]string{
	"Namespace": "all objects in it are deleted with it", "PersistentVolumeClaim": "its data is deleted with it, unless the volume is retained",
	"PersistentVolume": "the cluster forgets the volume", "StatefulSet": "its pods stop; the volume claims that it made stay",
	"Deployment": "its pods stop", "DaemonSet": "its pods stop", "CronJob": "it no longer runs", "Service": "clients can no longer reach it under this name",
	"Ingress": "its hosts are no longer served", "Gateway": "its hosts are no longer served", "HTTPRoute": "its hosts are no longer served",
	"StorageClass": "new claims cannot use it", "PriorityClass": "new pods cannot use it", "IngressClass": "ingresses cannot use it",
}

const keepsProtected = "fleetc apply keeps it unless --prune-protected is set; Flux and Argo CD may delete it. Set the annotation helm.sh/resource-policy: keep to keep it everywhere"

// deleted finds objects that are deleted, or replaced by others.
func (r *rehearsal) deleted() {
	gone, created := map[string][]fleet.Object{}, map[string][]fleet.Object{} // by release
	for _, o := range r.before.Objects {
		if _, stays := r.next[o.ID()]; !stays && !fleet.IsHook(o.Unstructured) && kindOf(o) != fleet.CRDKind &&
			!slices.ContainsFunc(r.after.Objects, func(n fleet.Object) bool { return isSameAs(o, n) }) {
			gone[o.ReleaseName()] = append(gone[o.ReleaseName()], o)
		}
	}
	for _, o := range r.after.Objects {
		if _, existed := r.old[o.ID()]; !existed && !fleet.IsHook(o.Unstructured) {
			created[o.ReleaseName()] = append(created[o.ReleaseName()], o)
		}
	}
	for _, release := range sortedKeys(gone) {
		if !r.hasRelease(gone[release][0]) {
			r.deletedRelease(release, gone[release])
			continue
		}
		p := pairing{gone: gone[release], created: created[release]}
		for _, pair := range p.pairs() {
			r.replaced(pair)
		}
		r.deletedObjects(release, p.gone)
	}
}

// isSameAs reports whether two objects with different IDs are the same object. Kubernetes
// serves some in two groups, such as an Ingress in extensions and networking.k8s.io, and a
// custom resource without its CRD has no namespace in the bundle.
func isSameAs(o, n fleet.Object) bool {
	if n.GetKind() != o.GetKind() || n.GetName() != o.GetName() {
		return false
	}
	builtIn := kube.HasKind(kindOf(o)) && kube.HasKind(kindOf(n))
	return builtIn && kindOf(n) != kindOf(o) && n.GetNamespace() == o.GetNamespace() ||
		!builtIn && kindOf(n) == kindOf(o) && (n.GetNamespace() == "" || o.GetNamespace() == "")
}

// hasRelease reports whether the release of an object exists in the state after.
func (r *rehearsal) hasRelease(o fleet.Object) bool {
	return r.after.Cluster.Release(o.ReleaseName()) != nil
}

// deletedRelease adds a finding for a release that is deleted.
func (r *rehearsal) deletedRelease(release string, objs []fleet.Object) {
	severity, text := diff.Check, diag.Count(len(objs), "object is", "objects are")+" deleted with the release"
	data := diag.Filter(objs, func(o fleet.Object) bool { return holdsData(o) && fleet.KeepAnnotation(o.Unstructured) == "" })
	if len(data) > 0 {
		severity, text = diff.Breaks, text+", among them "+listed(idsOf(data))
	}
	r.add(diff.Finding{Reason: diff.ReleaseDeleted, Severity: severity, Release: release, Text: text, Hint: "make sure that nothing needs it, and that its data is saved"})
}

// holdsData reports whether other objects or data are lost with an object.
func holdsData(o fleet.Object) bool { return fleet.IsProtected(kindOf(o)) || deletesClaims(o) }

// hasClaims reports whether an object is a StatefulSet that makes volume claims.
func hasClaims(o fleet.Object) bool {
	claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	return kindOf(o) == schema.GroupKind{Group: "apps", Kind: "StatefulSet"} && len(claims) > 0
}

// deletesClaims reports whether the volume claims of a StatefulSet are deleted with it.
func deletesClaims(o fleet.Object) bool {
	policy, _, _ := unstructured.NestedString(o.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return policy == "Delete" && hasClaims(o)
}

// deletedObjects adds findings for deleted objects of a release that stays.
func (r *rehearsal) deletedObjects(release string, objs []fleet.Object) {
	var others, custom []fleet.Object
	for _, o := range objs {
		means, own := reportedKinds[o.GetKind()]
		if !own && !kube.HasKind(kindOf(o)) {
			custom = append(custom, o)
			continue
		}
		if !own {
			others = append(others, o)
			continue
		}
		keep := fleet.KeepAnnotation(o.Unstructured)
		switch {
		case keep != "":
			r.add(about(o, diff.ObjectDeleted, diff.Note, "it leaves the release and stays in the cluster, because it has "+keep, "delete it when nothing needs it"))
		case fleet.IsProtected(kindOf(o)):
			r.add(about(o, diff.ObjectDeleted, diff.Breaks, "it is deleted: "+means, keepsProtected))
		case deletesClaims(o):
			r.add(about(o, diff.ObjectDeleted, diff.Breaks, "it is deleted: its volume claims are deleted with it, as its persistentVolumeClaimRetentionPolicy says", "save the data, or set whenDeleted: Retain before"))
		case o.GetKind() == "StatefulSet" && !hasClaims(o):
			r.add(about(o, diff.ObjectDeleted, diff.Check, "it is deleted: its pods stop", "make sure that nothing needs it"))
		default:
			r.add(about(o, diff.ObjectDeleted, diff.Check, "it is deleted: "+means, "make sure that nothing needs it"))
		}
	}
	if len(custom) > 0 {
		r.add(diff.Finding{
			Reason: diff.ObjectDeleted, Severity: diff.Check, Release: release, Hint: "make sure that nothing needs them",
			Text: diag.Count(len(custom), "custom resource is deleted, and its controller deletes what it created", "custom resources are deleted, and their controllers delete what they created") + ": " + listed(idsOf(custom)),
		})
	}
	if len(others) > 0 {
		r.add(diff.Finding{Reason: diff.ObjectDeleted, Severity: diff.Note, Release: release, Text: diag.Count(len(others), "object is", "objects are") + " deleted: " + listed(idsOf(others))})
	}
}

// replaced adds a finding for an object that another one replaces.
func (r *rehearsal) replaced(pair [2]fleet.Object) {
	from, to := pair[0], pair[1]
	text, severity, hint := "it is deleted, and "+to.ID()+" is created", diff.Check, "expect an interruption, and look for references to the old name"
	switch keep := fleet.KeepAnnotation(from.Unstructured); {
	case keep != "":
		severity, text = diff.Note, "it stays in the cluster, because it has "+keep+", and "+to.ID()+" is created"
	case deletesClaims(from):
		severity, text = diff.Breaks, text+": the volume claims of the old one are deleted with it, as its persistentVolumeClaimRetentionPolicy says"
		hint = "save the data, set whenDeleted: Retain before, or keep the old name with a value such as fullnameOverride"
	case hasClaims(from):
		severity, text = diff.Breaks, text+": the new one starts with empty volumes, because volume claims are named after the StatefulSet"
		hint = "move the data, or keep the old name with a value such as fullnameOverride"
	case fleet.IsProtected(kindOf(from)):
		severity, text, hint = diff.Breaks, text+": the new one is empty", "move the data, or keep the old name. "+keepsProtected
	case kindOf(from).Kind == "Service":
		text += ": clients have to use the new name"
	}
	r.add(about(from, diff.ObjectReplaced, severity, text, hint))
}

// A pairing finds which created object replaces which deleted one.
type pairing struct{ gone, created []fleet.Object }

// pairs returns the pairs and removes them from the lists. It pairs only kinds of
// [reportedKinds]: the same name in another namespace or of another kind of workload, the
// only object of a kind, or the only one of a kind with the same component label.
func (p *pairing) pairs() [][2]fleet.Object {
	var out [][2]fleet.Object
	sameKind := func(a, b fleet.Object) bool { return kindOf(a) == kindOf(b) }
	for _, replaces := range []func(a, b fleet.Object) bool{
		func(a, b fleet.Object) bool { return sameKind(a, b) && a.GetName() == b.GetName() },
		func(a, b fleet.Object) bool {
			return slices.Contains(workloads, kindOf(a)) && slices.Contains(workloads, kindOf(b)) && a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace()
		},
		func(a, b fleet.Object) bool {
			return sameKind(a, b) && component(a) != "" && component(a) == component(b)
		},
		sameKind,
	} {
		for i := 0; i < len(p.gone); i++ {
			o := p.gone[i]
			if reportedKinds[o.GetKind()] == "" {
				continue
			}
			matches := matchesOf(p.created, func(n fleet.Object) bool { return replaces(o, n) })
			back := matchesOf(p.gone, func(n fleet.Object) bool { return len(matches) == 1 && replaces(n, p.created[matches[0]]) })
			if len(matches) != 1 || len(back) != 1 {
				continue
			}
			out = append(out, [2]fleet.Object{o, p.created[matches[0]]})
			p.gone = slices.Delete(slices.Clone(p.gone), i, i+1)
			p.created = slices.Delete(slices.Clone(p.created), matches[0], matches[0]+1)
			i--
		}
	}
	return out
}

// matchesOf returns the indices of matching objects.
func matchesOf(objs []fleet.Object, matches func(fleet.Object) bool) []int {
	var out []int
	for i, o := range objs {
		if matches(o) {
			out = append(out, i)
		}
	}
	return out
}

// component returns the labels that name an object's part of its application.
func component(o fleet.Object) string {
	keys := []string{"app.kubernetes.io/name", "app.kubernetes.io/component", "app", "component"}
	return strings.Trim(strings.Join(diag.Each(keys, func(key string) string { return o.GetLabels()[key] }), " "), " ")
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

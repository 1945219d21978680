package query

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// unserved finds objects in an API version that the cluster does not serve, unless it was
// so before. Kinds of the CRDs of the old bundle are left to crds.
func (r *rehearsal) unserved(version *kube.Version) {
	served := servedKinds(r.after)
	for _, gvk := range servedBy(r.before.Objects) {
		served[gvk] = true
	}
	type use struct {
		gvk     schema.GroupVersionKind
		release string
	}
	uses := map[use][]fleet.Object{}
	var order []use
	for _, o := range r.after.Objects {
		gvk := o.GroupVersionKind()
		if _, ok := version.Kind(gvk); ok || served[gvk] || r.wasUnserved(o) {
			continue
		}
		u := use{gvk, o.ReleaseName()}
		if uses[u] == nil {
			order = append(order, u)
		}
		uses[u] = append(uses[u], o)
	}
	for _, u := range order {
		text := "the cluster does not serve " + u.gvk.GroupVersion().String() + " " + u.gvk.Kind
		hint := "apply the release with its CRD first, or declare the kind in cluster.apis if the cluster has it"
		if kube.HasGroup(u.gvk.Group) {
			text = "Kubernetes " + version.String() + " does not serve " + u.gvk.GroupVersion().String() + " " + u.gvk.Kind
			if when := kube.WhenKind(u.gvk); when != "" {
				text += ", which exists " + when
			}
			hint = "choose a version of the chart that supports Kubernetes " + version.String()
		}
		r.add(diff.Finding{Reason: diff.APINotServed, Severity: diff.Breaks, Release: u.release, Text: text + ": " + listed(idsOf(uses[u])), Hint: hint})
	}
}

// wasUnserved reports whether the cluster before had the object in the same API version
// and the same version of Kubernetes, and did not serve it either.
func (r *rehearsal) wasUnserved(o fleet.Object) bool {
	old, ok := r.old[o.ID()]
	if !ok || old.GroupVersionKind() != o.GroupVersionKind() {
		return false
	}
	version, known := kube.Minor(r.before.Cluster.KubeVersion)
	if !known {
		return false
	}
	_, served := version.Kind(o.GroupVersionKind())
	return !served && !servedKinds(r.before)[o.GroupVersionKind()]
}

// servedKinds returns the kinds of CRDs and of cluster.apis.
func servedKinds(s RehearsalSide) map[schema.GroupVersionKind]bool {
	out := map[schema.GroupVersionKind]bool{}
	for _, a := range s.Cluster.APIs {
		out[schema.FromAPIVersionAndKind(a.APIVersion, a.Kind)] = true
	}
	for _, gvk := range servedBy(slices.Concat(s.Objects, s.CRDs)) {
		out[gvk] = true
	}
	return out
}

// servedBy returns the kinds that the CRDs among objects serve.
func servedBy(objs []fleet.Object) []schema.GroupVersionKind {
	return slices.Concat(diag.Each(objs, func(o fleet.Object) []schema.GroupVersionKind { return fleet.ServedKinds(o.Unstructured) })...)
}

// immutable finds immutable fields that change.
func (r *rehearsal) immutable(version *kube.Version) {
	custom := sync.OnceValue(func() map[schema.GroupVersionKind]crdVersion { return customVersions(r.after) })
	for _, o := range r.after.Objects {
		before, ok := r.old[o.ID()]
		if !ok || before.Unstructured == o.Unstructured || fleet.IsHook(o.Unstructured) && fleet.HookRuns(o.Unstructured) {
			continue // an apply recreates hooks
		}
		fields := version.ImmutableChanges(before.Object, o.Object)
		if !kube.HasKind(kindOf(o)) {
			fields = immutableCustomFields(custom()[o.GroupVersionKind()], before.Object, o.Object)
		}
		if len(fields) == 0 {
			continue
		}
		list, changes := listed(fields), "changes, but is immutable"
		if len(fields) > 1 {
			changes = "change, but are immutable"
		}
		gk := kindOf(o)
		switch {
		case fleet.IsProtected(gk):
			r.add(about(o, diff.ImmutableField, diff.Breaks, list+" "+changes, "change it back, or delete the object yourself: a "+gk.Kind+" is never recreated"))
		case o.Release != nil && o.Release.MayReplace(o) && deletesClaims(before):
			r.add(about(o, diff.ImmutableField, diff.Breaks, list+" "+changes+": the object is deleted and created again, as replace of the release allows, and its volume claims are deleted with it, as its persistentVolumeClaimRetentionPolicy says", "save the data, or set whenDeleted: Retain before"))
		case o.Release != nil && o.Release.MayReplace(o):
			r.add(about(o, diff.ImmutableField, diff.Check, list+" "+changes+": the object is deleted and created again, as replace of the release allows", "expect an interruption"))
		default:
			hint := "change it back, or list its kind under replace of the release to have it recreated"
			if gk.Kind == "StatefulSet" {
				hint += "; kubectl delete --cascade=orphan deletes it and keeps its pods and volumes"
			}
			r.add(about(o, diff.ImmutableField, diff.Breaks, list+" "+changes, hint))
		}
	}
}

// hooks finds hooks that are new, different or deleted. Hooks that do not run, such as the
// service account of a Job, are one finding for each release.
func (r *rehearsal) hooks() {
	next := r.after
	if r.before.Charts == nil {
		next.Hooks = nil
	}
	before := hooksOf(r.before)
	old := byID(before)
	beside := map[string][]fleet.Object{} // new and changed hooks that do not run, by release
	for _, o := range hooksOf(next) {
		oldHook, existed := old[o.ID()]
		delete(old, o.ID())
		if existed && reflect.DeepEqual(diff.WithoutVersions(oldHook.Object), diff.WithoutVersions(o.Object)) {
			continue
		}
		if !fleet.HookRuns(o.Unstructured) {
			beside[o.ReleaseName()] = append(beside[o.ReleaseName()], o)
			continue
		}
		reason, text := diff.HookNew, "the hook is new and runs at "
		if existed {
			reason, text = diff.HookChanged, "the hook changes and runs at "
		}
		severity := diff.Note
		if existed && reflect.DeepEqual(withoutImages(diff.WithoutVersions(oldHook.Object)), withoutImages(diff.WithoutVersions(o.Object))) {
			r.add(about(o, diff.HookChanged, diff.Note, "the hook has another image and runs at "+strings.Join(fleet.HookEvents(o.Unstructured), ", "), ""))
			continue
		}
		if slices.ContainsFunc(fleet.HookEvents(o.Unstructured), func(event string) bool { return strings.HasSuffix(event, "-upgrade") }) {
			severity = diff.Check
		}
		r.add(about(o, reason, severity, text+strings.Join(fleet.HookEvents(o.Unstructured), ", "), "read what it does"))
	}
	for _, release := range sortedKeys(beside) {
		r.add(diff.Finding{Reason: diff.HookChanged, Severity: diff.Note, Release: release, Text: "objects for hooks are new or change: " + listed(idsOf(beside[release]))})
	}
	gone := map[string][]fleet.Object{}
	for _, o := range before {
		if _, left := old[o.ID()]; left && r.hasRelease(o) {
			gone[o.ReleaseName()] = append(gone[o.ReleaseName()], o)
		}
	}
	for _, release := range sortedKeys(gone) {
		r.add(diff.Finding{Reason: diff.HookDeleted, Severity: diff.Note, Release: release, Text: "hooks are deleted: " + listed(idsOf(gone[release]))})
	}
}

// withoutImages removes the images of containers from an object, and returns it.
func withoutImages(object map[string]any) map[string]any {
	for _, path := range [][]string{{"spec", "template"}, nil} {
		for _, c := range containers(object, path) {
			delete(c, "image")
		}
	}
	return object
}

// hooksOf returns all hooks of a state.
func hooksOf(s RehearsalSide) []fleet.Object {
	return diag.Filter(slices.Concat(s.Objects, s.Hooks), func(o fleet.Object) bool { return fleet.IsHook(o.Unstructured) })
}

// immutableCustomFields returns the paths of fields of a custom resource that change and
// that its CRD makes immutable with the rule self == oldSelf.
func immutableCustomFields(version crdVersion, before, after map[string]any) []string {
	var out []string
	var walk func(s map[string]any, oldValue, newValue any, path []string)
	walk = func(s map[string]any, oldValue, newValue any, path []string) {
		if len(path) > maxSchemaDepth || oldValue == nil || newValue == nil || reflect.DeepEqual(oldValue, newValue) {
			return
		}
		if isFrozen(s) {
			out = append(out, strings.Join(path, "."))
			return
		}
		properties, _ := s["properties"].(map[string]any)
		oldMap, _ := oldValue.(map[string]any)
		newMap, _ := newValue.(map[string]any)
		for _, key := range sortedKeys(properties) {
			if p, ok := properties[key].(map[string]any); ok {
				walk(p, oldMap[key], newMap[key], append(slices.Clip(path), key))
			}
		}
	}
	walk(version.schema, before, after, nil)
	return out
}

// isFrozen reports whether a schema has the rule self == oldSelf.
func isFrozen(s map[string]any) bool {
	rules, _ := s["x-kubernetes-validations"].([]any)
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		text, _ := rule["rule"].(string)
		switch strings.ReplaceAll(text, " ", "") {
		case "self==oldSelf", "oldSelf==self":
			return true
		}
	}
	return false
}

// customVersions returns the versions that the CRDs of a state define.
func customVersions(s RehearsalSide) map[schema.GroupVersionKind]crdVersion {
	out := map[schema.GroupVersionKind]crdVersion{}
	for _, o := range slices.Concat(s.CRDs, s.Objects) {
		if kindOf(o) != fleet.CRDKind {
			continue
		}
		for name, v := range versionsOf(o) {
			out[fleet.DefinedKind(o.Unstructured).WithVersion(name)] = v
		}
	}
	return out
}

package rehearse

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// crds finds CRDs that are removed or narrowed.
func (r *rehearsal) crds() {
	kept := byID(r.after.CRDs)
	for _, o := range r.before.Objects {
		if o.Unstructured == nil || kindOf(o) != crdKind {
			continue
		}
		next, stays := r.next[o.ID()]
		if _, known := kept[o.ID()]; !stays && !known {
			r.removedCRD(o)
		} else if stays {
			r.changedCRD(o, next)
		}
	}
}

// A crdVersion is one version of a CRD.
type crdVersion struct {
	name            string
	served, storage bool
	schema          map[string]any
}

// versionsOf returns the versions of a CRD by name.
func versionsOf(crd fleet.Object) map[string]crdVersion {
	list, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	out := map[string]crdVersion{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		v := crdVersion{}
		v.name, _ = m["name"].(string)
		v.served, _ = m["served"].(bool)
		v.storage, _ = m["storage"].(bool)
		v.schema, _, _ = unstructured.NestedMap(m, "schema", "openAPIV3Schema")
		out[v.name] = v
	}
	return out
}

// definedKind returns the kind that a CRD defines.
func definedKind(crd fleet.Object) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// users returns the new objects of a kind. An empty version selects all versions.
func (r *rehearsal) users(gk schema.GroupKind, version string) []fleet.Object {
	var out []fleet.Object
	for _, o := range r.after.Objects {
		if o.Unstructured != nil && kindOf(o) == gk && (version == "" || o.GroupVersionKind().Version == version) {
			out = append(out, o)
		}
	}
	return out
}

// usersText returns the objects with their releases.
func usersText(objs []fleet.Object) string {
	var texts []string
	for _, o := range objs {
		text := o.ID()
		if release := releaseOf(o); release != "" {
			text += " of release " + release
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return listed(slices.Compact(texts))
}

func (r *rehearsal) removedCRD(crd fleet.Object) {
	if !r.hasRelease(crd) && len(r.users(definedKind(crd), "")) == 0 {
		return // it is among the data of the deleted release
	}
	keep := fleet.KeepAnnotation(crd.Unstructured)
	users := r.users(definedKind(crd), "")
	text, hint := "the CRD leaves the fleet, and its deletion deletes all objects of its kind", keepsProtected
	severity := diff.Check
	if keep != "" {
		severity, text = diff.Note, "the CRD leaves the release and stays in the cluster, because it has "+keep
		hint = "look after its updates in another release"
	}
	if len(users) > 0 {
		severity, text = diff.Breaks, text+". The fleet still has such objects: "+usersText(users)
		hint = cmp.Or("keep the CRD in a release. " + hint)
	}
	r.add(about(crd, diff.CRDRemoved, severity, text, hint))
}

// changedCRD compares two states of a CRD.
func (r *rehearsal) changedCRD(before, after fleet.Object) {
	old, next := versionsOf(before), versionsOf(after)
	gk := definedKind(after)
	for _, name := range sortedKeys(old) {
		v, n := old[name], next[name]
		if v.served && !n.served {
			r.droppedVersion(after, gk, v, n.name != "")
		}
		if v.storage && !n.storage && n.name != "" {
			r.add(about(after, diff.CRDStorage, diff.Note, "stored objects stay in version "+name+" until they are written again", "write them again before a later version of the CRD drops "+name))
		}
	}
	r.narrowed(after, gk, old, next)
}

// droppedVersion adds the finding for a version that a CRD no longer serves, or no longer
// lists.
func (r *rehearsal) droppedVersion(crd fleet.Object, gk schema.GroupKind, v crdVersion, isListed bool) {
	users := r.users(gk, v.name)
	severity, text := diff.Check, "version "+v.name+" is not served any more"
	hint := "make sure that no client asks for it"
	if v.storage && !isListed {
		severity, text = diff.Breaks, "version "+v.name+", in which the cluster stores objects, is not listed any more: the API server refuses the CRD while its status.storedVersions has it"
		hint = "write all objects in another version first, and remove the version from status.storedVersions"
	}
	if len(users) > 0 {
		severity, text = diff.Breaks, text+". The fleet has objects in it: "+usersText(users)
		hint = "change the apiVersion of these objects; " + hint
	}
	r.add(about(crd, diff.CRDVersion, severity, text, hint))
}

// narrowed adds a finding for narrowings of the CRD that concern objects of the fleet, and
// another one for the rest.
func (r *rehearsal) narrowed(crd fleet.Object, gk schema.GroupKind, old, next map[string]crdVersion) {
	var used, unused []string
	for _, name := range sortedKeys(old) {
		v, n := old[name], next[name]
		if !v.served || !n.served {
			continue
		}
		objs := r.users(gk, name)
		for _, change := range compareSchemas(v.schema, n.schema) {
			text := change.String() + " (" + name + ")"
			var users []fleet.Object
			for _, o := range objs {
				if change.concerns(o.Object) {
					users = append(users, o)
				}
			}
			if len(users) == 0 {
				unused = append(unused, text)
				continue
			}
			used = append(used, text+" in "+usersText(users))
		}
	}
	if len(used) > 0 {
		r.add(about(crd, diff.CRDNarrowed, diff.Breaks, "the CRD accepts less, and the fleet uses it: "+listed(used), "change these objects for the new CRD"))
	}
	if len(unused) > 0 {
		r.add(about(crd, diff.CRDNarrowed, diff.Note, "the CRD accepts less, which no object of the fleet uses: "+listed(unused), "check the objects that others make"))
	}
}

package query

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// crds finds CRDs that are removed or narrowed.
func (r *rehearsal) crds() {
	kept := byID(r.after.CRDs)
	unused := map[string][]fleet.Object{} // removed CRDs without objects, by release
	for _, o := range r.before.Objects {
		if kindOf(o) != fleet.CRDKind {
			continue
		}
		next, stays := r.next[o.ID()]
		declared, known := kept[o.ID()]
		if !stays && known {
			next, stays = declared, true // the CRD moves to cluster.crds
		}
		if !stays {
			if users := r.users(fleet.DefinedKind(o.Unstructured), ""); len(users) > 0 {
				r.removedCRD(o, users)
			} else if r.hasRelease(o) {
				unused[o.ReleaseName()] = append(unused[o.ReleaseName()], o)
			}
		} else if next.Unstructured != o.Unstructured {
			r.changedCRD(o, next)
		}
	}
	for _, release := range sortedKeys(unused) {
		r.removedCRDs(release, unused[release])
	}
	for _, release := range sortedKeys(r.unusedNarrowings) {
		texts := r.unusedNarrowings[release]
		r.add(diff.Finding{
			Reason: diff.CRDNarrowed, Severity: diff.Note, Release: release, Hint: "check the objects that the fleet does not contain",
			Text: diag.Count(len(texts), "CRD accepts", "CRDs accept") + " less than before; no object of the fleet is affected: " + listed(texts),
		})
	}
}

// A crdVersion is one version of a CRD. It shares the schema of the CRD.
type crdVersion struct {
	name            string
	served, storage bool
	schema          map[string]any
}

// versionsOf returns the versions of a CRD by name.
func versionsOf(crd fleet.Object) map[string]crdVersion {
	out := map[string]crdVersion{}
	for _, v := range listedVersions(crd) {
		out[v.name] = v
	}
	return out
}

// listedVersions returns the versions of a CRD, as it lists them.
func listedVersions(crd fleet.Object) []crdVersion {
	field, _ := fleet.Lookup(crd.Object, []string{"spec", "versions"})
	list, _ := field.([]any)
	var out []crdVersion
	for _, e := range list {
		m, _ := e.(map[string]any)
		v := crdVersion{}
		v.name, _ = m["name"].(string)
		v.served, _ = m["served"].(bool)
		v.storage, _ = m["storage"].(bool)
		s, _ := fleet.Lookup(m, []string{"schema", "openAPIV3Schema"})
		v.schema, _ = s.(map[string]any)
		out = append(out, v)
	}
	return out
}

// users returns the new objects of a kind. An empty version selects all versions.
func (r *rehearsal) users(gk schema.GroupKind, version string) []fleet.Object {
	return diag.Filter(r.after.Objects, func(o fleet.Object) bool {
		return kindOf(o) == gk && (version == "" || o.GroupVersionKind().Version == version)
	})
}

// usersText returns the objects with their releases.
func usersText(objs []fleet.Object) string {
	var texts []string
	for _, o := range objs {
		text := o.ID()
		if release := o.ReleaseName(); release != "" {
			text += " of release " + release
		}
		texts = append(texts, text)
	}
	return listed(diag.Distinct(texts))
}

// removedCRD adds the finding for a CRD that leaves the fleet while the fleet has objects of
// its kind.
func (r *rehearsal) removedCRD(crd fleet.Object, users []fleet.Object) {
	text := "the CRD is removed from the fleet, which still has objects of its kind: " + usersText(users)
	hint := "keep the CRD in a release, or remove these objects. " + keepsProtected
	if keep := fleet.KeepAnnotation(crd.Unstructured); keep != "" {
		hint = "keep the CRD in a release. It stays in the cluster, because it has " + keep + ", and is no longer updated"
	}
	r.add(about(crd, diff.CRDRemoved, diff.Breaks, text, hint))
}

// removedCRDs adds the findings for CRDs that leave a release without objects of their kind
// in the fleet. CRDs of a release that is deleted are among its data.
func (r *rehearsal) removedCRDs(release string, crds []fleet.Object) {
	var kept, gone []string
	for _, o := range crds {
		if fleet.KeepAnnotation(o.Unstructured) != "" {
			kept = append(kept, o.GetName())
		} else {
			gone = append(gone, o.GetName())
		}
	}
	if len(gone) > 0 {
		r.add(diff.Finding{
			Reason: diff.CRDRemoved, Severity: diff.Check, Release: release, Hint: keepsProtected,
			Text: diag.Count(len(gone), "CRD leaves", "CRDs leave") + " the fleet, and the deletion of a CRD deletes all objects of its kind: " + listed(gone),
		})
	}
	if len(kept) > 0 {
		r.add(diff.Finding{
			Reason: diff.CRDRemoved, Severity: diff.Note, Release: release, Hint: "look after their updates in another release",
			Text: diag.Count(len(kept), "CRD is", "CRDs are") + " left in the cluster by an annotation, and no longer updated: " + listed(kept),
		})
	}
}

// changedCRD compares two states of a CRD.
func (r *rehearsal) changedCRD(before, after fleet.Object) {
	old, next := versionsOf(before), versionsOf(after)
	gk := fleet.DefinedKind(after.Unstructured)
	for _, name := range sortedKeys(old) {
		v, n := old[name], next[name]
		if n.name == "" || v.served && !n.served {
			r.droppedVersion(after, gk, v, n.name != "")
		}
		if v.storage && !n.storage && n.name != "" {
			r.add(about(after, diff.CRDStorage, diff.Note, "stored objects stay in version "+name+" until they are written again", "write them again before a later version of the CRD drops "+name))
		}
	}
	compare := func() []versionNarrowing { return compareVersions(old, next) }
	if before.Shared && after.Shared {
		r.narrowed(after, gk, r.Rehearser.narrowed.Get([2]*unstructured.Unstructured{before.Unstructured, after.Unstructured}, compare))
		return
	}
	r.narrowed(after, gk, compare())
}

// A versionNarrowing is a narrowing of one version of a CRD.
type versionNarrowing struct {
	narrowing
	version string
}

// compareVersions returns the narrowings of versions that a CRD serves before and after.
func compareVersions(old, next map[string]crdVersion) []versionNarrowing {
	var out []versionNarrowing
	for _, name := range sortedKeys(old) {
		if v, n := old[name], next[name]; v.served && n.served {
			for _, change := range compareSchemas(v.schema, n.schema) {
				out = append(out, versionNarrowing{change, name})
			}
		}
	}
	return out
}

// droppedVersion adds the finding for a version that a CRD no longer serves, or no longer
// lists.
func (r *rehearsal) droppedVersion(crd fleet.Object, gk schema.GroupKind, v crdVersion, isListed bool) {
	users := r.users(gk, v.name)
	severity, text := diff.Check, "version "+v.name+" is no longer served"
	hint := "make sure that no client uses it"
	if !isListed {
		const refused = " is no longer listed: the API server refuses the CRD while its status.storedVersions has it"
		text = "version " + v.name + refused
		hint = "make sure that status.storedVersions of the CRD in the cluster does not have it"
		if v.served {
			hint += ", and that no client uses it"
		}
		if v.storage {
			severity, text = diff.Breaks, "version "+v.name+", in which the cluster stores objects,"+refused
			hint = "write all objects in another version first, and remove the version from status.storedVersions"
		}
	}
	if len(users) > 0 {
		severity, text = diff.Breaks, text+". The fleet has objects in it: "+usersText(users)
		hint = "change the apiVersion of these objects; " + hint
	}
	r.add(about(crd, diff.CRDVersion, severity, text, hint))
}

// narrowed adds a finding for narrowings of the CRD that concern objects of the fleet. The
// rest of all CRDs of a release is one finding.
func (r *rehearsal) narrowed(crd fleet.Object, gk schema.GroupKind, changes []versionNarrowing) {
	var used []string
	var unused []narrowing
	for _, change := range changes {
		users := diag.Filter(r.users(gk, change.version), func(o fleet.Object) bool { return change.concerns(o.Object) })
		if len(users) == 0 {
			unused = append(unused, change.narrowing)
			continue
		}
		used = append(used, change.String()+" ("+change.version+") in "+usersText(users))
	}
	if len(used) > 0 {
		r.add(about(crd, diff.CRDNarrowed, diff.Breaks, "the CRD accepts less, and the fleet uses it: "+listed(used), "change these objects for the new CRD"))
	}
	if len(unused) == 0 {
		return
	}
	slices.SortStableFunc(unused, func(a, b narrowing) int {
		return slices.Index(narrowingKinds, a.kind) - slices.Index(narrowingKinds, b.kind)
	})
	text := crd.GetName() + " (" + unused[0].String()
	if n := len(unused) - 1; n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	if r.unusedNarrowings == nil {
		r.unusedNarrowings = map[string][]string{}
	}
	r.unusedNarrowings[crd.ReleaseName()] = append(r.unusedNarrowings[crd.ReleaseName()], text+")")
}

// accepts reports whether a schema takes a value. It checks only the given keywords of the
// schema, so that fields below the value do not matter.
func accepts(schema map[string]any, value any, keywords ...string) bool {
	part := map[string]any{}
	for _, key := range keywords {
		if v, ok := schema[key]; ok {
			part[key] = v
		}
	}
	if _, ok := part["type"]; ok || typeOf(schema) == intOrString {
		part["nullable"] = schema["nullable"]
		if typeOf(schema) == intOrString {
			delete(part, "type")
			part["anyOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
		}
	}
	text, err := json.Marshal(part)
	if err != nil || strings.Contains(string(text), `"$ref"`) {
		return false // a CRD that the API server refuses
	}
	s := &spec.Schema{}
	if json.Unmarshal(text, s) != nil {
		return false
	}
	return !validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value).HasErrors()
}

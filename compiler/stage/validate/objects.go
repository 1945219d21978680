// Package validate checks the objects of a cluster before they become its
// bundle: each has an apiVersion, a kind and a valid name; the cluster serves
// the kind; only objects of namespaced kinds have a namespace; there are no
// duplicates; and the API server of the cluster's version accepts the fields of
// built-in kinds.
//
// A [CRDChecker] validates the CustomResourceDefinitions of a cluster, and custom
// resources against them, as the API server does when it creates them.
//
// A [PolicyChecker] checks the objects against the cluster's policies, which are rules in CUE
// that it gets as text. A rule with the field object is unified with each object, which must
// already have everything that the rule requires. A rule with the field violations computes
// them from all objects.
//
// The package does not check values encrypted by SOPS. It does not change values,
// parse YAML, or use a cluster or the network. Of the API server's rules for built-in
// kinds beyond its schemas, it implements those that users often violate. So a
// reported object is invalid, but an unreported one may be invalid as well.
//
// It is large because Kubernetes' own kinds, CRDs, custom resources and policies have their
// own rules; policy*.go has those of policies, and crd*.go those of CRDs.
package validate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// Cluster returns a fault when the kinds of the cluster's Kubernetes version
// are unknown.
func Cluster(c *fleet.Cluster) error {
	if _, known := kube.Minor(c.KubeVersion); known {
		return nil
	}
	all := kube.Versions()
	return diag.In(c.ID, &diag.Diag{
		Code: diag.CodeKubernetesVersion,
		At:   diag.Positions(c.KubePos),
		Path: "cluster.kubernetes",
		Msg:  fmt.Sprintf("the kinds of Kubernetes %q are not known", visible(c.KubeVersion)),
		Hint: fmt.Sprintf("use a version from %s to %s", all[0], all[len(all)-1]),
	})
}

// A Checker checks the clusters of a fleet and caches results for objects that
// they share. The zero value is ready for concurrent use.
type Checker struct {
	placed   par.Memo[placement, *unstructured.Unstructured]
	unmarked par.Memo[*unstructured.Unstructured, *unstructured.Unstructured]
	sound    par.Memo[validityKey, bool]
}

// A placement is the cache key for an object in a namespace, which is empty for
// none.
type placement struct {
	content   *unstructured.Unstructured
	namespace string
}

// A validityKey is the cache key for the validity of an object on its own in a
// version of Kubernetes.
type validityKey struct {
	content *unstructured.Unstructured
	version *kube.Version
}

// Objects checks all objects of a cluster together. It replaces objects in the
// slice to correct their namespace: an object of a namespaced kind without one
// gets that of its release, and the namespace of a cluster-scoped object is
// dropped, as the API server does. Lists must be flattened before.
//
// The error is a diag.List of all faults, marked with the cluster's ID.
func (kc *Checker) Objects(c *fleet.Cluster, objs []fleet.Object) error {
	k := &check{Checker: kc, unknown: map[schema.GroupVersionKind][]fleet.Object{}, seen: map[identity][]fleet.Object{}, namespaces: map[string]bool{}}
	v, ok := kube.Minor(c.KubeVersion)
	if !ok {
		k.faults.Add(Cluster(c))
		// For an unknown version, the checks that do not depend on it use the
		// rules of the newest.
		all := kube.Versions()
		v = all[len(all)-1]
	}
	k.kinds = newCatalog(v, c, objs)
	for i := range objs {
		if o := &objs[i]; !k.isKnownValid(*o, v, ok) {
			k.alone(o, v, ok)
		} else {
			k.together(o, ok)
		}
	}
	k.reportUnknown()
	k.reportDuplicates()
	return diag.In(c.ID, k.faults.Err())
}

// Alone checks objects of a cluster individually: form, name and fields,
// without checks that depend on other objects. The error is a diag.List, marked
// with the cluster's ID.
func (kc *Checker) Alone(c *fleet.Cluster, objs []fleet.Object) error {
	v, ok := kube.Minor(c.KubeVersion)
	if !ok {
		return diag.In(c.ID, Cluster(c))
	}
	k := &check{Checker: kc}
	for _, o := range objs {
		if k.content(o, v, true) {
			k.name(o, v)
		}
	}
	return diag.In(c.ID, k.faults.Err())
}

// isKnownValid reports whether an object is known to be valid on its own.
func (k *check) isKnownValid(o fleet.Object, v *kube.Version, versionKnown bool) bool {
	if !o.Shared || !versionKnown {
		return false
	}
	return k.sound.Get(validityKey{o.Unstructured, v}, func() bool {
		try := &check{}
		sound := try.content(o, v, true)
		if sound {
			try.name(o, v)
		}
		return sound && len(try.faults) == 0
	})
}

// alone checks an object, on its own and among the others.
func (k *check) alone(o *fleet.Object, v *kube.Version, versionKnown bool) {
	if k.content(*o, v, versionKnown) {
		k.together(o, versionKnown)
		k.name(*o, v)
	}
}

// name checks the name of an object of valid form.
func (k *check) name(o fleet.Object, v *kube.Version) {
	gvk := o.GroupVersionKind()
	if want := illegalName(o, gvk.GroupKind(), v.Number()); want != "" {
		k.add(o, fmt.Sprintf("metadata.name %q is not a valid name of a %s: it must be %s", visible(o.GetName()), gvk.Kind, want), "")
	}
	if fleet.IsRecord(gvk.GroupKind(), o.GetNamespace(), o.GetName()) {
		k.add(o, "fleetc stores its own records in this object", "rename it, or move it to another namespace")
	}
}

// content checks an object on its own. It reports whether its form is valid.
func (k *check) content(o fleet.Object, v *kube.Version, versionKnown bool) bool {
	sound := k.form(o)
	// Values that SOPS encrypted are not valid for Kubernetes until they are
	// decrypted.
	if versionKnown && o.Unstructured != nil && !fleet.IsEncrypted(o.Unstructured) {
		k.faults = append(k.faults, fields(o, v, sound)...)
	}
	return sound
}

// Namespaces sets the namespaces of the objects of a cluster like Objects,
// without reporting faults.
func (kc *Checker) Namespaces(c *fleet.Cluster, objs []fleet.Object) {
	v, ok := kube.Minor(c.KubeVersion)
	if !ok {
		return
	}
	kinds := newCatalog(v, c, objs)
	for i := range objs {
		o := &objs[i]
		if o.Unstructured == nil || o.Object == nil {
			continue
		}
		if namespaced, known := kinds.scope(o.GroupVersionKind()); known {
			kc.place(o, namespaced)
		}
	}
}

// place sets the namespace of an object.
func (kc *Checker) place(o *fleet.Object, namespaced bool) {
	if namespaced == (o.GetNamespace() != "") {
		return
	}
	to := ""
	if namespaced {
		to = o.Release.Namespace
	}
	content := o.Unstructured
	if !o.Shared {
		o.Unstructured = inNamespace(content, to)
		return
	}
	o.Unstructured = kc.placed.Get(placement{content, to}, func() *unstructured.Unstructured { return inNamespace(content, to) })
}

// Unmarked returns an object without its marks, see [fleet.Unmark].
func (kc *Checker) Unmarked(o fleet.Object) fleet.Object {
	if content := o.Unstructured; o.Shared {
		o.Unstructured = kc.unmarked.Get(content, func() *unstructured.Unstructured { return fleet.Unmark(content) })
	} else {
		o.Unstructured = fleet.Unmark(content)
	}
	return o
}

// inNamespace returns an object with another namespace, or with none. The copy
// shares all fields except the metadata.
func inNamespace(content *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(content.Object)}
	if meta, ok := out.Object["metadata"].(map[string]any); ok {
		out.Object["metadata"] = maps.Clone(meta)
	}
	out.SetNamespace(namespace)
	return out
}

// A check is one run over the objects of a cluster.
type check struct {
	*Checker
	faults     diag.List
	kinds      *catalog
	unknown    map[schema.GroupVersionKind][]fleet.Object // by kinds that the cluster does not serve
	seen       map[identity][]fleet.Object
	namespaces map[string]bool // releases with a reported namespace
}

// An identity identifies an object in a cluster.
type identity struct {
	schema.GroupKind
	namespace, name string
}

// add adds a fault of an object, or of one of its fields.
func (k *check) add(o fleet.Object, msg, hint string, field ...string) {
	d := fault(o, msg, hint)
	if len(field) > 0 {
		d.Cause = &fleet.FieldError{Object: o, Field: field}
	}
	k.faults = append(k.faults, d)
}

// together checks one object of valid form among the others. Without a known
// version of Kubernetes, it accepts every kind.
func (k *check) together(o *fleet.Object, versionKnown bool) {
	gvk := o.GroupVersionKind()
	id := identity{gvk.GroupKind(), o.GetNamespace(), o.GetName()}
	if namespaced, known := k.kinds.scope(gvk); known {
		k.namespace(o, namespaced)
		id.namespace = o.GetNamespace()
	} else {
		if versionKnown {
			k.unknown[gvk] = append(k.unknown[gvk], *o)
		}
		if id.namespace == "" {
			id.namespace = o.Release.Namespace
		}
	}
	k.seen[id] = append(k.seen[id], *o)
}

// namespace sets the namespace of an object and checks it.
func (k *check) namespace(o *fleet.Object, namespaced bool) {
	k.place(o, namespaced)
	if !namespaced {
		return
	}
	ns := o.GetNamespace()
	if len(validation.IsDNS1123Label(ns)) == 0 {
		return
	}
	if r := o.Release; ns == r.Namespace {
		// Every object of the release has it: report it once.
		if !k.namespaces[r.Name] {
			k.namespaces[r.Name] = true
			k.faults = append(k.faults, &diag.Diag{
				Code: diag.CodeReleaseName,
				At:   diag.Positions(r.Pos),
				Path: "releases." + visible(r.Name) + ".namespace",
				Msg:  fmt.Sprintf("%q is not a valid namespace: it must be %s", visible(ns), label),
			})
		}
		return
	}
	k.add(*o, fmt.Sprintf("metadata.namespace %q is not a valid namespace: it must be %s", visible(ns), label), "", "metadata", "namespace")
}

// legalKind matches the kinds that the API server accepts in a CRD.
var legalKind = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// form checks the type and the presence of the fields that identify an object.
// It reports whether they are valid.
func (k *check) form(o fleet.Object) bool {
	if o.Unstructured == nil || len(o.Object) == 0 {
		k.add(o, "the object is empty", "leave it out")
		return false
	}
	before := len(k.faults)
	if v, ok := k.text(o, o.Object, "", "apiVersion"); ok && !legalAPIVersion(v) {
		k.add(o, fmt.Sprintf("apiVersion %q is neither version nor group/version", visible(v)), "write it as v1 or apps/v1")
	}
	if v, ok := k.text(o, o.Object, "", "kind"); ok && !legalKind.MatchString(v) {
		k.add(o, fmt.Sprintf("kind %q must be a word of letters, digits and -", visible(v)), "write it as Deployment")
	}
	switch meta := o.Object["metadata"].(type) {
	case nil:
		if o.GetKind() == "List" {
			k.add(o, "items is missing", "write the objects into items, or leave the List out")
			break
		}
		k.add(o, "metadata.name is missing", "set it")
	case map[string]any:
		if _, ok := meta["generateName"]; ok && (meta["name"] == nil || meta["name"] == "") {
			k.add(o, "metadata.generateName is set instead of metadata.name",
				"set metadata.name: the objects of a bundle have fixed names, so that two bundles can be compared")
		} else {
			k.text(o, meta, "metadata.", "name")
		}
		if ns := meta["namespace"]; ns != nil {
			if _, ok := ns.(string); !ok {
				k.add(o, "metadata.namespace is "+diag.TypeOf(ns)+", not a string", textHint(ns), "metadata", "namespace")
			}
		}
		for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
			if meta[field] != nil {
				k.add(o, "metadata."+field+" is set by the API server, which refuses an object with it", "remove it", "metadata", field)
			}
		}
		k.strings(o, meta, "labels")
		k.strings(o, meta, "annotations")
	default:
		k.add(o, "metadata is "+diag.TypeOf(meta)+", not a map", "set metadata.name")
	}
	return len(k.faults) == before
}

// text returns the string in a required field; ok is false after a fault.
func (k *check) text(o fleet.Object, in map[string]any, path, field string) (text string, ok bool) {
	switch v := in[field].(type) {
	case nil:
		k.add(o, path+field+" is missing", "set it")
	case string:
		if v != "" {
			return v, true
		}
		k.add(o, path+field+" is empty", "set it")
	default:
		k.add(o, path+field+" is "+diag.TypeOf(v)+", not a string", textHint(v))
	}
	return "", false
}

// textHint returns how to make a string of a value.
func textHint(v any) string {
	switch v.(type) {
	case map[string]any, []any:
		return "write it as one text, in YAML as a block after |"
	}
	return "put it in quotes"
}

// strings checks that a field of the metadata maps to strings. Like for the API
// server, null is an empty string.
func (k *check) strings(o fleet.Object, meta map[string]any, field string) {
	if meta[field] == nil {
		return
	}
	m, ok := meta[field].(map[string]any)
	if !ok {
		k.add(o, "metadata."+field+" is "+diag.TypeOf(meta[field])+", not a map", "write it as key: value", "metadata", field)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if _, ok := m[key].(string); !ok && m[key] != nil {
			k.add(o, fmt.Sprintf("metadata.%s has %s under %q, not a string", field, diag.TypeOf(m[key]), visible(key)), textHint(m[key]), "metadata", field, key)
		}
	}
}

// legalAPIVersion reports whether text is version or group/version.
func legalAPIVersion(text string) bool {
	group, version, ok := strings.Cut(text, "/")
	if !ok {
		return len(validation.IsDNS1035Label(text)) == 0
	}
	return isSubdomain(group) && len(validation.IsDNS1035Label(version)) == 0
}

package apply

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file chooses the managers whose fields fleetc takes over, and transfers
// these fields.

// A takeover selects the managers whose fields of an object fleetc takes over. The
// zero value selects none.
type takeover struct {
	appliers bool     // managers that apply whole objects
	handed   bool     // Helm, which delivered the object until now, and kubectl
	named    []string // managers with these names
	byHand   bool     // interactive tools, see [isInteractive]

	kept       [][]fleet.Step // fields that these managers keep
	omitsEmpty bool           // whether they have left out empty values
}

// applierNames are prefixes, in lower case, of tools that apply whole objects.
var applierNames = []string{
	"kubectl-", "kustomize-controller", "helm-controller", "flux", "argocd", "kapp", "terraform", "hashicorp", "opentofu", "pulumi", "ansible",
	"openapi-generator", "kluctl", "tanka", "kubecfg", "configsync", "config-sync", "reconciler", "fleetagent", "rancher", "skaffold", "tilt", "helmfile", "carvel",
}

// decoratorNames are prefixes, in lower case, of controllers that set some fields
// of other tools' objects.
var decoratorNames = []string{
	"cert-manager", "cainjector", "istio", "pilot-discovery", "linkerd", "vpa-", "vertical-pod-autoscaler", "keda", "cluster-autoscaler",
	"rollouts-controller", "flagger", "reloader",
}

func hasPrefix(name string, prefixes []string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isKubectlOrHelm reports whether the manager is kubectl or Helm.
func isKubectlOrHelm(name string) bool {
	return name == "kubectl" || strings.HasPrefix(name, "kubectl-") || name == cluster.HelmManager || name == "Helm"
}

// isControlPlane reports whether the manager is a component of the control plane.
func isControlPlane(name string) bool { return strings.HasPrefix(name, "kube-") }

// applies reports whether a manager applies whole objects: a known tool, or one
// that sets more than metadata by server-side apply.
func applies(m metav1.ManagedFieldsEntry) bool {
	switch {
	case isKubectlOrHelm(m.Manager) || hasPrefix(m.Manager, applierNames):
		return true
	case hasPrefix(m.Manager, decoratorNames) || m.Operation != metav1.ManagedFieldsOperationApply:
		return false
	}
	fields := entryFields(m)
	delete(fields, "f:metadata")
	return len(fields) > 0
}

// names reports whether the takeover names a manager. Argo CD has two names.
func (t takeover) names(manager string) bool {
	return slices.Contains(t.named, manager) || manager == argoReplacer && slices.Contains(t.named, argoManager)
}

// managers returns the names of the selected managers of an object, never the
// control plane or managers of subresources. When no manager applies whole objects,
// plain adoption selects the creator of the object.
func (t takeover) managers(o *unstructured.Unstructured) []string {
	var out []string
	var creator *metav1.ManagedFieldsEntry
	for _, m := range o.GetManagedFields() {
		if m.Subresource != "" || isControlPlane(m.Manager) || isOwn(m) || slices.Contains(out, m.Manager) {
			continue
		}
		if t.names(m.Manager) || t.handed && isKubectlOrHelm(m.Manager) || t.appliers && applies(m) || t.byHand && isInteractive(m) {
			out = append(out, m.Manager)
		}
		if !hasPrefix(m.Manager, decoratorNames) && (creator == nil || m.Time.Before(creator.Time)) {
			creator = &m
		}
	}
	if t.appliers && len(out) == 0 && creator != nil {
		out = append(out, creator.Manager)
	}
	return out
}

// formerManagers returns the managers whose fields of an object the item takes
// over.
func (it *Item) formerManagers(o *unstructured.Unstructured) []string {
	names := it.takeover.managers(o)
	if it.takeover.byHand {
		names = slices.DeleteFunc(names, func(name string) bool { return it.isExempt(o, name) })
	}
	return names
}

// exemptPaths returns the paths of fields that the former managers keep: those that
// the release leaves to others.
func (it *Item) exemptPaths() [][]fleet.Step {
	if it.takeover.handed {
		return nil
	}
	if it.takeover.byHand {
		return slices.Concat(it.ownershipPaths(true), restartAnnotation)
	}
	return it.ownershipPaths(true)
}

// isOneOf returns a predicate for entries of the former managers.
func isOneOf(former []string) func(metav1.ManagedFieldsEntry) bool {
	return func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "" && slices.Contains(former, m.Manager)
	}
}

// transferFields moves the fields of former managers to fleetc, except those at the
// exempt paths.
func transferFields(entries []metav1.ManagedFieldsEntry, former []string, spared [][]fleet.Step) ([]metav1.ManagedFieldsEntry, bool) {
	var out []metav1.ManagedFieldsEntry
	var own *metav1.ManagedFieldsEntry
	var all fieldSet
	isFormer := isOneOf(former)
	for _, m := range entries {
		if isOwnApply(m) {
			own = &m
			continue
		}
		fields := entryFields(m)
		if !isFormer(m) || fields == nil {
			out = append(out, m)
			continue
		}
		stays := fieldSet(nil)
		for _, path := range spared {
			var at fieldSet
			at, fields = fields.split(path)
			stays = union(stays, at)
		}
		if all = union(all, fields); stays != nil {
			m.FieldsV1 = encodeFields(stays)
			out = append(out, m)
		}
		if own == nil {
			own = &metav1.ManagedFieldsEntry{Manager: cluster.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: m.APIVersion, Time: m.Time, FieldsType: "FieldsV1"}
		}
	}
	if all == nil {
		return entries, false
	}
	if own.FieldsV1 != nil {
		var fields fieldSet
		if json.Unmarshal(own.FieldsV1.GetRawBytes(), &fields) != nil {
			return entries, false
		}
		all = union(all, fields)
	}
	own.FieldsV1 = encodeFields(all)
	return append(out, *own), true
}

func encodeFields(s fieldSet) *metav1.FieldsV1 {
	text, _ := json.Marshal(s) // a map of strings can always be encoded
	return metav1.NewFieldsV1(string(text))
}

// split returns the fields at a path, and the others; nil for none.
func (s fieldSet) split(path []fleet.Step) (at, others fieldSet) {
	at = s.under(path)
	return at, difference(s, at)
}

// under returns the fields at a path, nil for none.
func (s fieldSet) under(path []fleet.Step) fieldSet {
	switch {
	case len(path) == 0:
		return s
	case s.isLeaf():
		return nil
	}
	return s.mapped(func(key string, in fieldSet) fieldSet {
		if !matchesStep(key, path[0]) {
			return nil
		}
		return in.under(path[1:])
	})
}

// matchesStep reports whether a key of a fieldSet matches a step of a path.
func matchesStep(key string, step fleet.Step) bool {
	if step.Key != "" {
		return key == "f:"+step.Key
	}
	keys := keysOf(key)
	return keys != nil && step.Matches(keys)
}

// A Takeover lists the fields that adoption removes from one manager. Its JSON
// field names are stable.
type Takeover struct {
	Manager string   `json:"manager"`
	Removes []string `json:"removes"` // paths of fields and elements of lists
}

// takeovers returns the removed fields of each former manager that the object does
// not have afterwards.
func takeovers(before, after *unstructured.Unstructured, former []string, removed fieldSet) []Takeover {
	var out []Takeover
	for _, name := range former {
		fields := fieldsWhere(before, isOneOf([]string{name}))
		paths := intersection(fields, removed).paths("", before.Object, after.Object)
		out = append(out, Takeover{Manager: diag.Visible(name, diag.MaxText), Removes: append([]string{}, paths...)})
	}
	return out
}

// intersection returns the fields that both sets have.
func intersection(a, b fieldSet) fieldSet {
	switch {
	case a == nil || b == nil:
		return nil
	case a.isLeaf():
		return b
	case b.isLeaf():
		return b // everything below is removed
	}
	return a.mapped(func(key string, in fieldSet) fieldSet { return intersection(in, b[key]) })
}

// paths returns the sorted paths of the set's fields that differ between two states
// or are removed: spec.containers[name=side].
func (s fieldSet) paths(prefix string, before, after any) []string {
	if s.isLeaf() {
		if before == nil || reflect.DeepEqual(before, after) {
			return nil
		}
		return []string{prefix}
	}
	var out []string
	for key, in := range s {
		if key != "." {
			out = append(out, in.paths(joinKey(prefix, key), at(before, key), at(after, key))...)
		}
	}
	slices.Sort(out)
	return out
}

// at returns the value that a key of a fieldSet selects, nil when there is none.
func at(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[strings.TrimPrefix(key, "f:")]
	case []any:
		one := fieldSet{key: fieldSet{".": {}}}
		for _, element := range v {
			if set, _ := one.element(element); set != nil || one.hasValue(element) {
				return element
			}
		}
	}
	return nil
}

// joinKey appends a key of a fieldSet to a path, in the notation of plans.
func joinKey(prefix, key string) string {
	kind, text, _ := strings.Cut(key, ":")
	switch kind {
	case "f":
		if strings.ContainsAny(text, ".[]\"") {
			text = quote(text)
		} else {
			text = diag.Visible(text, diag.MaxText)
		}
		return strings.TrimPrefix(prefix+"."+text, ".")
	case "k":
		if fields := keysOf(key); fields != nil {
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				value, _ := json.Marshal(fields[name]) // it was JSON
				parts = append(parts, name+"="+strings.Trim(string(value), `"`))
			}
			text = strings.Join(parts, ",")
		}
	}
	return prefix + "[" + diag.Visible(strings.Trim(text, `"`), diag.MaxText) + "]"
}

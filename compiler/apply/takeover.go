package apply

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// This file chooses the managers whose fields fleetc takes over, and gives it
// these fields.

// A takeover chooses the managers whose fields of an object fleetc takes over. The
// zero value chooses none.
type takeover struct {
	appliers bool     // those that apply whole objects
	handed   bool     // those of Helm, which delivered the object until now, and kubectl
	named    []string // those of the names
	byHand   bool     // those that people work with, see [isInteractive]
}

// applierNames are prefixes of the names of tools that apply whole objects, in small
// letters.
var applierNames = []string{
	"kubectl-", "kustomize-controller", "helm-controller", "flux", "argocd", "kapp", "terraform", "hashicorp", "opentofu", "pulumi", "ansible",
	"openapi-generator", "kluctl", "tanka", "kubecfg", "configsync", "config-sync", "reconciler", "fleetagent", "rancher", "skaffold", "tilt", "helmfile", "carvel",
}

// decoratorNames are prefixes of the names of controllers that set some fields of
// objects which another tool makes, in small letters.
var decoratorNames = []string{
	"cert-manager", "cainjector", "istio", "pilot-discovery", "linkerd", "vpa-", "vertical-pod-autoscaler", "keda", "cluster-autoscaler",
	"rollouts-controller", "flagger", "reloader",
}

func hasPrefix(name string, prefixes []string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isKubectlOrHelm reports whether the name is that of kubectl or Helm.
func isKubectlOrHelm(name string) bool {
	return name == "kubectl" || strings.HasPrefix(name, "kubectl-") || name == helm.Manager || name == "Helm"
}

// isControlPlane reports whether the name is that of a part of the control plane.
func isControlPlane(name string) bool { return strings.HasPrefix(name, "kube-") }

// applies reports whether a manager applies the object as a whole: a tool that is
// known to, or one that sets more by server-side apply than metadata.
func applies(m metav1.ManagedFieldsEntry) bool {
	switch {
	case isKubectlOrHelm(m.Manager) || hasPrefix(m.Manager, applierNames):
		return true
	case hasPrefix(m.Manager, decoratorNames) || m.Operation != metav1.ManagedFieldsOperationApply:
		return false
	}
	var fields fieldSet
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	delete(fields, "f:metadata")
	return len(fields) > 0
}

// chosen returns the names of the managers whose fields are taken over. The control
// plane is never one of them, nor is who has a subresource. When no manager applies
// the object, plain adoption takes the fields of the one that created it.
func (t takeover) chosen(o *unstructured.Unstructured) []string {
	var out []string
	var creator *metav1.ManagedFieldsEntry
	for _, m := range o.GetManagedFields() {
		if m.Subresource != "" || isControlPlane(m.Manager) || isOwn(m) || slices.Contains(out, m.Manager) {
			continue
		}
		if slices.Contains(t.named, m.Manager) || t.handed && isKubectlOrHelm(m.Manager) || t.appliers && applies(m) || t.byHand && isInteractive(m) {
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

// former returns the managers whose fields of an object the item takes over.
func (it *Item) former(o *unstructured.Unstructured) []string {
	names := it.takeover.chosen(o)
	if it.takeover.byHand {
		names = slices.DeleteFunc(names, func(name string) bool { return it.isSpared(o, name) })
	}
	return names
}

// spared returns the fields that stay with the managers whose other fields are
// taken over: what the release leaves to others.
func (it *Item) spared() [][]fleet.Step {
	if it.takeover.handed {
		return nil // Helm delivered the object for the release
	}
	if it.takeover.byHand {
		return slices.Concat(it.owned(true), restarts)
	}
	return it.owned(true)
}

// takesField reports whether the entry is of a manager that the item takes fields
// over from.
func takesField(former []string) func(metav1.ManagedFieldsEntry) bool {
	return func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "" && slices.Contains(former, m.Manager)
	}
}

// take gives fleetc the fields of former managers, except those at the paths.
func take(entries []metav1.ManagedFieldsEntry, former []string, spared [][]fleet.Step) ([]metav1.ManagedFieldsEntry, bool) {
	var out []metav1.ManagedFieldsEntry
	var own *metav1.ManagedFieldsEntry
	var all fieldSet
	isFormer := takesField(former)
	for _, m := range entries {
		if isApplied := isOwn(m) && m.Subresource == "" && m.Operation == metav1.ManagedFieldsOperationApply; isApplied {
			own = &m
			continue
		}
		var fields fieldSet
		if !isFormer(m) || m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
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
			own = &metav1.ManagedFieldsEntry{Manager: live.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: m.APIVersion, Time: m.Time, FieldsType: "FieldsV1"}
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

// split returns the fields at a path, and the others; nil when there are none.
func (s fieldSet) split(path []fleet.Step) (at, others fieldSet) {
	switch {
	case s == nil || s.whole() && len(path) > 0:
		return nil, s
	case len(path) == 0:
		return s, nil
	}
	others = maps.Clone(s)
	for key, in := range s {
		if !leads(key, path[0]) {
			continue
		}
		below, rest := in.split(path[1:])
		if below == nil {
			continue
		}
		if at == nil {
			at = fieldSet{}
		}
		at[key] = below
		if rest == nil {
			delete(others, key)
		} else {
			others[key] = rest
		}
	}
	if len(others) == 0 {
		others = nil
	}
	return at, others
}

// leads reports whether the key of a fieldSet is what a step leads to.
func leads(key string, step fleet.Step) bool {
	if step.Key != "" {
		return key == "f:"+step.Key
	}
	text, isElement := strings.CutPrefix(key, "k:")
	var element map[string]any
	return isElement && json.Unmarshal([]byte(text), &element) == nil && step.Matches(element)
}

// A Takeover says what goes away with the fields that one manager had. The names
// of its fields in JSON stay as they are.
type Takeover struct {
	Manager string   `json:"manager"`
	Removes []string `json:"removes"` // paths of fields and elements of lists
}

// takeovers returns what of the fields that go each manager has, as far as the
// object has them afterwards no more.
func takeovers(was, after *unstructured.Unstructured, former []string, goes fieldSet) []Takeover {
	var out []Takeover
	for _, name := range former {
		has := fieldsWhere(was, takesField([]string{name}))
		paths := common(has, goes).paths("", was.Object, after.Object)
		out = append(out, Takeover{Manager: diag.Visible(name, diag.MaxText), Removes: append([]string{}, paths...)})
	}
	return out
}

// common returns the fields that both sets have.
func common(a, b fieldSet) fieldSet {
	switch {
	case a == nil || b == nil:
		return nil
	case a.whole():
		return b
	case b.whole():
		return b // all that is below goes
	}
	var out fieldSet
	for key, in := range a {
		both := common(in, b[key])
		if both == nil {
			continue
		}
		if out == nil {
			out = fieldSet{}
		}
		out[key] = both
	}
	return out
}

// paths returns the paths of the fields that a value has and another has not, or
// has otherwise, sorted: spec.containers[name=side].
func (s fieldSet) paths(prefix string, was, after any) []string {
	if s.whole() {
		if was == nil || reflect.DeepEqual(was, after) {
			return nil
		}
		return []string{prefix}
	}
	var out []string
	for key, in := range s {
		if key != "." {
			out = append(out, in.paths(joinKey(prefix, key), at(was, key), at(after, key))...)
		}
	}
	slices.Sort(out)
	return out
}

// at returns what the key of a fieldSet leads to, nil when the value does not have
// it.
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

// joinKey appends a key of a fieldSet to a path, as plans write paths.
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
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) == nil {
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

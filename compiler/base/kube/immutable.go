package kube

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An immutableField is a field that the API server refuses to change in an existing
// object.
type immutableField struct {
	path    string                    // spec.selector
	but     []string                  // fields below the path that can change; the others below it cannot
	filled  bool                      // the API server fills it when it is not set, so that only another value is a change
	applies func(map[string]any) bool // whether the field of this existing object is immutable; nil for always
}

// immutableFields are the immutable fields of the kinds that charts render, in any version
// of their group. [Version.ImmutableChanges] knows rules for values in addition.
var immutableFields = map[schema.GroupKind][]immutableField{
	{Group: "apps", Kind: "Deployment"}: {{path: "spec.selector"}},
	{Group: "apps", Kind: "ReplicaSet"}: {{path: "spec.selector"}},
	{Group: "apps", Kind: "DaemonSet"}:  {{path: "spec.selector"}},
	{Group: "apps", Kind: "StatefulSet"}: {{path: "spec", but: []string{
		"replicas", "ordinals", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds", "revisionHistoryLimit",
	}}},
	{Group: "apps", Kind: "ControllerRevision"}: {{path: "data"}},
	{Group: "batch", Kind: "Job"}: {
		{path: "spec.template"},
		{path: "spec.selector", filled: true},
		{path: "spec.completionMode"},
		{path: "spec.backoffLimitPerIndex"},
		{path: "spec.podFailurePolicy"},
		{path: "spec.successPolicy"},
		{path: "spec.managedBy"},
	},
	{Kind: "Service"}:               {{path: "spec.clusterIP", filled: true}, {path: "spec.clusterIPs", filled: true}},
	{Kind: "Secret"}:                {{path: "type"}, {path: "data", applies: isImmutable}, {path: "immutable", applies: isImmutable}},
	{Kind: "ConfigMap"}:             {{path: "data", applies: isImmutable}, {path: "binaryData", applies: isImmutable}, {path: "immutable", applies: isImmutable}},
	{Kind: "PersistentVolumeClaim"}: {{path: "spec", but: []string{"resources", "volumeAttributesClassName"}}},
	{Kind: "PersistentVolume"}: {{path: "spec", but: []string{
		"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName",
	}}},
	{Kind: "Pod"}: {{path: "spec", but: []string{
		"activeDeadlineSeconds", "containers", "initContainers", "schedulingGates", "tolerations", // see podChanges
	}}},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        {{path: "roleRef"}},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: {{path: "roleRef"}},
	{Group: "storage.k8s.io", Kind: "StorageClass"}: {
		{path: "provisioner"}, {path: "parameters"}, {path: "reclaimPolicy"}, {path: "volumeBindingMode"},
	},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:  {{path: "driverName"}, {path: "parameters"}},
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:              {{path: "spec.attachRequired"}, {path: "spec.volumeLifecycleModes"}},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:       {{path: "value"}, {path: "preemptionPolicy"}},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:              {{path: "handler"}},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:        {{path: "spec.controller"}},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:        {{path: "addressType"}},
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:         {{path: "spec"}},
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}: {{path: "spec"}},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		{path: "spec.group"}, {path: "spec.scope"}, {path: "spec.names.kind"}, {path: "spec.names.plural"},
	},
}

func isImmutable(before map[string]any) bool { return before["immutable"] == true }

// ImmutableChanges returns the paths of immutable fields that differ between two states of
// an object, sorted. A field with its default is equal to an absent one. It returns nil for
// custom resources.
func (v *Version) ImmutableChanges(before, after map[string]any) []string {
	gvk := gvkOf(after)
	s := v.Schema(gvk)
	if gvk.Group == "apiextensions.k8s.io" {
		s = nil // its schemas are large, and none of its immutable fields has a default
	}
	var out []string
	for _, f := range immutableFields[gvk.GroupKind()] {
		if f.applies != nil && !f.applies(before) {
			continue
		}
		old, next := normalizedAt(before, s, f.path), normalizedAt(after, s, f.path)
		if f.filled && next == nil {
			continue
		}
		if len(f.but) == 0 {
			if !reflect.DeepEqual(old, next) {
				out = append(out, f.path)
			}
			continue
		}
		for _, key := range keysOf(old, next) {
			if !slices.Contains(f.but, key) && !reflect.DeepEqual(fieldOf(old, key), fieldOf(next, key)) {
				out = append(out, f.path+"."+key)
			}
		}
	}
	switch gvk.GroupKind() {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		if shrinks(before, after) {
			out = append(out, "spec.resources.requests.storage")
		}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		if changesCompletions(before, after) {
			out = append(out, "spec.completions")
		}
	case schema.GroupKind{Kind: "Pod"}:
		out = append(out, podChanges(normalizedAt(before, s, "spec"), normalizedAt(after, s, "spec"))...)
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		const limit = "spec.revisionHistoryLimit"
		if v.minor < 33 && !reflect.DeepEqual(normalizedAt(before, s, limit), normalizedAt(after, s, limit)) {
			out = append(out, limit)
		}
	}
	slices.Sort(out)
	return out
}

func gvkOf(o map[string]any) schema.GroupVersionKind {
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// normalizedAt returns the field at a path, in the form in which equal values are equal:
// without defaults and empty values, and with canonical quantities.
func normalizedAt(o map[string]any, s *Schema, path string) any {
	keys := strings.Split(path, ".")
	if path == "data" && o["kind"] == "Secret" {
		return normalized(storedData(o), nil)
	}
	last := len(keys) - 1
	for _, key := range keys[:last] {
		s = s.field(key)
	}
	value := fieldOf(normalized(map[string]any{keys[last]: valueAt(o, keys)}, s), keys[last])
	if path == "type" && value == "Opaque" {
		return nil
	}
	return value
}

// storedData returns the data of a Secret with its stringData, as the API server stores
// them.
func storedData(secret map[string]any) any {
	data, _ := secret["data"].(map[string]any)
	out := maps.Clone(data)
	texts, _ := secret["stringData"].(map[string]any)
	for key, text := range texts {
		if out == nil {
			out = map[string]any{}
		}
		if text, ok := text.(string); ok {
			out[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	return out
}

// field returns the schema of a field, or nil.
func (s *Schema) field(key string) *Schema {
	switch {
	case s == nil:
		return nil
	case s.Fields[key] != nil:
		return s.Fields[key]
	case s.Type == Object:
		return s.Elem
	}
	return nil
}

// codeDefaults are defaults that Kubernetes sets in code, where its schemas do not state
// them.
var codeDefaults = map[string]any{
	"PersistentVolumeClaimSpec.volumeMode": "Filesystem", "StatefulSetSpec.podManagementPolicy": "OrderedReady", "JobSpec.completionMode": "NonIndexed",
	"PersistentVolumeClaim.apiVersion": "v1", "PersistentVolumeClaim.kind": "PersistentVolumeClaim", "PodSpec.dnsPolicy": "ClusterFirst",
	"PodSpec.schedulerName": "default-scheduler", "PodSpec.restartPolicy": "Always", "PodSpec.terminationGracePeriodSeconds": int64(30),
	"Container.terminationMessagePath": "/dev/termination-log", "Container.terminationMessagePolicy": "File", "ContainerPort.protocol": "TCP",
	"RoleRef.apiGroup": "rbac.authorization.k8s.io", "StorageClass.reclaimPolicy": "Delete", "StorageClass.volumeBindingMode": "Immediate",
	"PriorityClass.preemptionPolicy": "PreemptLowerPriority", "StatefulSetSpec.revisionHistoryLimit": int64(10),
}

// normalized returns a value without nulls, empty lists and maps, and defaults, and with
// canonical quantities. The schema may be nil.
func normalized(value any, s *Schema) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, field := range value {
			of := s.field(key)
			field = normalized(field, of)
			if field == nil && key != "emptyDir" || s != nil && s.Fields[key] != nil && (isZero(s, key, field) || isDefault(s, key, field, of.Default)) {
				continue
			}
			out[key] = field
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if len(value) == 0 {
			return nil
		}
		out := make([]any, len(value))
		for i, e := range value {
			var elem *Schema
			if s != nil {
				elem = s.Elem
			}
			out[i] = normalized(e, elem)
		}
		return out
	case string, int64, float64:
		if s != nil && s.Type == Quantity {
			if q, err := resource.ParseQuantity(fmt.Sprint(value)); err == nil {
				return resource.NewDecimalQuantity(*q.AsDec(), resource.DecimalSI).String()
			}
		}
	}
	return value
}

// nullableTexts are fields in which an empty text is not the same as none.
var nullableTexts = []string{"storageClassName", "volumeAttributesClassName", "runtimeClassName", "apiGroup", "fsType", "managedBy"}

// isZero reports whether the API server stores an empty text or false like an absent field.
func isZero(s *Schema, key string, value any) bool {
	switch value {
	case "":
		return !slices.Contains(nullableTexts, key)
	case false:
		switch key {
		case "hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty":
			return true
		case "readOnly":
			return !strings.HasSuffix(s.Name, ".CSIVolumeSource")
		}
	}
	return false
}

// isDefault reports whether a field of a definition has its default.
func isDefault(s *Schema, key string, value, byDefault any) bool {
	name := s.Name[strings.LastIndex(s.Name, ".")+1:]
	code, ok := codeDefaults[name+"."+key]
	if n, isFloat := byDefault.(float64); isFloat {
		if m, isInt := value.(int64); isInt {
			return float64(m) == n
		}
	}
	return ok && reflect.DeepEqual(value, code) || byDefault != nil && reflect.DeepEqual(value, byDefault)
}

func valueAt(value any, path []string) any {
	for _, key := range path {
		value = fieldOf(value, key)
	}
	return value
}

func fieldOf(value any, key string) any {
	m, _ := value.(map[string]any)
	return m[key]
}

// keysOf returns the keys of two maps, sorted.
func keysOf(a, b any) []string {
	all := map[string]any{}
	for _, v := range []any{a, b} {
		m, _ := v.(map[string]any)
		maps.Copy(all, m)
	}
	return slices.Sorted(maps.Keys(all))
}

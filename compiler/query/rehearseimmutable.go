package query

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

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

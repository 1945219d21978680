package diff

import (
	"encoding/json"
	"slices"
	"strings"
)

// A mergeKey names the fields that tell apart the elements of a list.
type mergeKey []string

// fieldKeys returns the keys of the list in the field of the given name, as
// Kubernetes' API has them, the one to try first in front. Where the API has
// several fields, the first alone makes a shorter path if it suffices.
func fieldKeys(field string) []mergeKey {
	switch field {
	case "containers", "initContainers", "ephemeralContainers", "env", "volumes", "imagePullSecrets", "secrets",
		"resourceClaims", "resourceClaimStatuses", "allocatedResourcesStatus", "volumeHealth", "storageHealth", "mapping", "overhead",
		"schedulingGates", "claims", "evictionResponders", "webhooks", "matchConditions", "variables", "drivers":
		return []mergeKey{{"name"}}
	case "volumeMounts":
		return []mergeKey{{"mountPath"}}
	case "volumeDevices":
		return []mergeKey{{"devicePath"}}
	case "ports":
		return []mergeKey{{"containerPort"}, {"containerPort", "protocol"}, {"port"}, {"port", "protocol"}}
	case "nodeAllocatableResourceClaimStatuses":
		return []mergeKey{{"resourceClaimName"}}
	case "hostAliases", "podIPs", "hostIPs":
		return []mergeKey{{"ip"}}
	case "topologySpreadConstraints":
		return []mergeKey{{"topologyKey"}, {"topologyKey", "whenUnsatisfiable"}}
	case "conditions", "addresses":
		return []mergeKey{{"type"}}
	case "healthConditions":
		return []mergeKey{{"status"}, {"status", "reason"}}
	case "ownerReferences", "reservedFor":
		return []mergeKey{{"uid"}}
	}
	return nil
}

// anyKeys returns the keys to try for lists that the API gives none, such as
// those of custom resources.
func anyKeys() []mergeKey {
	return []mergeKey{
		{"name"},
		{"key"},
		{"id"},
		{"mountPath"},
		{"devicePath"},
		{"containerPort"},
		{"containerPort", "protocol"},
		{"port"},
		{"port", "protocol"},
		{"ip"},
		{"topologyKey"},
		{"topologyKey", "whenUnsatisfiable"},
		{"uid"},
		{"type"},
		{"host"},
		{"path"},
		{"alert"},
		{"record"},
	}
}

// selectors returns for both lists, which are in the field of the given name,
// the text that tells each element from the others of its list. It reports
// false for lists that have no such key.
//
// A key by which no element is in both lists says that all were replaced. So
// another is looked for then, by which they changed instead: the port of that
// name, the rule at that place.
func selectors(field string, was, is []any) (olds, news []string, ok bool) {
	own := fieldKeys(field)
	for i, key := range append(own, anyKeys()...) {
		a, fits := key.selectors(was)
		if !fits {
			continue
		}
		b, fits := key.selectors(is)
		switch {
		case !fits:
		case len(a) == 0 || len(b) == 0 || share(a, b):
			return a, b, true
		case i < len(own) && !ok:
			olds, news, ok = a, b, true
		}
	}
	return olds, news, ok
}

func (k mergeKey) selectors(list []any) ([]string, bool) {
	out := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, false
		}
		sel, ok := k.selector(m)
		if !ok || seen[sel] {
			return nil, false
		}
		seen[sel] = true
		out = append(out, sel)
	}
	return out, true
}

// selector returns the text that names an element: name=app, or
// port=53,protocol=UDP.
func (k mergeKey) selector(m map[string]any) (string, bool) {
	var b strings.Builder
	for i, field := range k {
		v, ok := m[field]
		if !ok && field == "protocol" {
			v = "TCP" // as the API server does
		}
		text, ok := scalar(v)
		if !ok {
			return "", false
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(field + "=" + text)
	}
	return b.String(), true
}

// scalar returns the text of a string, number or bool, and reports whether v
// is one. The text tells "80" from 80.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return quote(v), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	case json.Number:
		if !json.Valid([]byte(v)) {
			return "", false // it could be any text
		}
	}
	return number(v)
}

// share reports whether a text is in both lists.
func share(a, b []string) bool {
	in := make(map[string]bool, len(a))
	for _, s := range a {
		in[s] = true
	}
	return slices.ContainsFunc(b, func(s string) bool { return in[s] })
}

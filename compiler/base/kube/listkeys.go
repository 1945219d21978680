package kube

import (
	"slices"
	"strings"
)

// A mergeKey names the fields that identify the elements of a list.
type mergeKey []string

// fieldKeys returns the merge keys of the list in a field of the Kubernetes
// API, in the order to try them. If the API uses several fields, the first
// alone is tried too, because it makes a shorter path.
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

// anyKeys returns the keys to try for other lists, such as those of custom
// resources.
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

// ListSelectors returns the text that identifies each element of both lists in a field, such as
// name=app. text returns the text of a string, number or bool, and whether a value is one. It
// reports false for lists without a key.
//
// A key without common elements means that all were replaced. Then another key
// is tried under which elements were changed instead, such as the name of a
// port.
func ListSelectors(field string, before, after []any, text func(any) (string, bool)) (olds, news []string, ok bool) {
	own := fieldKeys(field)
	for i, key := range append(own, anyKeys()...) {
		a, fits := key.selectors(before, text)
		if !fits {
			continue
		}
		b, fits := key.selectors(after, text)
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

func (k mergeKey) selectors(list []any, text func(any) (string, bool)) ([]string, bool) {
	out := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, false
		}
		sel, ok := k.selector(m, text)
		if !ok || seen[sel] {
			return nil, false
		}
		seen[sel] = true
		out = append(out, sel)
	}
	return out, true
}

// selector returns the text that identifies an element: name=app, or
// port=53,protocol=UDP.
func (k mergeKey) selector(m map[string]any, text func(any) (string, bool)) (string, bool) {
	var b strings.Builder
	for i, field := range k {
		v, ok := m[field]
		if !ok && field == "protocol" {
			v = "TCP" // the default of the API server
		}
		value, ok := text(v)
		if !ok {
			return "", false
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(field + "=" + value)
	}
	return b.String(), true
}

// share reports whether the lists have a text in common.
func share(a, b []string) bool {
	in := make(map[string]bool, len(a))
	for _, s := range a {
		in[s] = true
	}
	return slices.ContainsFunc(b, func(s string) bool { return in[s] })
}

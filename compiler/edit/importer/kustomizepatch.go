package importer

import (
	"maps"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// kustomizePatch converts a patch of kustomize.
func kustomizePatch(p any) (Patch, bool) {
	var content any
	if err := yaml.Unmarshal([]byte(textAt(p, "patch")), &content); err != nil {
		return Patch{}, false
	}
	target := mapAt(p, "target")
	switch content := content.(type) {
	case []any:
		to, ok := kustomizeSelector(target)
		return Patch{Target: to, JSON: nodeOf(content, nil)}, ok && target != nil
	case map[string]any:
		if target == nil {
			target = patchTarget(content)
		}
		to, ok := kustomizeSelector(target)
		return Patch{Target: to, Strategic: patchNode(content)}, ok
	}
	return Patch{}, false
}

// patchNode returns a patch of kustomize without the fields that name its object.
func patchNode(content map[string]any) *Node {
	body, metadata := maps.Clone(content), maps.Clone(mapAt(content, "metadata"))
	delete(body, "apiVersion")
	delete(body, "kind")
	delete(metadata, "name")
	delete(metadata, "namespace")
	if body["metadata"] = metadata; len(metadata) == 0 {
		delete(body, "metadata")
	}
	return nodeOf(body, nil)
}

// patchTarget returns the target of a patch of kustomize that names its object.
func patchTarget(content map[string]any) map[string]any {
	target := map[string]any{"kind": textAt(content, "kind"), "name": textAt(content, "metadata", "name")}
	if group, _, ok := strings.Cut(textAt(content, "apiVersion"), "/"); ok {
		target["group"] = group
	}
	return target
}

// plainSelector matches a text of a kustomize selector that is not a regular expression.
var plainSelector = regexp.MustCompile(`^[a-zA-Z0-9.-]*$`)

// kustomizeSelector converts the target of a patch. It reports false for a target that has no
// counterpart.
func kustomizeSelector(target map[string]any) (map[string]any, bool) {
	out := map[string]any{}
	if kind := textAt(target, "kind"); kind != "" {
		if group := textAt(target, "group"); group != "" {
			kind += "." + group
		}
		out["kinds"] = []any{kind}
	} else if target["group"] != nil {
		return nil, false
	}
	for from, to := range map[string]string{"name": "names", "namespace": "namespaces"} {
		v := textAt(target, from)
		switch {
		case v == "" || v == ".*":
		case plainSelector.MatchString(v):
			out[to] = []any{v}
		case plainSelector.MatchString(strings.ReplaceAll(v, ".*", "")):
			out[to] = []any{strings.ReplaceAll(v, ".*", "*")}
		default:
			return nil, false
		}
	}
	if labels := textAt(target, "labelSelector"); labels != "" {
		of := map[string]any{}
		for part := range strings.SplitSeq(labels, ",") {
			key, value, ok := strings.Cut(part, "=")
			if !ok || strings.ContainsAny(part, "!()") {
				return nil, false
			}
			of[strings.TrimSpace(key)] = strings.TrimPrefix(strings.TrimSpace(value), "=")
		}
		out["labels"] = of
	}
	return out, target["annotationSelector"] == nil
}

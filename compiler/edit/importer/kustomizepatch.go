package importer

import (
	"maps"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// KustomizePatch converts a patch of kustomize.
func KustomizePatch(p any) (Patch, bool) {
	var content any
	if err := yaml.Unmarshal([]byte(TextAt(p, "patch")), &content); err != nil {
		return Patch{}, false
	}
	target := MapAt(p, "target")
	switch content := content.(type) {
	case []any:
		to, ok := KustomizeSelector(target)
		return Patch{Target: to, JSON: NodeOf(content, nil)}, ok && target != nil
	case map[string]any:
		if target == nil {
			target = TargetOf(content)
		}
		to, ok := KustomizeSelector(target)
		return Patch{Target: to, Strategic: PatchNode(content)}, ok
	}
	return Patch{}, false
}

// PatchNode returns a patch of kustomize without the fields that name its object.
func PatchNode(content map[string]any) *Node {
	body, metadata := maps.Clone(content), maps.Clone(MapAt(content, "metadata"))
	delete(body, "apiVersion")
	delete(body, "kind")
	delete(metadata, "name")
	delete(metadata, "namespace")
	if body["metadata"] = metadata; len(metadata) == 0 {
		delete(body, "metadata")
	}
	return NodeOf(body, nil)
}

// TargetOf returns the target of a patch of kustomize that names its object.
func TargetOf(content map[string]any) map[string]any {
	target := map[string]any{"kind": TextAt(content, "kind"), "name": TextAt(content, "metadata", "name")}
	if group, _, ok := strings.Cut(TextAt(content, "apiVersion"), "/"); ok {
		target["group"] = group
	}
	return target
}

// plainSelector matches a text of a kustomize selector that is not a regular expression.
var plainSelector = regexp.MustCompile(`^[a-zA-Z0-9.-]*$`)

// KustomizeSelector converts the target of a patch. It reports false for a target that has no
// counterpart.
func KustomizeSelector(target map[string]any) (map[string]any, bool) {
	out := map[string]any{}
	if kind := TextAt(target, "kind"); kind != "" {
		if group := TextAt(target, "group"); group != "" {
			kind += "." + group
		}
		out["kinds"] = []any{kind}
	} else if target["group"] != nil {
		return nil, false
	}
	for from, to := range map[string]string{"name": "names", "namespace": "namespaces"} {
		v := TextAt(target, from)
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
	if labels := TextAt(target, "labelSelector"); labels != "" {
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

package importer

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// addPatch adds a patch to a release, which applies after those before it.
func (r *Release) addPatch(name string, p Patch) {
	p.Name = fmt.Sprintf("%02d-%s", len(r.Patches)+1, name)
	r.Patches = append(r.Patches, p)
}

// metadataPatch returns a patch that adds labels and annotations to all objects.
func metadataPatch(metadata map[string]any) Patch {
	return Patch{Form: "strategic", Body: nodeOf(map[string]any{"metadata": metadata}, nil)}
}

// noCounterpart is what to do with a patch that [kustomizePatch] cannot convert.
const noCounterpart = "the target or the form of this patch has no counterpart: write it as a patch of the release, see docs/patches.md"

// kustomizePatch converts a patch of kustomize. It reports false for one that has no
// counterpart.
func kustomizePatch(p any) (Patch, bool) {
	var content any
	if err := yaml.Unmarshal([]byte(textAt(p, "patch")), &content); err != nil {
		return Patch{}, false
	}
	target := mapAt(p, "target")
	switch content := content.(type) {
	case []any:
		to, ok := kustomizeSelector(target)
		return Patch{Target: to, Form: "json", Body: nodeOf(content, nil)}, ok && target != nil && len(content) > 0
	case map[string]any:
		content = strategicContent(textAt(p, "patch"), content)
		isNamed := target != nil || textAt(content, "kind") != ""
		if target == nil {
			target = patchTarget(content)
		}
		to, ok := kustomizeSelector(target)
		return Patch{Target: to, Form: "strategic", Body: patchNode(content)}, ok && isNamed
	}
	return Patch{}, false
}

// strategicContent returns the content of a strategic merge patch as kustomize reads it: on, y and
// dates are texts. It returns fallback, the content as Kubernetes reads it, if the patch does not
// parse.
func strategicContent(text string, fallback map[string]any) map[string]any {
	var document goyaml.Node
	if goyaml.Unmarshal([]byte(text), &document) != nil {
		return fallback
	}
	quoteTexts(&document)
	quoted, err := goyaml.Marshal(&document)
	var content map[string]any
	if err != nil || yaml.Unmarshal(quoted, &content) != nil {
		return fallback
	}
	return content
}

// quoteTexts puts quotes around the plain texts and dates of a document.
func quoteTexts(n *goyaml.Node) {
	if tag := n.ShortTag(); n.Kind == goyaml.ScalarNode && n.Style == 0 && (tag == "!!str" || tag == "!!timestamp") {
		n.Tag, n.Style = "!!str", goyaml.DoubleQuotedStyle
	}
	for _, e := range n.Content {
		quoteTexts(e)
	}
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

// plainSelector matches a text of a kustomize selector without characters of regular
// expressions. Names may contain dots.
var plainSelector = regexp.MustCompile(`^[^][*(){}|^$+?\\]*$`)

// kustomizeSelector converts the target of a patch. It reports false for a target that has no
// counterpart.
func kustomizeSelector(target map[string]any) (map[string]any, bool) {
	out := map[string]any{}
	kind := textAt(target, "kind")
	if !plainSelector.MatchString(kind) {
		return nil, false
	}
	if kind != "" {
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

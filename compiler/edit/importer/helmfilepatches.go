package importer

import (
	"fmt"
	"strings"

	kyaml "sigs.k8s.io/yaml"
)

// patches adds the patches of a release: strategicMergePatches and jsonPatches, each a file
// or a map.
func (e *environmentRun) patches(d *helmfileRelease, out *Release) error {
	var all []any
	for _, key := range []string{"jsonPatches", "strategicMergePatches"} {
		for i, v := range listAt(d.value, key) {
			field := []string{key, fmt.Sprint(i)}
			content, err := e.patchContent(d, v, field)
			if err != nil {
				return err
			}
			if len(content) == 0 {
				continue
			}
			patch, rendered, ok := patchOf(content)
			if !ok {
				out.Unproven = "a patch has no counterpart"
				e.note(d.at(field...), d.title(), key, "the target or the form of this patch has no counterpart: write it as a patch of the release, see docs/patches.md")
				continue
			}
			patch.Name = fmt.Sprintf("%02d-%s", len(out.Patches)+1, strings.ToLower(textAt(content, "kind")+textAt(content, "target", "kind")))
			out.Patches = append(out.Patches, patch)
			all = append(all, rendered)
		}
	}
	if len(all) > 0 {
		out.PostRenderers = append(out.PostRenderers, map[string]any{"patches": all})
	}
	return e.transformers(d, out)
}

// patchContent returns a patch or transformer, which is a file or a map.
func (e *environmentRun) patchContent(d *helmfileRelease, v any, field []string) (map[string]any, error) {
	name, ok := v.(string)
	if !ok {
		return plainNumbers(mapAt(v)), nil
	}
	content, _, err := e.releaseFile(d, name, d.at(field...))
	return plainNumbers(content), err
}

// transformers adds the transformers of a release, which follow its patches. Those that add
// labels or annotations to all objects become patches.
func (e *environmentRun) transformers(d *helmfileRelease, out *Release) error {
	for i, v := range listAt(d.value, "transformers") {
		field := []string{"transformers", fmt.Sprint(i)}
		content, err := e.patchContent(d, v, field)
		if err != nil {
			return err
		}
		text, err := kyaml.Marshal(content)
		if err != nil {
			return err
		}
		metadata := transformedMetadata(content)
		if metadata == nil {
			out.Unproven = "a transformer cannot be imported"
			e.note(d.at(field...), d.title(), "transformers", "write what this transformer changes as patches, see docs/patches.md")
			continue
		}
		out.Patches = append(out.Patches, Patch{
			Name:      fmt.Sprintf("%02d-metadata", len(out.Patches)+1),
			Strategic: nodeOf(map[string]any{"metadata": metadata}, nil),
		})
		out.PostRenderers = append(out.PostRenderers, map[string]any{"transformers": []any{string(text)}})
	}
	return nil
}

// transformedMetadata returns the labels or annotations that a transformer adds to the
// metadata of all objects; nil for one that does something else.
func transformedMetadata(content map[string]any) map[string]any {
	key, ok := map[string]string{"LabelTransformer": "labels", "AnnotationsTransformer": "annotations"}[textAt(content, "kind")]
	specs := listAt(content, "fieldSpecs")
	if !ok || textAt(content, "apiVersion") != "builtin" || len(specs) == 0 || len(mapAt(content, key)) == 0 {
		return nil
	}
	for _, spec := range specs {
		if textAt(spec, "path") != "metadata/"+key || !isTrueAt(spec, "create") || len(mapAt(spec)) > 2 { //nolint:mnd // path and create
			return nil
		}
	}
	return map[string]any{key: mapAt(content, key)}
}

// patchOf returns the patch of a release for one of helmfile, and the same patch for
// kustomize. It reports false for a patch that has no counterpart.
func patchOf(content map[string]any) (patch Patch, rendered map[string]any, ok bool) {
	if target := mapAt(content, "target"); target != nil {
		operations := listAt(content, "patch")
		text, err := kyaml.Marshal(operations)
		if err != nil || len(operations) == 0 {
			return patch, nil, false
		}
		patch.Target, ok = patchSelector(textAt(target, "group"), target)
		patch.JSON = nodeOf(operations, nil)
		return patch, map[string]any{"target": target, "patch": string(text)}, ok
	}
	group, _, isGroup := strings.Cut(textAt(content, "apiVersion"), "/")
	if !isGroup {
		group = ""
	}
	metadata := mapAt(content, "metadata")
	patch.Target, ok = patchSelector(group, map[string]any{"kind": content["kind"], "name": metadata["name"], "namespace": metadata["namespace"]})
	patch.Strategic = patchNode(content)
	text, err := kyaml.Marshal(content)
	return patch, map[string]any{"patch": string(text)}, ok && err == nil
}

// patchSelector returns the selector of the objects that a patch changes. It reports false for
// texts that are regular expressions.
func patchSelector(group string, target map[string]any) (map[string]any, bool) {
	out := map[string]any{}
	kind, name, namespace := textAt(target, "kind"), textAt(target, "name"), textAt(target, "namespace")
	if kind == "" || strings.ContainsAny(kind+name+namespace, `*[](){}|^$+?\`) || target["labelSelector"] != nil || target["annotationSelector"] != nil {
		return nil, false
	}
	if group != "" {
		kind += "." + group
	}
	out["kinds"] = []any{kind}
	if name != "" {
		out["names"] = []any{name}
	}
	if namespace != "" {
		out["namespaces"] = []any{namespace}
	}
	return out, true
}

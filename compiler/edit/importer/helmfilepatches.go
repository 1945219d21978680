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
				e.note(d.at(field...), d.title(), key, noCounterpart)
				continue
			}
			out.addPatch(strings.ToLower(textAt(content, "kind")+textAt(content, "target", "kind")), patch)
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
		out.addPatch("metadata", metadataPatch(metadata))
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
	rendered = map[string]any{}
	body := any(content)
	target := mapAt(content, "target")
	if target != nil {
		rendered["target"], body = target, listAt(content, "patch")
	}
	text, err := kyaml.Marshal(body)
	if err != nil {
		return patch, nil, false
	}
	rendered["patch"] = string(text)
	patch, ok = kustomizePatch(rendered)
	if namespace := textAt(content, "metadata", "namespace"); ok && target == nil && namespace != "" {
		patch.Target["namespaces"] = []any{namespace}
	}
	return patch, rendered, ok
}

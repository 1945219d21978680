//lint:file-ignore SA1019 This file is about the fields that are deprecated.

package kustomize

import (
	"fmt"

	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"
)

// Kustomize prints a warning for each deprecated field. Those that have the
// same meaning in other words are given to it in these; the others are faults.

// editFix is the hint for fields that kustomize can rewrite.
const editFix = "run kustomize edit fix, and see whether it builds the same"

// deprecated are fields that name files or have objects in them.
type deprecated struct {
	bases          []string
	jsonPatches    []types.Patch
	strategicMerge []types.PatchStrategicMerge
}

func (f *file) deprecated() deprecated {
	return deprecated{f.k.Bases, f.k.PatchesJson6902, f.k.PatchesStrategicMerge}
}

// checkLegacy reports deprecated fields that have no other words.
func (b *build) checkLegacy(f *file) {
	if f.k.Vars != nil {
		b.fault(f.pos("vars"), "vars are deprecated in kustomize", "write replacements, or run kustomize edit fix --vars")
	}
	if len(f.k.PatchesJson6902) > 0 && len(f.k.Images)+len(f.k.ImageTags)+len(f.k.Replicas)+len(f.k.Replacements) > 0 {
		b.fault(f.pos("patchesJson6902"), "patchesJson6902 are deprecated in kustomize, and have no other words beside images, replicas and replacements", editFix)
	}
	if len(f.k.CommonLabels) > 0 && b.labelConfig {
		b.fault(f.pos("commonLabels"), "commonLabels are deprecated in kustomize, and have no other words beside a configuration of labels", editFix)
	}
}

// configuration notes what a file of configurations says about labels: those of
// the field labels go there, and commonLabels do not.
func (b *build) configuration(data []byte) {
	var c struct{ Labels []any }
	if err := sigsyaml.Unmarshal(data, &c); err != nil || len(c.Labels) > 0 {
		b.labelConfig = true
	}
}

// serve returns what kustomize sees of a kustomization file.
func (b *build) serve(name string, data []byte) ([]byte, error) {
	if text, ok := b.instead[name]; ok {
		return text, nil
	}
	for _, f := range b.checked {
		if f != nil && f.name == name {
			return f.current()
		}
	}
	return nil, fmt.Errorf("%s was not checked", name)
}

// current returns the kustomization without deprecated fields; as it is when it
// has none.
func (f *file) current() ([]byte, error) {
	k := f.k
	if warnings := k.CheckDeprecatedFields(); warnings == nil || len(*warnings) == 0 {
		return f.data, nil
	}
	k.FixKustomization() // bases and imageTags
	if k.CommonLabels != nil {
		k.Labels = append(k.Labels[:len(k.Labels):len(k.Labels)], types.Label{Pairs: k.CommonLabels, IncludeSelectors: true})
		k.CommonLabels = nil
	}
	// Strategic merge patches come before the others.
	k.Patches, k.PatchesStrategicMerge = append(f.strategic(), k.Patches...), nil
	// JSON patches come after labels and annotations, as transformers do.
	var late []string
	for i, p := range k.PatchesJson6902 {
		text, err := sigsyaml.Marshal(map[string]any{
			"apiVersion": "builtin", "kind": "PatchJson6902Transformer",
			"metadata": map[string]any{"name": fmt.Sprintf("patches-json-%d", i)},
			"target":   p.Target, "path": p.Path, "jsonOp": p.Patch,
		})
		if err != nil {
			return nil, err
		}
		late = append(late, string(text))
	}
	k.Transformers, k.PatchesJson6902 = append(late, k.Transformers...), nil
	return sigsyaml.Marshal(k)
}

// strategic returns the strategic merge patches in today's words.
func (f *file) strategic() []types.Patch {
	var patches []types.Patch
	for _, p := range f.k.PatchesStrategicMerge {
		if f.texts[string(p)] {
			patches = append(patches, types.Patch{Patch: string(p)})
		} else {
			patches = append(patches, types.Patch{Path: string(p)})
		}
	}
	return patches
}

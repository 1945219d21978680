package importer

import (
	"fmt"
	"slices"
)

// patches adds the patches of postRenderers and commonMetadata to a release.
func (s *fluxState) patches(o *fluxObject, r *Release) {
	for i, renderer := range listAt(o.content, "spec", "postRenderers") {
		for j, p := range listAt(renderer, "kustomize", "patches") {
			at := []string{"spec", "postRenderers", fmt.Sprint(i), "kustomize", "patches", fmt.Sprint(j)}
			patch, ok := kustomizePatch(p)
			if !ok {
				r.Unproven = "a patch of postRenderers has no counterpart"
				s.model.Note(Note{Pos: s.at(o, at...), Doc: o.title(), Field: "spec.postRenderers", Do: noCounterpart})
				continue
			}
			r.addPatch("post-renderer", patch)
		}
		for j, image := range listAt(renderer, "kustomize", "images") {
			at := []string{"spec", "postRenderers", fmt.Sprint(i), "kustomize", "images", fmt.Sprint(j)}
			r.Unproven = "images of postRenderers are not imported"
			s.model.Note(Note{Pos: s.at(o, at...), Doc: o.title(), Field: "spec.postRenderers", Do: "set the image " + textAt(image, "name") + " by a value of the chart, or by a patch"})
		}
	}
	for _, renderer := range listAt(o.content, "spec", "postRenderers") {
		if k := mapAt(renderer, "kustomize"); k != nil {
			r.PostRenderers = append(r.PostRenderers, k)
		}
	}
	common := mapAt(o.content, "spec", "commonMetadata")
	metadata := map[string]any{}
	for _, key := range []string{"labels", "annotations"} {
		if of := mapAt(common, key); len(of) > 0 {
			metadata[key] = of
		}
	}
	if len(metadata) > 0 {
		r.CommonMetadata = metadata
		r.addPatch("common-metadata", metadataPatch(metadata))
	}
}

// ownership adds the fields that drift detection ignores: others may own them.
func (s *fluxState) ownership(o *fluxObject, r *Release) {
	for i, rule := range listAt(o.content, "spec", "driftDetection", "ignore") {
		at := []string{"spec", "driftDetection", "ignore", fmt.Sprint(i)}
		target, ok := kustomizeSelector(mapAt(rule, "target"))
		var fields []string
		for j, p := range listAt(rule, "paths") {
			pointer, _ := p.(string)
			if field, ok := pointerField(pointer); ok {
				fields = append(fields, field)
				continue
			}
			s.model.Note(Note{Pos: s.at(o, append(slices.Clone(at), "paths", fmt.Sprint(j))...), Doc: o.title(), Field: "spec.driftDetection.ignore", Do: writeOwnership})
		}
		if len(fields) == 0 {
			continue
		}
		if !ok {
			s.model.Note(Note{Pos: s.at(o, at...), Doc: o.title(), Field: "spec.driftDetection.ignore", Do: "this rule has no counterpart: write the fields under ownership, see docs/apply.md"})
			continue
		}
		r.Ownership = append(r.Ownership, Ownership{Name: fmt.Sprintf("drift-%d", i+1), Target: target, Fields: fields})
	}
}

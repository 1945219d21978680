package importer

import "fmt"

// patches adds the patches of postRenderers and commonMetadata to a release.
func (s *fluxState) patches(o *fluxObject, r *Release) {
	for i, renderer := range listAt(o.content, "spec", "postRenderers") {
		for j, p := range listAt(renderer, "kustomize", "patches") {
			patch, ok := kustomizePatch(p)
			if !ok {
				r.Unproven = "a patch of postRenderers has no counterpart"
				s.model.Note(s.note(o, "spec.postRenderers", noCounterpart, fmt.Sprint(i), "kustomize", "patches", fmt.Sprint(j)))
				continue
			}
			r.addPatch("post-renderer", patch)
		}
		if k := mapAt(renderer, "kustomize"); k != nil {
			r.PostRenderers = append(r.PostRenderers, k)
		}
		for j, image := range listAt(renderer, "kustomize", "images") {
			r.Unproven = "images of postRenderers are not imported"
			s.model.Note(s.note(o, "spec.postRenderers", "set the image "+textAt(image, "name")+" by a value of the chart, or by a patch", fmt.Sprint(i), "kustomize", "images", fmt.Sprint(j)))
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
	r.Ownership = mapNode()
	for i, rule := range listAt(o.content, "spec", "driftDetection", "ignore") {
		const field = "spec.driftDetection.ignore"
		target, ok := kustomizeSelector(mapAt(rule, "target"))
		fields := pointerFields(listAt(rule, "paths"), func(j int) {
			s.model.Note(s.note(o, field, writeOwnership, fmt.Sprint(i), "paths", fmt.Sprint(j)))
		})
		if len(fields) == 0 {
			continue
		}
		if !ok {
			s.model.Note(s.note(o, field, "this rule has no counterpart: write the fields under ownership, see docs/apply.md", fmt.Sprint(i)))
			continue
		}
		r.Ownership.Set(fmt.Sprintf("drift-%d", i+1), ownershipRule(target, fields))
	}
}

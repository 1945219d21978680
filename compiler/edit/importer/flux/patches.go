package flux

import (
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// patches adds the patches of postRenderers and commonMetadata to a release.
func (s *state) patches(o *object, r *importer.Release) {
	for i, renderer := range importer.ListAt(o.content, "spec", "postRenderers") {
		for j, p := range importer.ListAt(renderer, "kustomize", "patches") {
			at := []string{"spec", "postRenderers", fmt.Sprint(i), "kustomize", "patches", fmt.Sprint(j)}
			patch, ok := importer.KustomizePatch(p)
			if !ok {
				r.Unproven = "a patch of postRenderers has no counterpart"
				s.model.Note(importer.Note{Pos: s.at(o, at...), Doc: o.title(), Field: "spec.postRenderers", Do: "the target or the form of this patch has no counterpart: write it as a patch of the release, see docs/patches.md"})
				continue
			}
			patch.Name = fmt.Sprintf("%02d-post-renderer", len(r.Patches)+1)
			r.Patches = append(r.Patches, patch)
		}
		for j, image := range importer.ListAt(renderer, "kustomize", "images") {
			at := []string{"spec", "postRenderers", fmt.Sprint(i), "kustomize", "images", fmt.Sprint(j)}
			r.Unproven = "images of postRenderers are not imported"
			s.model.Note(importer.Note{Pos: s.at(o, at...), Doc: o.title(), Field: "spec.postRenderers", Do: "set the image " + importer.TextAt(image, "name") + " by a value of the chart, or by a patch"})
		}
	}
	for _, renderer := range importer.ListAt(o.content, "spec", "postRenderers") {
		if k := importer.MapAt(renderer, "kustomize"); k != nil {
			r.PostRenderers = append(r.PostRenderers, k)
		}
	}
	common := importer.MapAt(o.content, "spec", "commonMetadata")
	metadata := map[string]any{}
	for _, key := range []string{"labels", "annotations"} {
		if of := importer.MapAt(common, key); len(of) > 0 {
			metadata[key] = of
		}
	}
	if len(metadata) > 0 {
		r.CommonMetadata = metadata
		r.Patches = append(r.Patches, importer.Patch{
			Name:      fmt.Sprintf("%02d-common-metadata", len(r.Patches)+1),
			Strategic: importer.NodeOf(map[string]any{"metadata": metadata}, nil),
		})
	}
}

// ownership adds the fields that drift detection ignores: others may own them.
func (s *state) ownership(o *object, r *importer.Release) {
	for i, rule := range importer.ListAt(o.content, "spec", "driftDetection", "ignore") {
		at := []string{"spec", "driftDetection", "ignore", fmt.Sprint(i)}
		target, ok := importer.KustomizeSelector(importer.MapAt(rule, "target"))
		var fields []string
		for j, p := range importer.ListAt(rule, "paths") {
			pointer, _ := p.(string)
			if field, ok := importer.FieldOf(pointer); ok {
				fields = append(fields, field)
				continue
			}
			s.model.Note(importer.Note{Pos: s.at(o, append(slices.Clone(at), "paths", fmt.Sprint(j))...), Doc: o.title(), Field: "spec.driftDetection.ignore", Do: importer.WriteOwnership})
		}
		if len(fields) == 0 {
			continue
		}
		if !ok {
			s.model.Note(importer.Note{Pos: s.at(o, at...), Doc: o.title(), Field: "spec.driftDetection.ignore", Do: "this rule has no counterpart: write the fields under ownership, see docs/apply.md"})
			continue
		}
		r.Ownership = append(r.Ownership, importer.Ownership{Name: fmt.Sprintf("drift-%d", i+1), Target: target, Fields: fields})
	}
}

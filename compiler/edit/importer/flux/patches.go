package flux

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// plainSelector matches a text of a kustomize selector that is not a regular expression.
var plainSelector = regexp.MustCompile(`^[a-zA-Z0-9.-]*$`)

// selector converts the target of a patch. It reports false for a target that has no
// counterpart.
func selector(target map[string]any) (map[string]any, bool) {
	out := map[string]any{}
	if kind := importer.TextAt(target, "kind"); kind != "" {
		if group := importer.TextAt(target, "group"); group != "" {
			kind += "." + group
		}
		out["kinds"] = []any{kind}
	} else if target["group"] != nil {
		return nil, false
	}
	for from, to := range map[string]string{"name": "names", "namespace": "namespaces"} {
		v := importer.TextAt(target, from)
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
	if labels := importer.TextAt(target, "labelSelector"); labels != "" {
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

// patches adds the patches of postRenderers and commonMetadata to a release.
func (s *state) patches(o *object, r *importer.Release) {
	for i, renderer := range importer.ListAt(o.content, "spec", "postRenderers") {
		for j, p := range importer.ListAt(renderer, "kustomize", "patches") {
			at := []string{"spec", "postRenderers", fmt.Sprint(i), "kustomize", "patches", fmt.Sprint(j)}
			patch, ok := kustomizePatch(p)
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

// kustomizePatch converts a patch of kustomize.
func kustomizePatch(p any) (importer.Patch, bool) {
	var content any
	if err := yaml.Unmarshal([]byte(importer.TextAt(p, "patch")), &content); err != nil {
		return importer.Patch{}, false
	}
	target := importer.MapAt(p, "target")
	switch content := content.(type) {
	case []any:
		to, ok := selector(target)
		return importer.Patch{Target: to, JSON: importer.NodeOf(content, nil)}, ok && target != nil
	case map[string]any:
		if target == nil {
			group, _, _ := strings.Cut(importer.TextAt(content, "apiVersion"), "/")
			target = map[string]any{"kind": importer.TextAt(content, "kind"), "name": importer.TextAt(content, "metadata", "name")}
			if strings.Contains(importer.TextAt(content, "apiVersion"), "/") {
				target["group"] = group
			}
		}
		to, ok := selector(target)
		body := map[string]any{}
		for key, v := range content {
			if key != "apiVersion" && key != "kind" {
				body[key] = v
			}
		}
		if metadata := importer.MapAt(body, "metadata"); metadata != nil {
			rest := map[string]any{}
			for key, v := range metadata {
				if key != "name" && key != "namespace" {
					rest[key] = v
				}
			}
			body["metadata"] = rest
			if len(rest) == 0 {
				delete(body, "metadata")
			}
		}
		return importer.Patch{Target: to, Strategic: importer.NodeOf(body, nil)}, ok
	}
	return importer.Patch{}, false
}

// ownership adds the fields that drift detection ignores: others may own them.
func (s *state) ownership(o *object, r *importer.Release) {
	for i, rule := range importer.ListAt(o.content, "spec", "driftDetection", "ignore") {
		at := []string{"spec", "driftDetection", "ignore", fmt.Sprint(i)}
		target, ok := selector(importer.MapAt(rule, "target"))
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

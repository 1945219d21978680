package importer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// values returns the values of a HelmRelease as helm-controller merges them: those of
// valuesFrom in order, then spec.values. A value for a targetPath is set in place, so that
// it also changes the maps and lists that the result shares with spec.values, and these
// are merged last. unproven says which part is unknown.
func (s *fluxState) values(o *fluxObject) (values *Node, unproven string, err error) {
	own := copyMap(mapAt(o.content, "spec", "values"))
	result, set := map[string]any{}, map[string]any{}
	for i, ref := range listAt(o.content, "spec", "valuesFrom") {
		at := "spec.valuesFrom." + strconv.Itoa(i)
		key := cmp.Or(textAt(ref, "valuesKey"), "values.yaml")
		title := textAt(ref, "kind") + " " + textAt(ref, "name")
		source := s.byID[textAt(ref, "kind")+". "+o.namespace()+"/"+textAt(ref, "name")]
		if source == nil {
			if isTrueAt(ref, "optional") {
				continue
			}
			unproven = "the repository has no " + title + " with values"
			s.model.Note(s.note(o, "spec.valuesFrom", unproven+": write the values into the release", strconv.Itoa(i)))
			continue
		}
		data, encrypted := stringData(source.content)
		value, ok := data[key]
		target := textAt(ref, "targetPath")
		literal := isTrueAt(ref, "literal")
		name := s.byRelease[o.key()]
		switch {
		case encrypted[key]:
			why := "all values are encrypted as one string, which fleetc cannot split: write them into a file whose values sops encrypts one by one, and refer to these as docs/secrets.md shows"
			if target != "" {
				value, why = s.encryptedValue(source, key, name, target)
				literal = true
			}
			if why != "" {
				unproven = "the values in " + title + " are encrypted"
				s.model.Note(s.note(o, "spec.valuesFrom", unproven+": "+why, strconv.Itoa(i)))
				continue
			}
		case !ok && isTrueAt(ref, "optional"):
			continue
		case !ok:
			return nil, "", s.fault(diag.CodeImportInvalid, o, at, title+" has no key "+key, "correct valuesKey")
		}
		if target != "" {
			result = fleet.MergeValues(result, own)
			if err := setTarget(result, target, value, literal); err != nil {
				unproven = "the value for " + target + " is not imported"
				s.model.Note(Note{Pos: s.at(o, strings.Split(at, ".")...), Doc: o.title(), Field: "spec.valuesFrom.targetPath", Do: err.Error() + ": write the value into the release"})
			}
			_ = setTarget(set, target, value, literal) // the same error
			continue
		}
		more, unknown, err := s.valuesText(source, key, value, name)
		if err != nil {
			return nil, "", s.fault(diag.CodeImportInvalid, o, at, title+" "+key+": "+diag.All(err)[0].Msg, "correct the values")
		}
		unproven = cmp.Or(unproven, unknown)
		result = fleet.MergeValues(result, more)
	}
	values = nodeOf(fleet.MergeValues(result, own), o.source("spec", "values"))
	values.setIntegers(set)
	return values, unproven, nil
}

// valuesText returns the values in the text of a key of a ConfigMap or Secret. Those of a
// file that SOPS encrypted are references to secrets, whose names begin with that of the
// release.
func (s *fluxState) valuesText(source *fluxObject, key, text, release string) (values map[string]any, unproven string, err error) {
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return nil, "", &diag.Diag{Code: diag.CodeImportInvalid, Msg: "not valid YAML: " + yamlReason(err)}
	}
	if !isEncryptedFile(text) {
		return values, "", nil
	}
	return s.encryptedValues(source, key, text, release)
}

// setTarget sets the value at a targetPath in place. Flux takes a value in quotes as text.
func setTarget(values map[string]any, target, value string, literal bool) error {
	for _, quote := range []string{"'", `"`} {
		if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) && !literal {
			return setValue(values, target, strings.Trim(value, `'"`), true)
		}
	}
	return setValue(values, target, value, literal)
}

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

package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/objects"
)

// maxApplications is the maximum number of Applications of one ApplicationSet.
const maxApplications = 2000

// An argoSet is an ApplicationSet that is expanded.
type argoSet struct {
	*argoReader
	doc     *Document
	content map[string]any
	isGo    bool     // its templates are Go templates
	options []string // of Go templates
	left    string   // why a generator is not expanded; empty when all are
}

func (s *argoSet) name() string  { return textAt(s.content, "metadata", "name") }
func (s *argoSet) title() string { return applicationSet + " " + s.name() }

func (s *argoSet) fault(code diag.Code, field []string, msg, hint string) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{s.doc.At(field...)}, Path: strings.Join(field, "."), Msg: msg, Hint: hint}
}

// expand adds the Applications of an ApplicationSet.
func (r *argoReader) expand(d *Document, content map[string]any) error {
	s := &argoSet{argoReader: r, doc: d, content: content, isGo: isTrueAt(content, "spec", "goTemplate")}
	for _, o := range listAt(content, "spec", "goTemplateOptions") {
		s.options = append(s.options, fmt.Sprint(o))
	}
	if err := setTypes.check("Argo CD", content, d.At); err != nil {
		return err
	}
	r.model.Note(accountFor(content, s.title(), setTable, d.At)...)
	var apps []*app
	for i, g := range listAt(content, "spec", "generators") {
		params, err := s.generate(g, []string{"spec", "generators", fmt.Sprint(i)})
		if err != nil {
			return err
		}
		if len(apps)+len(params) > maxApplications {
			return s.fault(diag.CodeImportInvalid, []string{"spec", "generators"}, fmt.Sprintf("it generates more than %d Applications", maxApplications), "split the ApplicationSet")
		}
		template := mapAt(content, "spec", "template")
		for _, kind := range slices.Sorted(maps.Keys(mapAt(g))) {
			template = overridden(template, mapAt(g, kind, "template"))
		}
		for _, p := range params {
			made, err := s.application(template, p)
			if err != nil {
				return err
			}
			apps = append(apps, &app{content: made, doc: d, prefix: []string{"spec", "template"}})
		}
	}
	r.apps = append(r.apps, apps...)
	at := []string{"spec", "generators"}
	switch {
	case s.left != "":
		r.model.Dropped = append(r.model.Dropped, &Release{Name: nameOf(s.name()), Origin: s.title(), Pos: d.At(at...), Unproven: s.left})
	case len(apps) == 0:
		r.model.Note(Note{Pos: d.At(at...), Doc: s.title(), Field: strings.Join(at, "."), Do: "nothing to do: the generators match nothing, so that there are no Applications"})
	}
	return nil
}

// application returns the Application of a template with parameters.
func (s *argoSet) application(template, params map[string]any) (map[string]any, error) {
	out, err := s.template(template, params)
	if err != nil {
		return nil, err
	}
	made, _ := out.(map[string]any)
	if made == nil {
		made = map[string]any{}
	}
	if text := textAt(s.content, "spec", "templatePatch"); text != "" {
		if text, err = s.text(text, params); err != nil {
			return nil, err
		}
		var changes map[string]any
		if err := yaml.Unmarshal([]byte(text), &changes); err != nil {
			return nil, s.fault(diag.CodeImportInvalid, []string{"spec", "templatePatch"}, "it renders to invalid YAML: "+yamlReason(err), "correct the template")
		}
		objects.MergeJSON(made, changes)
	}
	made["apiVersion"], made["kind"] = group+"/v1alpha1", application
	return made, nil
}

// overridden returns a template with the fields of a generator's template, which override
// those of the ApplicationSet.
func overridden(template, of map[string]any) map[string]any {
	out := maps.Clone(template)
	for key, v := range of {
		below, ok := v.(map[string]any)
		existing, ok2 := out[key].(map[string]any)
		switch {
		case ok && ok2 && key != "valuesObject":
			out[key] = overridden(existing, below)
		case v != nil && v != "" && v != false:
			out[key] = v
		}
	}
	return out
}

// generate returns the parameters that a generator makes.
func (s *argoSet) generate(g any, field []string) ([]map[string]any, error) {
	var out []map[string]any
	for _, kind := range slices.Sorted(maps.Keys(mapAt(g))) {
		spec := mapAt(g, kind)
		below := append(slices.Clone(field), kind)
		var made []map[string]any
		var err error
		switch kind {
		case "list":
			made, err = s.listParams(spec, below)
		case "git":
			made, err = s.git(spec, below)
		case "clusters":
			made, err = s.clusterParams(spec, below)
		case "matrix":
			made, err = s.matrix(spec, below)
		case "merge":
			made, err = s.merge(spec, below)
		case "selector":
			continue
		default:
			s.skip(below, "the result of the generator "+kind+" is unknown", "write the result as a list generator: fleetc import does not query other systems")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	selector := mapAt(g, "selector")
	if selector == nil {
		return out, nil
	}
	return slices.DeleteFunc(out, func(params map[string]any) bool { return !selects(selector, flat(params)) }), nil
}

// skip lists a generator that is not expanded.
func (s *argoSet) skip(field []string, msg, hint string) {
	if why := s.model.LeaveOut(s.title(), diag.Pos{}, s.fault(diag.CodeImportUnsupported, field, msg, hint)); s.left == "" {
		s.left = why
	}
}

// listParams returns the elements of a list generator.
func (s *argoSet) listParams(spec map[string]any, field []string) ([]map[string]any, error) {
	elements := listAt(spec, "elements")
	if text := textAt(spec, "elementsYaml"); text != "" {
		var more []any
		if err := yaml.Unmarshal([]byte(text), &more); err != nil {
			return nil, s.fault(diag.CodeImportInvalid, append(field, "elementsYaml"), "not a list in YAML: "+yamlReason(err), "correct the text")
		}
		elements = slices.Concat(elements, more)
	}
	var out []map[string]any
	for _, e := range elements {
		if m, ok := e.(map[string]any); ok {
			out = append(out, maps.Clone(m))
		}
	}
	return out, s.addValues(out, spec)
}

// addValues adds the field values of a generator to its parameters, which it may use.
func (s *argoSet) addValues(all []map[string]any, spec map[string]any) error {
	values := mapAt(spec, "values")
	if values == nil {
		return nil
	}
	for _, params := range all {
		texts := map[string]string{}
		for _, key := range sortedKeys(values) {
			var err error
			if texts[key], err = s.text(fmt.Sprint(values[key]), params); err != nil {
				return err
			}
		}
		params["values"] = texts
	}
	return nil
}

// matrix returns the combinations of two generators. The second one may use parameters of
// the first.
func (s *argoSet) matrix(spec map[string]any, field []string) ([]map[string]any, error) {
	generators := listAt(spec, "generators")
	if len(generators) != 2 { //nolint:mnd // as Argo CD demands
		return nil, s.fault(diag.CodeImportInvalid, append(field, "generators"), "a matrix must have two generators", "write two, or nest another matrix")
	}
	first, err := s.generate(generators[0], append(slices.Clone(field), "generators", "0"))
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, a := range first {
		second, err := s.templateGenerator(mapAt(generators[1]), a)
		if err != nil {
			return nil, err
		}
		params, err := s.generate(second, append(slices.Clone(field), "generators", "1"))
		if err != nil {
			return nil, err
		}
		for _, b := range params {
			if name := conflict(flat(a), flat(b)); name != "" && !s.isGo {
				return nil, s.fault(diag.CodeImportInvalid, append(field, "generators"), "both generators of the matrix set the parameter "+name, "rename it in one generator, or set pathParamPrefix for a path")
			}
			out = append(out, combined(b, a))
		}
		if len(out) > maxApplications {
			return nil, s.fault(diag.CodeImportInvalid, field, fmt.Sprintf("it generates more than %d Applications", maxApplications), "split the ApplicationSet")
		}
	}
	return out, nil
}

// conflict returns a key for which two maps have different values; empty for none.
func conflict(a, b map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if v, ok := b[key]; ok && v != a[key] {
			return key
		}
	}
	return ""
}

// templateGenerator returns the second generator of a matrix with parameters of the first
// one. A text of its values that needs other parameters stays a template: the generator
// itself has them.
func (s *argoSet) templateGenerator(g, params map[string]any) (any, error) {
	strict := *s
	strict.options = []string{"missingkey=error"}
	out := map[string]any{}
	for _, kind := range slices.Sorted(maps.Keys(g)) {
		spec := maps.Clone(mapAt(g, kind))
		values := mapAt(spec, "values")
		delete(spec, "values")
		made, err := s.template(spec, params)
		if err != nil {
			return nil, err
		}
		out[kind] = made
		if values == nil {
			continue
		}
		texts := map[string]any{}
		for key, v := range values {
			texts[key] = v
			text, err := strict.text(fmt.Sprint(v), params)
			if err == nil {
				texts[key] = text
			} else if !errors.Is(err, errMissing) {
				return nil, err
			}
		}
		mapAt(made)["values"] = texts
	}
	return out, nil
}

// merge returns the parameters of the first generator, overridden by those of the others
// that have the same values of mergeKeys.
func (s *argoSet) merge(spec map[string]any, field []string) ([]map[string]any, error) {
	var out []map[string]any
	var byKey map[string]int
	for i, g := range listAt(spec, "generators") {
		below := append(slices.Clone(field), "generators", fmt.Sprint(i))
		params, err := s.generate(g, below)
		if err != nil {
			return nil, err
		}
		keys := map[string]int{}
		for j, p := range params {
			parts := diag.Each(listAt(spec, "mergeKeys"), func(k any) string { return flat(p)[fmt.Sprint(k)] })
			key := strings.Join(parts, "\x00")
			if _, ok := keys[key]; ok {
				return nil, s.fault(diag.CodeImportInvalid, below, "two results of the generator have the same values of mergeKeys", "name parameters in mergeKeys that differ")
			}
			keys[key] = j
		}
		if i == 0 {
			out, byKey = params, keys
			continue
		}
		for key, j := range keys {
			if base, ok := byKey[key]; ok {
				out[base] = combined(out[base], params[j])
			}
		}
	}
	return out, nil
}

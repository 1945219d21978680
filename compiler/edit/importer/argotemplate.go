package importer

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// functions are the functions of Go templates: those of sprig that depend on nothing but
// their arguments, and Argo CD's own.
var functions = func() template.FuncMap {
	f := templateFunctions()
	f["normalize"], f["slugify"] = normalized, slugified
	f["toYaml"] = func(v any) (string, error) {
		text, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	f["fromYaml"] = decodedYAML[map[string]any]
	f["fromYamlArray"] = decodedYAML[[]any]
	return f
}()

// decodedYAML returns the value of a YAML text.
func decodedYAML[T any](text string) (out T, err error) {
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		return out, errors.New(yamlReason(err))
	}
	return out, nil
}

// errMissing is the cause of a fault of a template whose parameter is missing.
var errMissing = errors.New("a parameter is missing")

// position is the position in an error of Go's templates.
var position = regexp.MustCompile(`^template: :\d+(:\d+)?: (executing "" at <.*?>: )?`)

// template returns a value with the parameters in its texts.
func (s *argoSet) template(v any, params map[string]any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name, err := s.text(key, params)
			if err != nil {
				return nil, err
			}
			if out[name], err = s.template(v[key], params); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = s.template(e, params); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		return s.text(v, params)
	}
	return v, nil
}

// parameter is a parameter in a text that is not a Go template.
var parameter = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// text returns a text with the parameters. An unknown parameter of a text that is not a
// Go template stays as it is, as in Argo CD.
func (s *argoSet) text(text string, params map[string]any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if !s.isGo {
		texts := flat(params)
		return parameter.ReplaceAllStringFunc(text, func(m string) string {
			if v, ok := texts[parameter.FindStringSubmatch(m)[1]]; ok {
				return v
			}
			return m
		}), nil
	}
	out, err := runTemplate(s.ctx, func() (string, error) {
		t, err := template.New("").Option(s.options...).Funcs(functions).Parse(text)
		if err != nil {
			return "", err
		}
		b := &TemplateOutput{}
		err = t.Execute(b, params)
		return b.String(), err
	})
	if err != nil {
		why, hint := position.ReplaceAllString(diag.Brief(err), ""), "correct the template, or its parameters"
		if v, ok := errors.AsType[*VaryingError](err); ok {
			why, hint = v.Error(), "write the value into the parameters"
		}
		fault := s.fault(diag.CodeImportTemplate, []string{"spec", "template"}, "the template "+diag.Visible(text, diag.MaxText)+" cannot be evaluated: "+why, hint)
		if strings.Contains(why, "map has no entry for key") {
			fault.Cause = errMissing
		}
		return "", fault
	}
	return out, nil
}

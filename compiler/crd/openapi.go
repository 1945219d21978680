package crd

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/fleetc/fleetc/compiler/diag"
)

// maxErrors is how many findings about one object are put into words.
const maxErrors = 1000

// openAPI adds what the validation against the schema finds.
func (x *examination) openAPI(result *validate.Result) {
	if result == nil {
		return
	}
	errs := result.Errors
	for _, err := range errs {
		if v, ok := err.(*openapierrors.Validation); ok && blocks(v.Code()) {
			x.blocking = true
			break
		}
	}
	if len(errs) > maxErrors {
		slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		errs = errs[:maxErrors]
	}
	// Alternatives of which some are about missing fields explain those.
	explained := map[string]bool{}
	var forms []string
	for _, err := range errs {
		if path, ok := x.alternatives(err, explained); ok {
			forms = append(forms, path)
		}
	}
	for _, err := range errs {
		v, ok := err.(*openapierrors.Validation)
		if !ok {
			continue
		}
		p := x.violation(v)
		if explained[p.field] {
			continue
		}
		if inForm := func(path string) bool { return within(p.field, path) }; slices.ContainsFunc(forms, inForm) && !x.own(v, p.field) {
			p.text += ", in the nearest of the forms it may have"
		}
		x.add(p)
	}
	slices.Sort(forms)
	for _, path := range slices.Compact(forms) {
		// What is wrong with the form that comes nearest has been said.
		if !slices.ContainsFunc(x.found, func(p problem) bool { return within(p.field, path) }) {
			x.add(problem{field: path, text: is(x.walk(path).value) + ": it has none of the forms that its schema allows"})
		}
	}
}

// blocks reports whether the API server evaluates no rules after such a
// finding.
func blocks(code int32) bool {
	switch code {
	case openapierrors.RequiredFailCode, openapierrors.EnumFailCode, openapierrors.TooLongFailCode,
		openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode, openapierrors.InvalidTypeCode:
		return true
	}
	return false
}

// own reports whether a finding is about what the schema says of a field in any
// case, and not about one of several forms of it.
func (x *examination) own(v *openapierrors.Validation, path string) bool {
	at := x.walk(path)
	s := at.schema()
	if s == nil {
		return false
	}
	value := s.ValueValidation
	if value == nil {
		value = &schema.ValueValidation{}
	}
	switch v.Code() {
	case openapierrors.RequiredFailCode:
		return slices.Contains(value.Required, strings.TrimPrefix(at.rest, "."))
	case openapierrors.InvalidTypeCode:
		m := expected.FindStringSubmatch(v.Error())
		return s.XIntOrString || m != nil && (m[1] == s.Type || m[1] == value.Format)
	case openapierrors.EnumFailCode:
		return len(value.Enum) > 0
	case openapierrors.PatternFailCode:
		return value.Pattern != ""
	}
	return true
}

// within reports whether a field is another one or below it.
func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (of == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// violation returns a finding about one field as a problem.
func (x *examination) violation(v *openapierrors.Validation) problem {
	p := problem{field: strings.TrimPrefix(v.Name, ".")}
	found := x.walk(p.field)
	value := found.value
	if found.rest != "" {
		value = v.Value
	}
	_, must, _ := strings.Cut(v.Error(), " should ")
	switch v.Code() {
	case openapierrors.RequiredFailCode:
		p.text, p.hint = " is missing", "set it"
	case openapierrors.EnumFailCode:
		var allowed []string
		for _, a := range v.Values {
			if s, ok := a.(string); ok {
				allowed = append(allowed, s)
			} else {
				allowed = append(allowed, shown(a))
			}
		}
		p.text = is(value) + ": it must be " + oneOf(allowed)
		if s, ok := value.(string); ok {
			p.hint = diag.DidYouMean(s, words(s, allowed))
		}
	case openapierrors.InvalidTypeCode:
		p.text, p.hint = x.wrongType(v, value, found.schema())
	case openapierrors.PatternFailCode:
		_, pattern, _ := strings.Cut(must, "'")
		p.text = is(value) + ": it must match " + diag.Visible(strings.TrimSuffix(pattern, "'"), maxText)
	case openapierrors.TooLongFailCode, openapierrors.TooShortFailCode:
		n := 0
		if s, ok := value.(string); ok {
			n = len([]rune(s))
		}
		p.text = fmt.Sprintf(" has %d characters: it must have %s %v", n, bound(must), v.Valid)
	case openapierrors.MaxItemsFailCode, openapierrors.MinItemsFailCode:
		p.text = fmt.Sprintf(" has %v items: it must have %s %v", v.Value, bound(must), v.Valid)
	case openapierrors.TooManyPropertiesCode, openapierrors.TooFewPropertiesCode:
		p.text = fmt.Sprintf(" has %v keys: it must have %s %v", v.Value, bound(must), v.Valid)
	default:
		p.text = is(value) + ": it must " + clause(must)
		if must == "" {
			p.text = is(value) + ": its schema does not allow it"
		}
	}
	return p
}

// bound returns which of the two bounds a message is about.
func bound(message string) string {
	if strings.Contains(message, "at least") {
		return "at least"
	}
	return "at most"
}

// jsonTypes names the types of a schema.
var jsonTypes = map[string]string{
	"integer": "an integer", "number": "a number", "string": "a string", "boolean": "true or false",
	"array": "a list", "object": "a map", "integer,string": "an integer or a string",
	"int32": "an integer", "int64": "an integer", "float": "a number", "double": "a number",
}

// expected matches what a finding of a wrong type says of the right one.
var expected = regexp.MustCompile(` must be of type ([^:]*)`)

// wrongType returns the text and hint for a value of a wrong type or format.
func (x *examination) wrongType(v *openapierrors.Validation, value any, s *schema.Structural) (text, hint string) {
	want := ""
	if m := expected.FindStringSubmatch(v.Error()); m != nil {
		want = m[1]
	}
	what := is(value)
	switch value.(type) {
	case nil:
		what = " is null"
	case map[string]any:
		what = " is a map"
	}
	name, ok := jsonTypes[want]
	if s != nil && s.XIntOrString {
		name, ok = jsonTypes["integer,string"], true
	}
	if !ok {
		return what + ": it must have the format " + clause(want), ""
	}
	switch value.(type) {
	case int64, float64, bool:
		if want == "string" {
			hint = "put it in quotes"
		}
	case string:
		if want == "integer" || want == "number" || want == "boolean" {
			hint = "write it without quotes"
		}
	case nil:
		hint = "leave it out"
	}
	return what + ": it must be " + name, hint
}

// combined matches a finding about alternatives: their path and their kind.
var combined = regexp.MustCompile(`^"(.*)" must (?:not )?validate .*\((anyOf|oneOf|allOf|not)\)`)

// alternatives looks at a finding about a combination of schemas. Where the
// alternatives say which fields are needed and no more, the problem is added
// and those fields are explained. Otherwise, it returns the path.
func (x *examination) alternatives(err error, explained map[string]bool) (path string, ok bool) {
	m := combined.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	path = strings.TrimPrefix(m[1], ".")
	at := x.walk(path)
	s := at.schema()
	if m[2] == "not" {
		x.add(problem{field: path, text: is(at.value) + ": it has a form that its schema forbids" + forbidden(s)})
		return "", false
	}
	if s == nil || s.ValueValidation == nil || m[2] == "allOf" {
		return path, true
	}
	sets := needs(s.ValueValidation.OneOf)
	if m[2] == "anyOf" {
		sets = needs(s.ValueValidation.AnyOf)
	}
	value, isMap := at.value.(map[string]any)
	if sets == nil || !isMap {
		return path, true
	}
	var has, all []string
	for _, set := range sets {
		complete := true
		for _, name := range set {
			explained[strings.TrimPrefix(path+"."+name, ".")] = true
			if _, ok := value[name]; !ok {
				complete = false
			}
		}
		all = append(all, strings.Join(set, " with "))
		if complete {
			has = append(has, strings.Join(set, " with "))
		}
	}
	slices.Sort(has)
	slices.Sort(all)
	text := " has none of " + strings.Join(slices.Compact(all), ", ") + ": it must have one"
	if len(has) > 1 {
		text = " has " + strings.Join(has, " and ") + ": it must have only one of them"
	}
	x.add(problem{field: path, text: text})
	return "", false
}

// needs returns the fields that each of the alternatives needs; nil when one
// of them says more than that.
func needs(all []schema.NestedValueValidation) [][]string {
	var out [][]string
	for _, a := range all {
		v := a.ValueValidation
		if len(v.Required) == 0 || len(a.Properties) > 0 || a.Items != nil || v.Not != nil ||
			len(v.AllOf)+len(v.AnyOf)+len(v.OneOf)+len(v.Enum) > 0 {
			return nil
		}
		out = append(out, v.Required)
	}
	return out
}

// forbidden says which fields a schema forbids together.
func forbidden(s *schema.Structural) string {
	if s == nil || s.ValueValidation == nil || s.ValueValidation.Not == nil {
		return ""
	}
	if names := s.ValueValidation.Not.Required; len(names) > 0 {
		return ": " + strings.Join(names, " with ")
	}
	return ""
}

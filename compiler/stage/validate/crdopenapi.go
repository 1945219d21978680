package validate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxErrors is the maximum number of errors that are converted for one object.
const maxErrors = 1000

// openAPI adds the problems of the validation against the schema.
func (x *resourceCheck) openAPI(result *validate.Result) {
	if result == nil {
		return
	}
	errs := result.Errors
	x.blocking = x.blocking || slices.ContainsFunc(errs, blocks)
	if len(errs) > maxErrors {
		slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		errs = errs[:maxErrors]
	}
	// Errors of alternatives that differ in their required fields replace the
	// errors of these fields.
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
		if inForm := func(path string) bool { return within(p.field, path) }; slices.ContainsFunc(forms, inForm) && !x.isOwn(v, p.field) {
			p.text += ", in the closest alternative of its schema"
		}
		x.add(p)
	}
	for _, path := range diag.Distinct(forms) {
		// Problems of the closest alternative were added above.
		if !slices.ContainsFunc(x.found, func(p problem) bool { return within(p.field, path) }) {
			x.add(problem{field: path, text: isText(x.walk(path).value) + ": it matches none of the alternatives in its schema"})
		}
	}
}

// blocks reports whether the API server skips the rules after an error.
func blocks(err error) bool {
	v, ok := err.(*openapierrors.Validation)
	return ok && slices.Contains([]int32{
		openapierrors.RequiredFailCode, openapierrors.EnumFailCode, openapierrors.TooLongFailCode,
		openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode, openapierrors.InvalidTypeCode,
	}, v.Code())
}

// isOwn reports whether an error is about the schema of the field itself, and
// not about an alternative of it.
func (x *resourceCheck) isOwn(v *openapierrors.Validation, path string) bool {
	at := x.walk(path)
	s := at.schema()
	if s == nil {
		return false
	}
	value := cmp.Or(s.ValueValidation, &schema.ValueValidation{})
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

// within reports whether a field equals another one or is below it.
func within(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (parent == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// violation converts an error about one field.
func (x *resourceCheck) violation(v *openapierrors.Validation) problem {
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
				allowed = append(allowed, valueText(a))
			}
		}
		p.text = isText(value) + ": it must be " + oneOf(allowed)
		if s, ok := value.(string); ok {
			p.hint = diag.DidYouMean(s, words(s, allowed))
		}
	case openapierrors.InvalidTypeCode:
		p.text, p.hint = x.wrongType(v, value, found.schema())
	case openapierrors.PatternFailCode:
		_, pattern, _ := strings.Cut(must, "'")
		p.text = isText(value) + ": it must match " + diag.Visible(strings.TrimSuffix(pattern, "'"), maxText)
	case openapierrors.TooLongFailCode, openapierrors.TooShortFailCode:
		s, _ := value.(string)
		p.text = fmt.Sprintf(" has %d characters: it must have %s %v", len([]rune(s)), bound(must), v.Valid)
	case openapierrors.MaxItemsFailCode, openapierrors.MinItemsFailCode:
		p.text = fmt.Sprintf(" has %v items: it must have %s %v", v.Value, bound(must), v.Valid)
	case openapierrors.TooManyPropertiesCode, openapierrors.TooFewPropertiesCode:
		p.text = fmt.Sprintf(" has %v keys: it must have %s %v", v.Value, bound(must), v.Valid)
	default:
		p.text = isText(value) + ": it must " + clause(must)
		if must == "" {
			p.text = isText(value) + ": its schema does not allow it"
		}
	}
	return p
}

// bound returns which bound a message is about.
func bound(message string) string {
	if strings.Contains(message, "at least") {
		return "at least"
	}
	return "at most"
}

// jsonTypes are the names of schema types in messages.
var jsonTypes = map[string]string{
	"integer": "an integer", "number": "a number", "string": "a string", "boolean": "true or false",
	"array": "a list", "object": "a map", "integer,string": "an integer or a string",
	"int32": "an integer", "int64": "an integer", "float": "a number", "double": "a number",
}

// expected matches the expected type in an error.
var expected = regexp.MustCompile(` must be of type ([^:]*)`)

// wrongType returns text and hint for a value with a wrong type or format.
func (x *resourceCheck) wrongType(v *openapierrors.Validation, value any, s *schema.Structural) (text, hint string) {
	want := ""
	if m := expected.FindStringSubmatch(v.Error()); m != nil {
		want = m[1]
	}
	what := isText(value)
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

// combined matches an error of anyOf, oneOf, allOf or not, with its path and
// kind.
var combined = regexp.MustCompile(`^"(.*)" must (?:not )?validate .*\((anyOf|oneOf|allOf|not)\)`)

// alternatives handles an error of a combination of schemas. If the
// alternatives only differ in their required fields, it adds the problem and
// marks these fields as explained. Otherwise it returns the path.
func (x *resourceCheck) alternatives(err error, explained map[string]bool) (path string, ok bool) {
	m := combined.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	path = strings.TrimPrefix(m[1], ".")
	at := x.walk(path)
	s := at.schema()
	if m[2] == "not" {
		x.add(problem{field: path, text: isText(at.value) + ": its schema forbids it" + forbidden(s)})
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
	var present, all []string
	for _, set := range sets {
		text, complete := strings.Join(set, " with "), true
		for _, name := range set {
			explained[strings.TrimPrefix(path+"."+name, ".")] = true
			_, isThere := value[name]
			complete = complete && isThere
		}
		all = append(all, text)
		if complete {
			present = append(present, text)
		}
	}
	slices.Sort(present)
	text := " has none of " + strings.Join(diag.Distinct(all), ", ") + ": it must have one"
	if len(present) > 1 {
		text = " has " + strings.Join(present, " and ") + ": it must have only one of them"
	}
	x.add(problem{field: path, text: text})
	return "", false
}

// needs returns the required fields of each alternative, or nil if one of them
// has other conditions.
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

// forbidden names the fields that a schema forbids together.
func forbidden(s *schema.Structural) string {
	if s == nil || s.ValueValidation == nil || s.ValueValidation.Not == nil {
		return ""
	}
	if names := s.ValueValidation.Not.Required; len(names) > 0 {
		return ": " + strings.Join(names, " with ")
	}
	return ""
}

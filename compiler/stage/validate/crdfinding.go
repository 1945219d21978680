package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	maxValue  = 80 // bytes of a value in a message
	maxListed = 12 // allowed values in a message
)

// newProblem converts an error of Kubernetes' validation.
func newProblem(err *field.Error) problem {
	p := problem{field: err.Field}
	if p.field == "<nil>" {
		p.field = ""
	}
	value, detail := err.BadValue, clause(err.Detail)
	if rule, ok := value.(apiextensions.ValidationRule); ok {
		value = rule.Rule
		if strings.HasSuffix(p.field, ".messageExpression") {
			value = rule.MessageExpression
		}
	}
	switch err.Type {
	case field.ErrorTypeRequired:
		p.text, p.hint = " is missing", "set it"
	case field.ErrorTypeDuplicate:
		p.text, p.hint = " occurs twice", "remove the duplicates"
		if v := valueText(value); v != "" {
			p.text += ": " + v
		}
	case field.ErrorTypeNotSupported:
		allowed := quotedWords(err.Detail)
		p.text = isText(value) + ": it must be " + oneOf(allowed)
		p.hint = diag.DidYouMean(fmt.Sprint(value), words(fmt.Sprint(value), allowed))
		return p
	case field.ErrorTypeTooMany:
		p.text = " has too many items"
	case field.ErrorTypeTypeInvalid: // the value is the name of its type
		if want := expected.FindStringSubmatch(" " + detail); want != nil && jsonTypes[want[1]] != "" {
			detail = "it must be " + jsonTypes[want[1]]
		}
	default:
		p.text = isText(value)
	}
	if detail != "" {
		p.text += ": " + detail
	}
	if p.text == "" {
		p.text = ": it is invalid"
	}
	return p
}

// isText returns ` is "x"` for a message, or an empty string if the value is
// too large to show.
func isText(v any) string {
	if s := valueText(v); s != "" && s != `""` {
		return " is " + s
	}
	return ""
}

// valueText returns a value for a message, or an empty string if it is too
// large.
func valueText(v any) string {
	r := reflect.ValueOf(v)
	for r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	switch r.Kind() {
	case reflect.String:
		return quote(r.String())
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		text, _ := json.Marshal(r.Interface())
		return string(text)
	}
	switch v := v.(type) {
	case map[string]any:
		return pairs(v)
	case []any:
		return "a list"
	}
	return ""
}

// pairs returns the entries of a small map: name "x", port 80.
func pairs(m map[string]any) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch m[k].(type) {
		case string, bool, int64, float64:
			out = append(out, diag.Visible(k, maxValue)+" "+valueText(m[k]))
		}
	}
	if text := strings.Join(out, ", "); len(out) == len(m) && len(out) > 0 && len(text) <= 2*maxValue {
		return text
	}
	return "a map"
}

// quote returns a text in quotes, shortened to maxValue.
func quote(s string) string {
	if len(s) > maxValue {
		s = s[:maxValue] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}

// quotedWord matches one of the values that an error lists.
var quotedWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// quotedWords returns the quoted words of a text.
func quotedWords(text string) []string {
	var out []string
	for _, q := range quotedWord.FindAllString(text, -1) {
		if s, err := strconv.Unquote(q); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// oneOf lists the allowed values: "a or b", "one of a, b, c".
func oneOf(allowed []string) string {
	var words []string
	for _, a := range allowed[:min(len(allowed), maxListed)] {
		word := diag.Visible(a, maxValue)
		if word == "" || strings.ContainsAny(word, " ,") {
			word = quote(a)
		}
		words = append(words, word)
	}
	if n := len(allowed) - len(words); n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	switch len(words) {
	case 0:
		return "something else"
	case 1, 2:
		return strings.Join(words, " or ")
	}
	return "one of " + strings.Join(words, ", ")
}

// celError matches the message of an error in a CEL expression.
var celError = regexp.MustCompile(`ERROR: <input>:\d+:\d+: ([^\n]*)`)

// clause returns the detail of an error as a clause on one line.
func clause(detail string) string {
	if lead, _, ok := strings.Cut(detail, "ERROR: <input>"); ok {
		var lines []string
		for _, m := range celError.FindAllStringSubmatch(detail, -1) {
			if line := strings.TrimSuffix(strings.TrimSuffix(m[1], " (in container '')"), "."); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		lead = strings.TrimPrefix(lead, "messageExpression ")
		detail = strings.ReplaceAll(lead, "compilation failed", "it does not compile") + strings.Join(lines, ", ")
	}
	// The errors of defaults repeat the path, which the message has already.
	if _, rest, ok := strings.Cut(detail, " in body "); ok {
		detail = rest
	}
	detail, _, _ = strings.Cut(detail, " expecting {")
	detail = strings.Join(strings.Fields(detail), " ")
	if s, ok := strings.CutSuffix(detail, "."); ok && !strings.HasSuffix(s, " ") {
		detail = s
	}
	return diag.Visible(detail, maxText)
}

// paths maps fields of the internal form of a CRD to those of v1. The internal
// form has fields that are equal in all versions once.
var paths = []struct{ in, out string }{
	{"spec.validation", "spec.versions[0].schema"},
	{"spec.subresources", "spec.versions[0].subresources"},
	{"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"},
	{"spec.selectableFields", "spec.versions[0].selectableFields"},
	{"spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"},
	{"spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"},
}

// simpleKey matches a key in brackets that could be written after a dot.
var simpleKey = regexp.MustCompile(`\[([A-Za-z_$][-\w$]*)\]`)

// crdProblem converts an error about a CRD. ok is false for errors that are not
// reported: other packages check the metadata, and the order of the most
// expensive rules is random.
func crdProblem(err *field.Error) (p problem, ok bool) {
	if strings.HasPrefix(err.Field, "metadata.") && !strings.Contains(err.Field, approval) ||
		strings.HasPrefix(err.Field, "status.") || strings.HasPrefix(err.Detail, "contributed to estimated rule cost") {
		return problem{}, false
	}
	p = newProblem(err)
	for _, to := range paths {
		if rest, ok := strings.CutPrefix(p.field, to.in); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			p.field = to.out + rest
		}
	}
	p.field = simpleKey.ReplaceAllString(strings.ReplaceAll(p.field, ".JSONPath", ".jsonPath"), ".$1")
	p.text = strings.ReplaceAll(p.text, "webhookClientConfig", "webhook.clientConfig")
	if before, after, ok := strings.Cut(p.text, "spec.validation"); ok {
		p.text = before + paths[0].out + simpleKey.ReplaceAllString(after, ".$1")
	}
	if text, _, ok := strings.Cut(p.text, " (try simplifying the rule"); ok {
		p.text, p.hint = text, "simplify the rule, or set maxItems, maxProperties and maxLength of the lists, maps and strings in it"
	}
	return p, true
}

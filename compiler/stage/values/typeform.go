package values

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A form is a set of conditions on a value. They follow from its sinks; all of
// them must hold.
type form uint32

const (
	wholeForm       form = 1 << iota // a whole number, or a text that is one
	decimalForm                      // a number, or a text that is one
	boolForm                         // a bool, or the text true or false
	quantityForm                     // a quantity, such as 100m or 1Gi
	shareForm                        // a number or a percentage
	digitForm                        // a number, or a text that begins with a digit
	textForm                         // a text, a number or a bool, not a map or list
	intOrStringForm                  // a number or a text, not a bool
	listForm                         // a list
	mapForm                          // a map
	exactForm                        // a text remains a text, because it is printed as YAML or JSON
	yamlForm                         // a text must be the YAML of a map or a list
	toggleForm                       // a bool, or the text true or false, inferred from the chart's default
	truthForm                        // the text false counts as true, because a template tests whether the value is set
	stringForm                       // a text, not a number or a bool
	textsForm                        // a map whose values are texts
	otherForm                        // a map or a list has another sink, because a template tests for them
	fieldsForm                       // a map with fields, whose values are not all texts
	allForms        = 1<<iota - 1
)

// scalarForms are the conditions that no map or list meets.
const scalarForms = wholeForm | decimalForm | boolForm | quantityForm | shareForm | digitForm | textForm | intOrStringForm | toggleForm | truthForm | stringForm

// numberForms are the conditions of fields of Kubernetes with numbers or bools.
const numberForms = wholeForm | decimalForm | boolForm | quantityForm | shareForm

// notText are the conditions that no text meets, or only the text of a number or
// a bool.
const notText = wholeForm | decimalForm | boolForm | toggleForm

// typeForms are the conditions of Kubernetes fields by their types.
var typeForms = map[kube.Type]form{
	kube.Integer: wholeForm, kube.Number: decimalForm, kube.Boolean: boolForm, kube.Quantity: quantityForm, kube.String: stringForm,
	kube.IntOrString: intOrStringForm, kube.List: listForm, kube.Object: mapForm | fieldsForm,
}

// formOf returns the condition of a Kubernetes field.
func formOf(s *kube.Schema) form {
	if s.Type == kube.Object && len(s.Fields) == 0 && s.Elem != nil && s.Elem.Type == kube.String {
		return mapForm | textsForm
	}
	return typeForms[s.Type]
}

// commonForm returns the condition that all fields have; 0 when they differ.
func commonForm(all []*kube.Schema) form {
	var f form
	for i, s := range all {
		if g := formOf(s); i == 0 {
			f = g
		} else if f != g {
			return 0
		}
	}
	return f
}

// formAt returns the condition of a sink for a value that is printed with the
// encoding.
func (s *shape) formAt(by encoding) form {
	switch {
	case s == nil || s.form == 0:
		return 0
	case by == asYAML:
		return s.form | exactForm
	case by == quoted && s.form&(stringForm|intOrStringForm) != 0:
		return s.form&^(stringForm|intOrStringForm) | textForm
	}
	return s.form
}

// forms decides which conditions the value must meet: those of its sinks, and of
// the Kubernetes object that contains it. Templates that test the kind of a
// value may print each kind to another sink.
func (b *builder) forms(t *Type, r readSummary, in reach) {
	t.tested = r.mode&Tested != 0 && (t.seen&Map == 0 || len(r.keys) == 0)
	if t.missing {
		return
	}
	f := r.form
	if in.part {
		f |= in.shape.formAt(asYAML)
	}
	if r.bare && !in.mixed && !r.asYAML && !r.fields && !r.ranged && t.seen&(Map|List) == 0 {
		f |= textForm
	}
	scalar := t.seen&^Null != 0 && t.seen&^(Number|Null) == 0
	declared := t.typed && t.Kinds&String != 0 // the schema overrules guesses from the default
	if f&^(textForm|intOrStringForm) == 0 && scalar && !declared && !in.part && !in.ranged && !r.text && len(r.keys) == 0 && !numberOrText(in.key, in.parent) {
		f |= digitForm
	}
	if t.seen&Map != 0 && len(t.Keys) > 0 || len(r.keys) > 0 {
		f &^= listForm // its keys are used separately, too
	}
	if r.keyed && t.empty && f&listForm == 0 {
		f |= mapForm
	}
	if t.seen&(Number|Bool) != 0 {
		f &^= stringForm // the chart's own default is none
	}
	switch always := r.tests.always & numberForms; {
	case r.may != 0 && always != 0 && !r.tests.apart && f&stringForm == 0:
		f = f&^(scalarForms|exactForm|listForm|mapForm) | always
	case r.may&(Bool|Number|String) != 0 || f&stringForm != 0 && f&notText != 0:
		f &^= scalarForms
		fallthrough
	default:
		if r.may&(Map|List) != 0 {
			f = f&^(listForm|mapForm) | otherForm
		}
	}
	if !t.hasTexts() || f&fieldsForm != 0 {
		f &^= textsForm
	}
	f &^= fieldsForm
	if f&scalarForms&^(textForm|intOrStringForm) == 0 {
		f |= toggleForms(t, r, in)
		if declared {
			f &^= toggleForm
		}
	}
	if f == otherForm {
		f = 0
	}
	if f == 0 && r.may&(Map|List) == 0 {
		f = collectionForms(t, in)
	}
	if f&scalarForms != 0 && f&(listForm|mapForm) != 0 || f&listForm != 0 && f&mapForm != 0 || !f.holdsFor(t) {
		return
	}
	t.form = f
}

// accepted returns the kinds of the values that can meet the conditions.
func (f form) accepted() Kind {
	k := Any
	if f&otherForm == 0 {
		switch {
		case f&scalarForms != 0:
			k &^= Map | List
		case f&listForm != 0:
			k &^= Map | Number | Bool
		case f&mapForm != 0:
			k &^= List | Number | Bool
		}
	}
	switch {
	case f&stringForm != 0:
		k &^= Number | Bool
	case f&(boolForm|toggleForm) != 0:
		k &^= Number
	case f&(scalarForms&^(textForm|truthForm|digitForm)) != 0:
		k &^= Bool
	}
	return k
}

// hasTexts reports whether all defaults below a map are texts.
func (t *Type) hasTexts() bool {
	for _, f := range t.Fields {
		if f.seen&^(String|Null) != 0 {
			return false
		}
	}
	return true
}

// holdsFor reports whether the chart's own default meets the conditions.
func (f form) holdsFor(t *Type) bool {
	switch {
	case f&scalarForms != 0 && t.seen&(List|Map) != 0, f&listForm != 0 && t.seen&Map != 0 && !t.empty, f&mapForm != 0 && t.seen&List != 0:
		return false
	case t.Default == nil || t.Default == "":
		return true
	}
	if _, isList := t.Default.([]any); isList {
		return true
	}
	v, err := fleet.TreeOf(t.Default)
	return err == nil && f.meets(v)
}

// meets reports whether the value meets the conditions. Text that contains a
// template always does, because its result is unknown.
func (f form) meets(v *fleet.Tree) bool {
	k := kindOfTree(v)
	s, _ := v.Scalar.(string)
	text := s
	switch k {
	case Null:
		return true
	case String:
		if strings.Contains(s, "{{") || strings.Contains(s, "$(") || strings.Contains(s, "${") {
			return true
		}
	case Number, Bool:
		text = fmt.Sprint(v.Scalar)
	}
	exact := f&exactForm != 0 && k == String
	switch {
	case k&(Map|List) != 0 && f&otherForm != 0:
		return true
	case k == Map:
		return f&(scalarForms|listForm) == 0
	case k == List:
		return f&(scalarForms|mapForm) == 0
	case f&(listForm|mapForm) != 0:
		return k == String && looksLikeYAML(s) // passed to tpl, or empty
	case f&yamlForm != 0 && k == String && !looksLikeYAML(s):
		return false
	case f&stringForm != 0 && k != String, f&intOrStringForm != 0 && k == Bool,
		f&wholeForm != 0 && (k == Bool || exact || !isWhole(text)),
		f&decimalForm != 0 && (k == Bool || exact || !isDecimal(text)),
		f&(boolForm|toggleForm) != 0 && (k == Number || exact || text != "true" && text != "false"),
		f&truthForm != 0 && k == String && text == "false",
		f&quantityForm != 0 && (k == Bool || !isQuantity(text)),
		f&shareForm != 0 && (k == Bool || !isDecimal(strings.TrimSuffix(text, "%"))),
		f&digitForm != 0 && k == String && !hasDigitFirst(text):
		return false
	}
	return true
}

// looksLikeYAML reports whether the text can be the YAML of a map or a list, or
// is empty.
func looksLikeYAML(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || strings.ContainsAny(s, ":[{\n") || strings.HasPrefix(s, "- ")
}

// isWhole reports whether YAML parses the text as a whole number.
func isWhole(s string) bool {
	s = strings.ToLower(strings.TrimLeft(s, "+-"))
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		return rest != "" && strings.Trim(rest, "0123456789abcdef") == ""
	}
	s, fraction, _ := strings.Cut(strings.TrimPrefix(s, "0o"), ".")
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(s, "_", ""), "e")
	return mantissa != "" && strings.Trim(mantissa, "0123456789") == "" && strings.Trim(fraction, "0") == "" &&
		strings.Trim(exponent, "+0123456789") == ""
}

// isDecimal reports whether YAML parses the text as a number.
func isDecimal(s string) bool {
	if isWhole(s) {
		return true
	}
	s = strings.TrimLeft(s, "+-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return whole+fraction != "" && strings.Trim(whole+fraction, "0123456789") == "" && strings.Trim(exponent, "+-0123456789") == ""
}

// isQuantity reports whether Kubernetes parses the text as a quantity.
func isQuantity(s string) bool {
	number := strings.TrimRight(s, "numkMGTPEi")
	switch s[len(number):] {
	case "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei":
		return isDecimal(number)
	}
	return false
}

func hasDigitFirst(s string) bool {
	s = strings.TrimLeft(strings.TrimSpace(s), "+-.<>=~^")
	return s != "" && isDigit(s[0])
}

// isOff reports whether the value is false in the condition of a template.
func isOff(v *fleet.Tree) bool {
	switch {
	case v.Fields != nil:
		return len(v.Fields) == 0
	case v.List != nil:
		return len(v.List) == 0
	}
	return v.Scalar == nil || v.Scalar == "" || v.Scalar == false
}

// formed reports whether the value meets the conditions, and adds a fault when
// it does not.
func (c *checker) formed(v *fleet.Tree, t *Type, path []string) bool {
	blank := v.Scalar == "" && (t.blank || t.form&exactForm == 0)
	if t.form == 0 || blank || t.tested && isOff(v) || t.form.meets(v) {
		return true
	}
	c.misformed(v, t.form, t, path)
	return false
}

// misformed adds a fault for a value that does not meet the conditions of its
// sinks.
func (c *checker) misformed(v *fleet.Tree, f form, t *Type, path []string) {
	if f&(mapForm|listForm) == 0 && f&yamlForm != 0 && t != nil {
		if f |= mapForm; t.seen&List != 0 {
			f ^= mapForm | listForm
		}
	}
	what, write := f.words()
	msg, def := fmt.Sprintf("%s, and Kubernetes expects %s where the chart prints it", describeValue(v), what), ""
	if t != nil {
		def = defaultText(t)
	}
	switch {
	case f&truthForm != 0 && v.Scalar == "false":
		msg = `"false" is a string, which templates treat as true, and the chart expects a bool`
	case f&toggleForm != 0:
		msg = fmt.Sprintf("%s, and the chart expects a bool", describeValue(v))
	case f&stringForm != 0:
		msg = fmt.Sprintf("%s, and the chart uses it where only a string is valid", describeValue(v))
	case f&digitForm != 0:
		msg = fmt.Sprintf("%s, and the chart expects a number", describeValue(v))
	case f&scalarForms&^intOrStringForm == textForm && kindOfTree(v)&(Map|List) != 0:
		msg = fmt.Sprintf("%s, and the chart prints it as text", describeValue(v))
	}
	if f&(mapForm|listForm) != 0 {
		msg = fmt.Sprintf("%s, and the chart prints it where %s is expected", describeValue(v), what)
	}
	hint := "write " + write
	if s, ok := v.Scalar.(string); ok && f&(exactForm|truthForm) != 0 && (f &^ (exactForm | truthForm)).meets(&fleet.Tree{Scalar: s}) {
		hint = fmt.Sprintf("write %s without quotes", s)
	} else if f&stringForm != 0 && v.Scalar != nil {
		hint = fmt.Sprintf("write %q", fmt.Sprint(v.Scalar))
	} else if t != nil && f&(wholeForm|decimalForm|digitForm) != 0 && t.seen&Number != 0 && t.Default != nil {
		hint = "write " + what + ", such as " + diag.AsJSON(t.Default)
	}
	c.add(diag.CodeChartType, path, v, msg+def, hint)
}

// words returns the conditions and the hint for messages.
func (f form) words() (what, write string) {
	switch {
	case f&wholeForm != 0:
		return "an integer", "an integer, such as 1"
	case f&(boolForm|toggleForm) != 0:
		return "a bool", "true or false"
	case f&quantityForm != 0:
		return "a quantity", "a quantity, such as 100m or 1Gi"
	case f&shareForm != 0:
		return "a number or a percentage", "a number or a percentage, such as 1 or 25%"
	case f&(decimalForm|digitForm) != 0:
		return "a number", "a number, such as 1"
	case f&intOrStringForm != 0:
		return "a number or a string", "a number or a string, such as 80 or http"
	case f&stringForm != 0:
		return "a string", "a string"
	case f&listForm != 0:
		return "a list", "a list, such as [...]"
	case f&mapForm != 0:
		return "a map", "a map, such as {key: value}"
	}
	return "a string, a number or a bool", "a single value"
}

// misplaced adds a fault for a value below one whose sink is in a Kubernetes
// object.
func (c *checker) misplaced(v *fleet.Tree, s *shape, path []string) {
	if !c.inText(path) {
		c.misformed(v, s.form|exactForm, nil, path)
	}
}

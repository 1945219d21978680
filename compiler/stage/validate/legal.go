package validate

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Descriptions of valid texts for messages.
const (
	labelKey   = "letters, digits, -, _ and ., with a letter or digit at both ends, at most 63 in all, after an optional domain and /"
	labelValue = "letters, digits, -, _ and ., with a letter or digit at both ends, at most 63 in all, or empty"
	portName   = "lower case letters, digits and single -, with a letter among them and none - at the ends, at most 15 in all"
)

// isLabelKey reports whether a text is a valid key of a label.
func isLabelKey(text string) bool { return len(validation.IsQualifiedName(text)) == 0 }

// isLabelValue reports whether a text is a valid value of a label.
func isLabelValue(text string) bool { return len(validation.IsValidLabelValue(text)) == 0 }

// labels checks a map of labels or a label selector.
func (w *walk) labels(m map[string]any, field string) {
	all, _ := m[field].(map[string]any)
	for k, v := range w.each(all) {
		if !isLabelKey(k) {
			w.add("", "is not a valid key: it must be "+labelKey, field, inKey(k))
		}
		if text, ok := v.(string); ok && !isLabelValue(text) {
			w.add("", "is "+w.show(text)+", which is not a valid value: it must be "+labelValue, field, inKey(k))
		}
	}
}

// maxAnnotations is the maximum size of the annotations of an object.
const maxAnnotations = 256 << 10

// annotations checks the keys and the size of annotations.
func (w *walk) annotations(m map[string]any) {
	all, _ := m["annotations"].(map[string]any)
	size := 0
	for k, v := range w.each(all) {
		text, _ := v.(string)
		size += len(k) + len(text)
		if !isLabelKey(strings.ToLower(k)) {
			w.add("", "is not a valid key: it must be "+labelKey, "annotations", inKey(k))
		}
	}
	if size > maxAnnotations {
		w.add("keep long texts in a ConfigMap", "is larger than 256 KiB in total", "annotations")
	}
}

// name checks the field name against a rule for names, if the field is set.
func (w *walk) name(m map[string]any, legal func(string) []string, want string) {
	if text, ok := m["name"].(string); ok && text != "" && len(legal(text)) > 0 {
		w.add("", "is "+w.show(text)+", which is not a valid name: it must be "+want, "name")
	}
}

// within checks a whole number, if it is set.
func (w *walk) within(m map[string]any, field string, low, high float64) {
	n, ok := number(m[field])
	switch {
	case !ok:
	case n < low && high == unbounded:
		w.add("", "is "+w.show(m[field])+", less than "+show(low), field)
	case n < low || n > high:
		w.add("", "is "+w.show(m[field])+", not within "+show(low)+" and "+show(high), field)
	}
}

const unbounded = 1 << 62

// port checks the number of a port.
func (w *walk) port(m map[string]any, field string) {
	if n, ok := number(m[field]); ok && (n < 1 || n > 65535) {
		w.add("", "is "+w.show(m[field])+", which is not a valid port: it must be between 1 and 65535", field)
	}
}

// portOrName checks a port that is given by number or by name.
func (w *walk) portOrName(m map[string]any, field string) {
	w.port(m, field)
	if text, ok := m[field].(string); ok && len(validation.IsValidPortName(text)) > 0 {
		hint := ""
		if isNumber(text) {
			hint = "leave the quotes out"
		}
		w.add(hint, "is "+w.show(text)+", which is not a valid name of a port: it must be "+portName, field)
	}
}

// share checks a percentage or a number that is not negative.
func (w *walk) share(m map[string]any, field string) {
	w.within(m, field, 0, unbounded)
	if text, ok := m[field].(string); ok && len(validation.IsValidPercent(text)) > 0 {
		w.add("write it as 1 or 25%", "is "+w.show(text)+", neither a number nor a percentage", field)
	}
}

// unique checks that a field has different values in the items of a list. Items
// without the field are ignored.
func (w *walk) unique(m map[string]any, field, by string) {
	seen := map[string]int{}
	for i, item := range listOf(m, field) {
		text, _ := mapOf(item)[by].(string)
		if text == "" {
			continue
		}
		if first, ok := seen[text]; ok {
			w.add("leave one of them out or rename it", "repeats the "+by+" "+w.show(text)+" of item "+show(first), field, i)
			continue
		}
		seen[text] = i
	}
}

// mapOf returns a value as a map, or nil for another type, which is reported
// elsewhere.
func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// listOf returns a field as a list, or nil for another type.
func listOf(m map[string]any, field string) []any {
	l, _ := m[field].([]any)
	return l
}

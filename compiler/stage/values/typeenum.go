package values

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// This file infers enumerations from Kubernetes fields that accept only a few
// texts: policies, protocols, types of services.

// commonEnum returns the sorted union of the texts that the fields accept; nil
// when one of them accepts any text.
func commonEnum(all []*kube.Schema) []string {
	var texts []string
	for _, s := range all {
		if s.Type != kube.String || len(s.Enum) == 0 {
			return nil
		}
		texts = append(texts, s.Enum...)
	}
	return diag.Distinct(texts)
}

// bothEnums returns the union of the texts; nil, which means any, when one is
// nil.
func bothEnums(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	return diag.Distinct(slices.Concat(a, b))
}

// A choice holds the texts that the sinks of a value accept, and the texts that
// templates compare it with.
type choice struct{ sinks, words []string }

// and returns the union of both choices. All texts are possible, because a value
// need not be printed to every sink.
func (c choice) and(o choice) choice {
	return choice{addWords(c.sinks, o.sinks), addWords(c.words, o.words)}
}

// addWords returns the sorted union of the texts. It modifies neither.
func addWords(a, b []string) []string {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	return diag.Distinct(slices.Concat(a, b))
}

// compared records that a template compares the arguments with each other.
func (a arguments) compared(vs ...*value) {
	var words []string
	for _, v := range vs {
		texts, _ := v.literal()
		words = append(words, texts...)
	}
	if len(words) == 0 {
		return
	}
	for _, v := range vs {
		for _, p := range v.placesOrNil() {
			p.choice.words = addWords(p.choice.words, words)
		}
	}
}

// enums decides which texts a value can be: those that the Kubernetes field at
// its sink accepts, and those that templates compare it with.
func (t *Type) enums(r readSummary, in reach) {
	c := r.choice
	if in.part && in.shape != nil {
		c.sinks = addWords(c.sinks, in.shape.enum)
	}
	if len(c.sinks) == 0 || t.typed || t.missing || r.text || len(r.keys) > 0 || t.seen&^(String|Null) != 0 {
		return
	}
	t.enum = addWords(c.sinks, c.words)
	if def, ok := t.Default.(string); ok && !takesText(t.enum, def) {
		t.enum = nil // a template converts the value
	}
}

// takesText reports whether the enumeration has the text, or the text is empty
// or contains a template or variable.
func takesText(enum []string, s string) bool {
	return enum == nil || s == "" || slices.Contains(enum, s) || strings.Contains(s, "{{") || strings.Contains(s, "$(") || strings.Contains(s, "${")
}

// chosen reports whether the Kubernetes field at the sink accepts the text, and
// adds a fault when it does not.
func (c *checker) chosen(v *fleet.Tree, enum []string, path []string) bool {
	s, ok := v.Scalar.(string)
	if !ok || takesText(enum, s) {
		return true
	}
	c.add(diag.CodeChartType, path, v, fmt.Sprintf("%q is not one of the values that Kubernetes accepts where the chart prints it", s), diag.OneOf(s, enum), diag.Respell(s, enum)...)
	return false
}

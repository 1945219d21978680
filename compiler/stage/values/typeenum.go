package values

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// This file has the texts that fields of Kubernetes take, where they are few:
// policies, protocols, the types of services.

// commonEnum returns the texts that one of the fields takes, sorted; nil when
// one of them takes any.
func commonEnum(all []*kube.Schema) []string {
	var texts []string
	for _, s := range all {
		if s.Type != kube.String || len(s.Enum) == 0 {
			return nil
		}
		texts = append(texts, s.Enum...)
	}
	return sorted(texts)
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// bothEnums returns the texts of both; nil, which is any, when one is nil.
func bothEnums(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	return sorted(slices.Concat(a, b))
}

// A choice is the texts that the sinks of a value take, and those that templates
// compare it with.
type choice struct{ sinks, words []string }

// and returns the texts of both. A value can be printed by one template alone,
// so all of them are possible.
func (c choice) and(o choice) choice {
	return choice{addWords(c.sinks, o.sinks), addWords(c.words, o.words)}
}

// addWords returns the texts of both, sorted. It modifies neither.
func addWords(a, b []string) []string {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	return sorted(slices.Concat(a, b))
}

// compared notes that a template compares the arguments with each other.
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

// enums decides which texts a value can be: those that the field of Kubernetes
// takes that it is printed to, and those that templates compare it with.
func (t *Type) enums(r gathered, in reach) {
	c := r.choice
	if in.part && in.shape != nil {
		c.sinks = addWords(c.sinks, in.shape.enum)
	}
	if len(c.sinks) == 0 || t.typed || t.missing || r.text || len(r.keys) > 0 || t.seen&^(String|Null) != 0 {
		return
	}
	t.enum = addWords(c.sinks, c.words)
	if def, ok := t.Default.(string); ok && !takesText(t.enum, def) {
		t.enum = nil // a template makes something else of it
	}
}

// takesText reports whether the text is one of those, or empty, or a template.
func takesText(enum []string, s string) bool {
	return enum == nil || s == "" || slices.Contains(enum, s) || strings.Contains(s, "{{") || strings.Contains(s, "$(") || strings.Contains(s, "${")
}

// chosen reports a text that the field of Kubernetes does not take that it ends
// in, and whether it does.
func (c *checker) chosen(v *fleet.Tree, enum []string, path []string) bool {
	s, ok := v.Scalar.(string)
	if !ok || takesText(enum, s) {
		return true
	}
	c.add(path, v, fmt.Sprintf("%q is not one of the texts that Kubernetes takes where the chart prints it", s), diag.OneOf(s, enum))
	return false
}

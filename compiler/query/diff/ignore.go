package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An Ignored says why a change of a field is left out.
type Ignored struct {
	Rule  string // its path: diff.ignore.checksums
	Field string // the path in the rule, which leads to the field or to what holds it
}

// An IgnoredCount counts what is left out.
type IgnoredCount struct {
	Fields  int `json:"fields"`  // paths of rules; one that leaves out fields of many objects counts once
	Objects int `json:"objects"` // that have such fields; one of the same ID in many clusters counts once
}

// String says what is left out; empty when nothing is.
func (c IgnoredCount) String() string {
	if c.Fields == 0 {
		return ""
	}
	fields := "1 field"
	if c.Fields > 1 {
		fields = fmt.Sprintf("%d fields", c.Fields)
	}
	return fields + " ignored by diff.ignore in " + objectCount(c.Objects)
}

// An ignoredField is a field that a rule ignores.
type ignoredField struct {
	why  Ignored
	path []fleet.Step
}

// ignoredFields returns the fields that rules ignore of an object, which is one of
// the given ones before and after. None of them is in another.
func ignoredFields(rules []fleet.IgnoreRule, forms ...fleet.Object) []ignoredField {
	var out []ignoredField
	for i := range rules {
		r := &rules[i]
		if !slices.ContainsFunc(forms, r.Matches) {
			continue
		}
		for _, f := range r.Fields {
			in := func(other ignoredField) bool { return fleet.HasPrefix(other.path, f.Path) }
			if slices.ContainsFunc(out, func(other ignoredField) bool { return fleet.HasPrefix(f.Path, other.path) }) {
				continue
			}
			out = append(slices.DeleteFunc(out, in), ignoredField{Ignored{r.Path(), fleet.StepsText(f.Path)}, f.Path})
		}
	}
	return out
}

// leaveOut returns both forms of an object without the fields, and the changes of
// these, sorted by path.
func leaveOut(fields []ignoredField, was, is any) (restWas, restIs any, ignored []FieldChange) {
	d := differ{budget: maxWork}
	for _, f := range fields {
		first := len(d.changes)
		d.elements(stepTo(f.path), fleet.Elements(was, f.path), fleet.Elements(is, f.path))
		for i := range d.changes[first:] {
			d.changes[first+i].Ignored = f.why
		}
		was, is = fleet.Without(was, f.path), fleet.Without(is, f.path)
	}
	slices.SortFunc(d.changes, FieldChange.compare)
	return was, is, d.changes
}

// elements adds the changes from some values to others, to which one path leads.
func (d *differ) elements(at *step, was, is []any) {
	switch {
	case len(was) == 1 && len(is) == 1:
		d.value(at, was[0], is[0])
	case len(was) == 0 && len(is) == 1:
		d.added(at, is[0], 0)
	case len(was) == 1 && len(is) == 0:
		d.removed(at, was[0])
	default:
		d.list(at, was, is)
	}
}

// stepTo returns the last step of a path.
func stepTo(path []fleet.Step) *step {
	var at *step
	for _, s := range path {
		if s.Key != "" {
			at = at.key(s.Key)
		} else {
			at = at.element(strings.Trim(fleet.StepsText([]fleet.Step{s}), "[]"))
		}
	}
	return at
}

// WithoutIgnored returns the content of an object without the fields that rules
// ignore, and what these lead to by their paths: of an element of a list, a list.
func WithoutIgnored(o fleet.Object, rules []fleet.IgnoreRule) (rest map[string]any, ignored map[Ignored][]any) {
	rest = o.Object
	for _, f := range ignoredFields(rules, o) {
		if found := fleet.Elements(rest, f.path); len(found) > 0 {
			if ignored == nil {
				ignored = map[Ignored][]any{}
			}
			ignored[f.why] = found
			rest, _ = fleet.Without(rest, f.path).(map[string]any)
		}
	}
	return rest, ignored
}

package diff

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An IgnoreReason says which rule ignores a field change.
type IgnoreReason struct {
	Rule  string // its path: diff.ignore.checksums
	Field string // the path in the rule, which matches the field or one above it
}

// An IgnoredCount counts ignored changes.
type IgnoredCount struct {
	Fields  int `json:"fields"`  // paths of rules; a path that matches many objects counts once
	Objects int `json:"objects"` // objects with ignored changes; the same ID in many clusters counts once
}

// String returns the count as a clause, or an empty string.
func (c IgnoredCount) String() string {
	if c.Fields == 0 {
		return ""
	}
	return diag.Count(c.Fields, "field", "fields") + " ignored by diff.ignore in " + diag.Count(c.Objects, "object", "objects")
}

// An ignoredField is a field that a rule ignores.
type ignoredField struct {
	why  IgnoreReason
	path []fleet.Step
}

// ignoredFields returns the fields of an object that rules ignore. forms are
// the object before and after. No returned path contains another.
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
			out = append(slices.DeleteFunc(out, in), ignoredField{IgnoreReason{r.Path(), fleet.StepsText(f.Path)}, f.Path})
		}
	}
	return out
}

// splitIgnored removes the fields from both forms of an object, and returns
// their changes sorted by path.
func splitIgnored(fields []ignoredField, before, after any) (restBefore, restAfter any, ignored []FieldChange) {
	d := differ{budget: maxWork}
	for _, f := range fields {
		first := len(d.changes)
		d.elements(stepTo(f.path), fleet.Elements(before, f.path), fleet.Elements(after, f.path))
		for i := range d.changes[first:] {
			d.changes[first+i].Ignored = f.why
		}
		before, after = fleet.Without(before, f.path), fleet.Without(after, f.path)
	}
	slices.SortFunc(d.changes, FieldChange.compare)
	return before, after, d.changes
}

// elements adds the changes between the values that a path matches on both
// sides.
func (d *differ) elements(at *step, before, after []any) {
	switch {
	case len(before) == 1 && len(after) == 1:
		d.value(at, before[0], after[0])
	case len(before) == 0 && len(after) == 1:
		d.added(at, after[0], 0)
	case len(before) == 1 && len(after) == 0:
		d.removed(at, before[0])
	default:
		d.list(at, before, after)
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

// WithoutIgnored returns the content of an object without ignored fields, and
// the ignored values by rule.
func WithoutIgnored(o fleet.Object, rules []fleet.IgnoreRule) (rest map[string]any, ignored map[IgnoreReason][]any) {
	rest = o.Object
	for _, f := range ignoredFields(rules, o) {
		if found := fleet.Elements(rest, f.path); len(found) > 0 {
			if ignored == nil {
				ignored = map[IgnoreReason][]any{}
			}
			ignored[f.why] = found
			rest, _ = fleet.Without(rest, f.path).(map[string]any)
		}
	}
	return rest, ignored
}

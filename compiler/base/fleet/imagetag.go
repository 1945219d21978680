package fleet

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A TagPolicy chooses a tag. The zero value is the rule for images without a policy.
type TagPolicy struct {
	rule       TagRule
	constraint *semver.Constraints // of Semver; nil for other rules
	pattern    *regexp.Regexp      // nil if there is none
	group      int                 // index of the group of pattern
}

// A TagRuleError is a mistake in a rule.
type TagRuleError struct {
	Field     string // of the rule: semver, pattern, numerical or alphabetical
	Msg, Hint string
}

// Error implements error.
func (e *TagRuleError) Error() string { return e.Field + ": " + e.Msg }

// tagVersionGroup is the group of a pattern that has the version for a range of versions.
const tagVersionGroup = "version"

// CompileTagRule prepares a rule. The error is a [*TagRuleError].
func CompileTagRule(rule TagRule) (*TagPolicy, error) {
	p := &TagPolicy{rule: rule}
	var err error
	if rule.Semver != "" {
		if p.constraint, err = semver.NewConstraint(rule.Semver); err != nil {
			return nil, &TagRuleError{"semver", diag.Visible(rule.Semver, diag.MaxText) + " is not a valid version range", `write it as in "^1.4" or ">=1.2 <2"`}
		}
	}
	if rule.Pattern != "" {
		if p.pattern, err = regexp.Compile(rule.Pattern); err != nil {
			return nil, &TagRuleError{"pattern", "invalid regular expression: " + diag.Brief(err), `write it as in "^main-[0-9a-f]+-(?P<time>[0-9]+)$"`}
		}
	}
	for field, group := range map[string]string{"numerical": rule.Numerical, "alphabetical": rule.Alphabetical} {
		if group == "" {
			continue
		}
		if p.pattern == nil {
			return nil, &TagRuleError{field, "the policy has no pattern with a group " + diag.Visible(group, diag.MaxText), `add one, as in pattern: "^build-(?P<` + plainGroup(group) + `>[0-9]+)$"`}
		}
		return p, p.useGroup(field, group)
	}
	if p.pattern != nil && rule.Semver != "" {
		return p, p.useGroup("pattern", tagVersionGroup)
	}
	return p, nil
}

// plainGroup returns a name of a group for a hint.
func plainGroup(name string) string {
	if regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`).MatchString(name) {
		return name
	}
	return "time"
}

// useGroup finds the group of the pattern that a rule compares.
func (p *TagPolicy) useGroup(field, group string) error {
	if p.group = p.pattern.SubexpIndex(group); p.group >= 0 {
		return nil
	}
	names := slices.DeleteFunc(p.pattern.SubexpNames(), func(n string) bool { return n == "" })
	hint := diag.OneOf(group, names)
	if field == "pattern" || hint == "" {
		hint = "name the part to compare, as in (?P<" + plainGroup(group) + ">...)"
	}
	return &TagRuleError{field, "the pattern has no group " + diag.Visible(group, diag.MaxText), hint}
}

// Never returns why the tag stays; empty if it does not.
func (p *TagPolicy) Never() string { return p.rule.Never }

// IsDefault reports whether the policy is that of images without one.
func (p *TagPolicy) IsDefault() bool { return p.rule == TagRule{} }

// Applies reports whether the policy can choose a tag for an image with a tag: without a
// rule, only for a version.
func (p *TagPolicy) Applies(tag string) bool {
	_, isVersion := parseVersion(tag)
	return p.rule.Never == "" && (!p.IsDefault() || isVersion)
}

// String returns the rule in one line.
func (p *TagPolicy) String() string {
	r := p.rule
	switch {
	case r.Never != "":
		return "never: " + r.Never
	case r.Semver != "":
		return "semver " + r.Semver
	case r.Numerical != "":
		return "numerical " + r.Numerical
	case r.Alphabetical != "":
		return "alphabetical " + r.Alphabetical
	}
	return "newest version"
}

// Newest returns the newest of the tags; false if none fits. The present tag counts as
// one of them, so that an update does not go back to an earlier one. Texts that are not
// valid tags are left out, and those that are lower than the present tag.
func (p *TagPolicy) Newest(present string, tags []string) (string, bool) {
	form, hasForm := parseVersion(present)
	best, found := "", false
	for _, tag := range append(slices.Clone(tags), present) {
		if !IsImageTag(tag) || !p.fits(tag, form, hasForm) || p.isLower(tag, present) {
			continue
		}
		order := 1
		if found {
			order = p.compare(tag, best)
		}
		if order > 0 || order == 0 && best != present && (tag == present || tag > best) {
			best, found = tag, true
		}
	}
	if !found && hasForm && p.constraint == nil && p.group == 0 && p.Never() == "" {
		return present, true // a prerelease without a later release
	}
	return best, found
}

// HasLower reports whether the policy allows one of the tags, and it is lower than the
// present tag.
func (p *TagPolicy) HasLower(present string, tags []string) bool {
	form, hasForm := parseVersion(present)
	return slices.ContainsFunc(tags, func(tag string) bool {
		return IsImageTag(tag) && p.fits(tag, form, hasForm) && p.isLower(tag, present)
	})
}

// isLower reports whether a tag that fits is lower than the present tag; false if they
// cannot be compared.
func (p *TagPolicy) isLower(tag, present string) bool {
	if p.pattern == nil || p.group == 0 {
		_, ok := parseVersion(present)
		return ok && p.compare(tag, present) < 0
	}
	text, ok := p.groupOf(present)
	switch {
	case !ok:
		return false
	case p.constraint != nil:
		_, err := semver.NewVersion(text)
		ok = err == nil
	case p.rule.Numerical != "":
		ok = digits.FindString(text) == text
	}
	return ok && p.compare(tag, present) < 0
}

// fits reports whether the policy allows a tag. form is the version of the present tag.
func (p *TagPolicy) fits(tag string, form version, hasForm bool) bool {
	if p.pattern != nil {
		text, ok := p.groupOf(tag)
		switch {
		case !ok:
			return false
		case p.constraint != nil:
			v, err := semver.NewVersion(text)
			return err == nil && p.constraint.Check(v)
		case p.rule.Numerical != "":
			return digits.FindString(text) == text && text != ""
		case p.rule.Alphabetical != "":
			return true
		}
	}
	v, ok := parseVersion(tag)
	if !ok || hasForm && !v.sameForm(form) || !hasForm && v.variant != "" {
		return false
	}
	if p.constraint == nil {
		return v.prerelease == "" && (!hasForm || compareVersions(v, form) >= 0)
	}
	s, err := v.semver()
	return err == nil && p.constraint.Check(s)
}

// groupOf returns the part of a tag that a rule compares; false if the tag does not match.
func (p *TagPolicy) groupOf(tag string) (string, bool) {
	m := p.pattern.FindStringSubmatch(tag)
	if m == nil {
		return "", false
	}
	return m[p.group], true
}

// compare orders two tags that fit.
func (p *TagPolicy) compare(a, b string) int {
	if p.pattern != nil && p.group > 0 {
		x, _ := p.groupOf(a)
		y, _ := p.groupOf(b)
		switch {
		case p.constraint != nil:
			v, _ := semver.NewVersion(x)
			w, _ := semver.NewVersion(y)
			return v.Compare(w)
		case p.rule.Numerical != "":
			return compareNumbers(x, y)
		}
		return strings.Compare(x, y)
	}
	v, _ := parseVersion(a)
	w, _ := parseVersion(b)
	return compareVersions(v, w)
}

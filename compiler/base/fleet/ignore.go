package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An IgnoreRule lists fields of objects that comparisons ignore.
type IgnoreRule struct {
	Of      RuleSet // OfDiff when empty
	Name    string
	Release string // release of the objects; empty for all objects of the cluster
	Reason  string
	Match   Selector
	Texts   []MatchText // of Match
	Fields  []FieldPath // in list order; none in a rule of drift that ignores whole objects
	Until   string      // the last day of a rule of drift, 2006-01-02; empty means unlimited
	Pos     diag.Pos    // position of the rule
}

// A RuleSet is the field of a fleet that has rules to ignore.
type RuleSet string

// The sets of rules.
const (
	OfDiff  RuleSet = "diff"
	OfDrift RuleSet = "drift"
)

// Path returns the path of the rule, or of a field of it, in CUE syntax:
// diff.ignore.checksums, releases.web.diff.ignore.checksums.
func (r *IgnoreRule) Path(field ...string) string {
	path := append([]string{string(cmp.Or(r.Of, OfDiff)), "ignore", Label(r.Name)}, field...)
	if r.Release != "" {
		return (&Release{Name: r.Release}).Path(path...)
	}
	return strings.Join(path, ".")
}

// Matches reports whether the rule applies to the object.
func (r *IgnoreRule) Matches(o Object) bool {
	return (r.Release == "" || o.Release != nil && o.Release.Name == r.Release) && r.Match.Matches(o)
}

// IgnoreRules returns the rules of the cluster and of its releases.
func (c *Cluster) IgnoreRules() []IgnoreRule {
	rules := slices.Clone(c.Ignore)
	for _, r := range c.Releases {
		rules = append(rules, r.Ignore...)
	}
	return rules
}

// DriftRules returns the rules of the cluster and of its releases that hold on a day:
// those for drift, and those for comparisons. If day is empty, no rule has expired.
func (c *Cluster) DriftRules(day string) []IgnoreRule {
	rules := slices.Concat(c.driftRules(), c.IgnoreRules())
	return slices.DeleteFunc(rules, func(r IgnoreRule) bool { return r.Until != "" && r.Until < day })
}

// AllIgnoreRules returns the rules of all sets.
func (c *Cluster) AllIgnoreRules() []IgnoreRule {
	return slices.Concat(c.IgnoreRules(), c.driftRules())
}

func (c *Cluster) driftRules() []IgnoreRule {
	rules := slices.Clone(c.DriftIgnore)
	for _, r := range c.Releases {
		rules = append(rules, r.DriftIgnore...)
	}
	return rules
}

// A RuleCheck is the result of a check in one cluster. The check must hold in
// at least one cluster that has the rule.
type RuleCheck struct {
	Path  string   `json:"path"` // of the checked part of the rule
	Pos   diag.Pos `json:"pos"`
	Holds bool     `json:"holds,omitempty"`

	// The fault if the check holds in no cluster. That of the cluster with the
	// highest Near is reported.
	Near int    `json:"near,omitempty"`
	Msg  string `json:"msg,omitempty"`
	Hint string `json:"hint,omitempty"`

	Fixes []diag.Fix `json:"fixes,omitempty"`
}

// setFault sets the fault of the check. A cluster with a fix is nearer than others.
func (c *RuleCheck) setFault(msg, hint string, fixes []diag.Fix) {
	c.Msg, c.Hint, c.Fixes = msg, hint, fixes
	if fixes != nil {
		c.Near = 1
	}
}

// Without returns decoded JSON without the values at a path, and without maps
// and lists that become empty. It does not modify v.
func Without(v any, path []Step) any {
	out, _ := without(v, path)
	return out
}

// without is Without. It also reports whether the result is empty.
func without(v any, path []Step) (out any, gone bool) {
	if len(path) == 0 {
		return nil, true
	}
	if len(Elements(v, path)) == 0 {
		return v, false
	}
	if m, ok := v.(map[string]any); ok {
		m = maps.Clone(m)
		if rest, empty := without(m[path[0].Key], path[1:]); empty {
			delete(m, path[0].Key)
		} else {
			m[path[0].Key] = rest
		}
		return m, len(m) == 0
	}
	var left []any
	for _, element := range v.([]any) { // the path selects elements
		if path[0].Matches(element) {
			rest, empty := without(element, path[1:])
			if empty {
				continue
			}
			element = rest
		}
		left = append(left, element)
	}
	return left, len(left) == 0
}

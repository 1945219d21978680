package fleet

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An IgnoreRule says which fields of objects comparisons leave out.
type IgnoreRule struct {
	Name    string
	Release string // whose objects it is about; empty for those of the whole cluster
	Reason  string
	Match   Selector
	Fields  []FieldPath // as listed
	Pos     diag.Pos    // where it is written
}

// Path returns the path of the rule, or of a field of it, as CUE writes it:
// diff.ignore.checksums, releases.web.diff.ignore.checksums.
func (r *IgnoreRule) Path(field ...string) string {
	path := append([]string{"diff", "ignore", label(r.Name)}, field...)
	if r.Release != "" {
		return (&Release{Name: r.Release}).Path(path...)
	}
	return strings.Join(path, ".")
}

// Matches reports whether the rule is about the object.
func (r *IgnoreRule) Matches(o Object) bool {
	return (r.Release == "" || o.Release != nil && o.Release.Name == r.Release) && r.Match.Matches(o)
}

// IgnoreRules returns the rules of the cluster and those of its releases.
func (c *Cluster) IgnoreRules() []IgnoreRule {
	rules := slices.Clone(c.Ignore)
	for _, r := range c.Releases {
		rules = append(rules, r.Ignore...)
	}
	return rules
}

// A RuleCheck is what one cluster says of a part of a rule that must hold in at
// least one of the clusters that have the rule.
type RuleCheck struct {
	Path  string   `json:"path"` // of the part
	Pos   diag.Pos `json:"pos"`
	Holds bool     `json:"holds,omitempty"`

	// What is wrong when it holds nowhere. The cluster in which it is nearest to
	// holding says it best.
	Near int    `json:"near,omitempty"`
	Msg  string `json:"msg,omitempty"`
	Hint string `json:"hint,omitempty"`
}

// Without returns what encoding/json decodes without what a path leads to, and
// without the maps and lists of which nothing else is left. The value is not
// modified.
func Without(v any, path []Step) any {
	out, _ := without(v, path)
	return out
}

// without is Without. It reports whether nothing is left.
func without(v any, path []Step) (out any, gone bool) {
	if len(path) == 0 {
		return nil, true
	}
	if len(Elements(v, path)) == 0 {
		return v, false
	}
	if m, ok := v.(map[string]any); ok {
		m = maps.Clone(m)
		if rest, gone := without(m[path[0].Key], path[1:]); gone {
			delete(m, path[0].Key)
		} else {
			m[path[0].Key] = rest
		}
		return m, len(m) == 0
	}
	var left []any
	for _, element := range v.([]any) { // the path leads to elements
		if path[0].Matches(element) {
			rest, gone := without(element, path[1:])
			if gone {
				continue
			}
			element = rest
		}
		left = append(left, element)
	}
	return left, len(left) == 0
}

package fleet

import (
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A DifferenceRule lists allowed differences between clusters.
type DifferenceRule struct {
	Name     string
	Reason   string   // may be empty
	Between  []string // cluster patterns, see [MatchCluster]
	Releases []PathPattern
	Charts   []PathPattern
	Values   []PathPattern
	Objects  []Selector // objects that may differ
	Checks   bool       // whether all other objects must be equal
	Pos      diag.Pos   // position of the rule

	Texts     []MatchText // release patterns that begin the paths which may differ
	ObjectPos []diag.Pos  // positions of Objects
}

// About reports whether the rule applies to the cluster with the given ID.
func (r *DifferenceRule) About(id string) bool {
	return slices.ContainsFunc(r.Between, func(p string) bool {
		ok, err := MatchCluster(p, id)
		return ok && err == nil
	})
}

// A PathPattern matches a path and everything below it. Each key is a pattern
// of [path.Match].
type PathPattern []string

// ParsePathPattern parses a pattern in the syntax of [ParseField], and reports
// whether it is valid.
func ParsePathPattern(text string) (PathPattern, bool) {
	keys, ok := ParseField(text)
	for _, k := range keys {
		_, err := path.Match(k, "")
		ok = ok && err == nil
	}
	return keys, ok
}

// Matches reports whether the pattern matches a path.
func (p PathPattern) Matches(keys ...string) bool {
	if len(keys) < len(p) {
		return false
	}
	for i, pattern := range p {
		if ok, err := path.Match(pattern, keys[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// Path returns the path of the rule, or of a field of it, in CUE syntax.
func (r *DifferenceRule) Path(field ...string) string {
	return strings.Join(append([]string{"differences", Label(r.Name)}, field...), ".")
}

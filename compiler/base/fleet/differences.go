package fleet

import (
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A DifferenceRule says where clusters may differ.
type DifferenceRule struct {
	Name     string
	Reason   string   // may be empty
	Between  []string // cluster patterns, see [MatchCluster]
	Releases []PathPattern
	Charts   []PathPattern
	Values   []PathPattern
	Objects  []Selector // that may differ
	Checks   bool       // whether objects that Objects does not choose must not differ
	Pos      diag.Pos   // where the rule is written
}

// About reports whether the rule is about the cluster with the given ID.
func (r *DifferenceRule) About(id string) bool {
	return slices.ContainsFunc(r.Between, func(p string) bool {
		ok, err := MatchCluster(path.Clean(p), id)
		return ok && err == nil
	})
}

// A PathPattern matches paths: key by key, as [path.Match] does, and all that is
// below.
type PathPattern []string

// ParsePathPattern reads a pattern as [ParseField] reads a path, and reports
// whether it is one.
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

// Path returns the path of the rule, or of a field of it, as CUE writes it.
func (r *DifferenceRule) Path(field ...string) string {
	return strings.Join(append([]string{"differences", label(r.Name)}, field...), ".")
}

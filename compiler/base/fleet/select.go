package fleet

import (
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// MatchCluster reports whether the pattern selects the cluster with the given
// ID: it matches, as [path.Match] does, the ID or a directory above it. So prod
// and prod/* select all of prod/us/east-1 and prod/eu-1.
func MatchCluster(pattern, id string) (bool, error) {
	for at := id; at != "."; at = path.Dir(at) {
		if ok, err := path.Match(pattern, at); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// A Selector chooses among the objects of a cluster. A field that is empty
// chooses all.
type Selector struct {
	Kinds      []string          `json:"kinds,omitempty"`      // Deployment, or Deployment.apps of one API group alone
	Names      []string          `json:"names,omitempty"`      // patterns, as path.Match has them
	Namespaces []string          `json:"namespaces,omitempty"` // patterns
	Releases   []string          `json:"releases,omitempty"`   // patterns
	Labels     map[string]string `json:"labels,omitempty"`     // that objects have; * for any value
}

// Matches reports whether the selector chooses the object.
func (s Selector) Matches(o Object) bool {
	release := ""
	if o.Release != nil {
		release = o.Release.Name
	}
	gk := o.GroupVersionKind().GroupKind()
	return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, gk.Kind) || slices.Contains(s.Kinds, gk.String())) &&
		anyMatches(s.Names, o.GetName()) && anyMatches(s.Namespaces, o.GetNamespace()) && anyMatches(s.Releases, release) &&
		hasLabels(o.GetLabels(), s.Labels)
}

// anyMatches reports whether one of the patterns matches the text, or there is
// none. A malformed one matches nothing.
func anyMatches(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, text)
		return ok && err == nil
	})
}

func hasLabels(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || v != "*" && v != got {
			return false
		}
	}
	return true
}

// A Patch changes objects of a release after they are rendered. Exactly one of
// Strategic, Merge, JSON and Images is set.
type Patch struct {
	Name      string
	Target    Selector
	Optional  bool              // whether it may match nothing
	Strategic map[string]any    // as encoding/json decodes it
	Merge     map[string]any    // RFC 7386
	JSON      []Operation       // RFC 6902
	Images    map[string]string // beginnings of image names, and what takes their place
	Pos       diag.Pos          // where the patch is written
}

// An Operation is one of a JSON patch.
type Operation struct {
	Op, Path, From string
	Value          any // as encoding/json decodes it
}

// A Policy is a rule for the objects of a cluster.
type Policy struct {
	Name    string
	Message string
	Match   Selector
	Source  string         // CUE: a file with object, or objects and violations, or a txtar archive of the packages it needs
	Waivers []PolicyWaiver // sorted by name
	Texts   []MatchText    // of Match
	Pos     diag.Pos       // where the rule is written
}

// A PolicyWaiver says that a policy does not hold for some objects.
type PolicyWaiver struct {
	Name   string
	Reason string
	Match  Selector
	Until  string      // the last day, 2006-01-02; empty for ever
	Texts  []MatchText // of Match
	Pos    diag.Pos    // where the waiver is written
}

package fleet

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// MatchCluster reports whether the pattern selects the cluster with the given
// ID: [path.Match] must match the ID or a directory above it. So prod and
// prod/* both select prod/us/east-1 and prod/eu-1, and environments/prod too.
func MatchCluster(pattern, id string) (bool, error) {
	pattern = cleanPattern(pattern)
	for at := range DirsAbove(id) {
		if ok, err := path.Match(pattern, at); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// DirsAbove yields a slash-separated path and its parent directories, innermost first. It ends
// for invalid names too, such as one with a leading slash.
func DirsAbove(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := name; d != "." && d != "/" && yield(d); {
			d = path.Dir(d)
		}
	}
}

// cleanPattern normalizes a cluster pattern: it removes the prefix that shell completion adds.
func cleanPattern(pattern string) string {
	return strings.TrimPrefix(path.Clean(pattern), "environments/")
}

// A Selector selects objects of a cluster. An empty field matches all objects.
type Selector struct {
	Kinds      []string          `json:"kinds,omitempty"`      // Deployment, or Deployment.apps for one API group
	Names      []string          `json:"names,omitempty"`      // patterns of path.Match
	Namespaces []string          `json:"namespaces,omitempty"` // patterns
	Releases   []string          `json:"releases,omitempty"`   // patterns
	Labels     map[string]string `json:"labels,omitempty"`     // required labels; * matches any value
}

// Matches reports whether the selector selects the object.
func (s Selector) Matches(o Object) bool {
	gk := o.GroupVersionKind().GroupKind()
	return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, gk.Kind) || slices.Contains(s.Kinds, gk.String())) &&
		anyMatches(s.Names, o.GetName()) && anyMatches(s.Namespaces, o.GetNamespace()) && anyMatches(s.Releases, o.ReleaseName()) &&
		hasLabels(o.GetLabels(), s.Labels)
}

// anyMatches reports whether a pattern matches the text, or there are no
// patterns. Malformed patterns match nothing.
func anyMatches(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, text)
		return ok && err == nil
	})
}

func hasLabels(labels, want map[string]string) bool {
	for k, v := range want {
		if got, ok := labels[k]; !ok || v != "*" && v != got {
			return false
		}
	}
	return true
}

// A Patch changes rendered objects of a release. Exactly one of Strategic,
// Merge, JSON and Images is set.
type Patch struct {
	Name      string
	Target    Selector
	Optional  bool              // whether it may match nothing
	Strategic map[string]any    // decoded JSON
	Merge     map[string]any    // RFC 7386
	JSON      []Operation       // RFC 6902
	Images    map[string]string // prefixes of image names and their replacements
	Texts     []MatchText       // of Target; none when the patch is optional
	Pos       diag.Pos          // position of the patch
	Written   *Tree             // the fields as the layers write them, for positions; may be nil
}

// PosAt returns the position of a part of the patch, as at strategic, spec, replicas: that of
// the innermost field around it that a layer writes.
func (p *Patch) PosAt(path ...string) diag.Pos {
	for n := len(path); n > 0; n-- {
		if t := p.Written.At(path[:n]...); t != nil && t.Pos.IsValid() {
			return t.Pos
		}
	}
	return p.Pos
}

// PosOf returns the position of the part of the patch that sets a field of an object, as far
// as it follows from the field's path: items of a strategic merge have other indexes there.
func (p *Patch) PosOf(field []string) diag.Pos {
	if p.JSON != nil {
		for i, op := range slices.Backward(p.JSON) {
			if strings.HasPrefix("/"+strings.Join(field, "/")+"/", op.Path+"/") {
				return p.PosAt("json", strconv.Itoa(i))
			}
		}
		return p.Pos
	}
	if p.Images != nil {
		return p.PosAt("images")
	}
	form := "strategic"
	if p.Merge != nil {
		form = "merge"
	}
	isIndex := func(step string) bool { _, err := strconv.Atoi(step); return err == nil }
	if i := slices.IndexFunc(field, isIndex); i >= 0 && form == "strategic" {
		field = field[:i]
	}
	return p.PosAt(append([]string{form}, field...)...)
}

// An Operation is one operation of a JSON patch.
type Operation struct {
	Op, Path, From string
	Value          any // decoded JSON
}

// A Policy is a rule for the objects of a cluster.
type Policy struct {
	Name    string
	Message string
	Match   Selector
	Source  string         // CUE: a file with object, or objects and violations, or a txtar archive with the packages it needs
	Waivers []PolicyWaiver // sorted by name
	Texts   []MatchText    // texts of Match
	Pos     diag.Pos       // position of the rule
}

// A PolicyWaiver exempts objects from a policy.
type PolicyWaiver struct {
	Name   string
	Reason string
	Match  Selector
	Until  string      // the last day, 2006-01-02; empty means unlimited
	Texts  []MatchText // texts of Match
	Pos    diag.Pos    // position of the waiver
}

// A ClusterSelector selects the clusters of a release, of the policy of an image, or of a
// wave. An empty list selects all clusters.
type ClusterSelector struct {
	Release      string          // empty for other selectors
	Image        string          // whose policy it is; empty for other selectors
	IDs          []ClusterChoice // patterns, see [MatchCluster]
	Environments []ClusterChoice
	Labels       []ClusterChoice // required labels, sorted by key
	Pos          diag.Pos        // position of the selector
}

// Path returns the path of a field of the selector of a release or an image.
func (s *ClusterSelector) Path(field ...string) string {
	if s.Image != "" {
		return ImagePath(s.Image, field...)
	}
	return (&Release{Name: s.Release}).Path(append([]string{"clusters"}, field...)...)
}

// A ClusterChoice is one text of a selector.
type ClusterChoice struct {
	Key  string // label key; empty for IDs and environments
	Text string // a pattern, an environment, or a label value: * matches any
	Pos  diag.Pos
}

// Selects reports whether the selector selects the cluster.
func (s *ClusterSelector) Selects(c *Cluster) bool {
	matchesAny := func(choices []ClusterChoice, matches func(ClusterChoice, *Cluster) bool) bool {
		return len(choices) == 0 || slices.ContainsFunc(choices, func(choice ClusterChoice) bool { return matches(choice, c) })
	}
	return matchesAny(s.IDs, ClusterChoice.MatchesID) && matchesAny(s.Environments, ClusterChoice.MatchesEnvironment) &&
		!slices.ContainsFunc(s.Labels, func(choice ClusterChoice) bool { return !choice.MatchesLabel(c) })
}

// MatchesID reports whether the pattern matches the cluster's ID. Invalid
// patterns match nothing.
func (t ClusterChoice) MatchesID(c *Cluster) bool {
	ok, err := MatchCluster(t.Text, c.ID)
	return ok && err == nil
}

// MatchesEnvironment reports whether the cluster is in the environment.
func (t ClusterChoice) MatchesEnvironment(c *Cluster) bool { return c.Environment == t.Text }

// MatchesLabel reports whether the cluster has the label.
func (t ClusterChoice) MatchesLabel(c *Cluster) bool {
	value, ok := c.Labels[t.Key]
	return ok && (t.Text == "*" || t.Text == value)
}

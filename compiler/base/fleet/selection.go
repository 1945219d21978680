package fleet

import (
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

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
	ok, err := MatchCluster(path.Clean(t.Text), c.ID)
	return ok && err == nil
}

// MatchesEnvironment reports whether the cluster is in the environment.
func (t ClusterChoice) MatchesEnvironment(c *Cluster) bool { return c.Environment == t.Text }

// MatchesLabel reports whether the cluster has the label.
func (t ClusterChoice) MatchesLabel(c *Cluster) bool {
	value, ok := c.Labels[t.Key]
	return ok && (t.Text == "*" || t.Text == value)
}

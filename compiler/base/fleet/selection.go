package fleet

import (
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A ClusterSelector chooses the clusters that get a release. A list that is empty
// chooses all of them.
type ClusterSelector struct {
	Release      string
	IDs          []ClusterChoice // patterns, see [MatchCluster]
	Environments []ClusterChoice
	Labels       []ClusterChoice // all of which a cluster has, sorted by key
	Pos          diag.Pos        // where the selector is written
}

// A ClusterChoice is one text of a selector.
type ClusterChoice struct {
	Key  string // of a label; empty for IDs and environments
	Text string // a pattern, an environment, or the value of a label: * for any
	Pos  diag.Pos
}

// Selects reports whether the selector chooses the cluster.
func (s *ClusterSelector) Selects(c *Cluster) bool {
	any := func(choices []ClusterChoice, matches func(ClusterChoice, *Cluster) bool) bool {
		return len(choices) == 0 || slices.ContainsFunc(choices, func(choice ClusterChoice) bool { return matches(choice, c) })
	}
	return any(s.IDs, ClusterChoice.MatchesID) && any(s.Environments, ClusterChoice.MatchesEnvironment) &&
		!slices.ContainsFunc(s.Labels, func(choice ClusterChoice) bool { return !choice.MatchesLabel(c) })
}

// MatchesID reports whether the cluster's ID is one that the pattern selects. An
// invalid pattern selects none.
func (t ClusterChoice) MatchesID(c *Cluster) bool {
	ok, err := MatchCluster(path.Clean(t.Text), c.ID)
	return ok && err == nil
}

// MatchesEnvironment reports whether the cluster is of the environment.
func (t ClusterChoice) MatchesEnvironment(c *Cluster) bool { return c.Environment == t.Text }

// MatchesLabel reports whether the cluster has the label.
func (t ClusterChoice) MatchesLabel(c *Cluster) bool {
	value, ok := c.Labels[t.Key]
	return ok && (t.Text == "*" || t.Text == value)
}

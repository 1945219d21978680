package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Live describes a change in a running cluster. The zero value means that no
// cluster was compared.
type Live struct {
	Reason    string // missing, changed, orphaned, conflict or unknown
	Why       string // details; may be empty
	Predicted bool   // whether the compared object comes from a simulated apply instead of a dry run
}

func (l Live) compare(m Live) int {
	return cmp.Or(strings.Compare(l.Reason, m.Reason), strings.Compare(l.Why, m.Why), compareBools(l.Predicted, m.Predicted))
}

// comparison returns how the object was compared, or an empty string.
func (l Live) comparison() string {
	switch {
	case l.Predicted:
		return "predicted"
	case l.Reason == "changed" || l.Reason == "conflict":
		return "dry-run"
	}
	return ""
}

// A Prediction says why objects were compared with a simulated apply.
type Prediction struct {
	Why      string   `json:"why"`
	Clusters []string `json:"clusters"` // IDs, sorted
	Objects  int      `json:"objects"`
}

// predictions returns the lines about simulated applies.
func (r Result) predictions() []string {
	var out []string
	for _, p := range r.Predicted {
		where := fmt.Sprintf("%d clusters", len(p.Clusters))
		if len(p.Clusters) == 1 {
			where = clusterName(p.Clusters[0])
		}
		out = append(out, fmt.Sprintf("compared without a dry run: %s in %s: %s", diag.Count(p.Objects, "object", "objects"), where, clippedLine(p.Why, 0)))
	}
	return out
}

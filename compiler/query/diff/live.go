package diff

import (
	"cmp"
	"fmt"
	"strings"
)

// A Live says what is known of a change from the cluster that has the object.
// The zero Live is that of a change that no cluster was asked about.
type Live struct {
	Reason    string // missing, changed, orphaned, conflict or unknown
	Why       string // more about it; may be empty
	Predicted bool   // whether what the object would be is predicted; by a dry run otherwise
}

func (l Live) compare(m Live) int {
	return cmp.Or(strings.Compare(l.Reason, m.Reason), strings.Compare(l.Why, m.Why), compareBools(l.Predicted, m.Predicted))
}

// how says how the object was compared; empty when it was not.
func (l Live) how() string {
	switch {
	case l.Predicted:
		return "predicted"
	case l.Reason == "changed" || l.Reason == "conflict":
		return "dry-run"
	}
	return ""
}

// A Prediction says why objects were compared with what is predicted.
type Prediction struct {
	Why      string
	Clusters []string // IDs, sorted
	Objects  int
}

// predictions returns the lines about what was predicted.
func (r Result) predictions() []string {
	var out []string
	for _, p := range r.Predicted {
		where := fmt.Sprintf("%d clusters", len(p.Clusters))
		if len(p.Clusters) == 1 {
			where = clusterName(p.Clusters[0])
		}
		out = append(out, fmt.Sprintf("compared without a dry run: %s in %s: %s", objectCount(p.Objects), where, clippedLine(p.Why, 0)))
	}
	return out
}

package fleet

import (
	"cmp"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ClusterHint names the cluster, or the directory of clusters, that is nearest to a
// pattern which matches none of the IDs. The fix writes it.
func ClusterHint(pattern string, ids []string) (hint string, fixes []diag.Fix) {
	base, star := strings.CutSuffix(cleanPattern(pattern), "/*")
	var among []string
	for _, id := range ids {
		for at := id; at != "."; at = path.Dir(at) {
			among = append(among, at)
		}
	}
	near := diag.Nearest(base, among)
	for _, at := range among {
		if near == "" && path.Base(at) == base {
			near = at // the name of the cluster without the path to it
		}
	}
	if near == "" {
		return "run fleetc list for the clusters of the fleet", nil
	}
	if star {
		near += "/*"
	}
	return "did you mean " + near + "?", []diag.Fix{{Kind: diag.FixName, Old: pattern, New: near}}
}

// ReleaseHint returns the hint of a fault about a name or pattern that no release has. names
// are those of the releases.
func ReleaseHint(name string, names []string) string {
	return cmp.Or(diag.OneOf(name, names), "list the releases with fleetc list -o json")
}

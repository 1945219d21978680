package fleet

import (
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// ClusterHint names the cluster, or the directory of clusters, that is nearest to a
// pattern which matches none of the IDs.
func ClusterHint(pattern string, ids []string) string {
	base, star := strings.CutSuffix(pattern, "/*")
	var among []string
	for _, id := range ids {
		for at := id; at != "."; at = path.Dir(at) {
			among = append(among, at)
		}
	}
	hint := diag.DidYouMean(base, among)
	switch {
	case hint == "":
		return "run fleetc list for the clusters of the fleet"
	case star:
		return strings.TrimSuffix(hint, "?") + "/*?"
	}
	return hint
}

package deliver

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// maxTrailers is the maximum number of clusters that a commit lists.
const maxTrailers = 20

// ExportCommit returns the changed files and the commit message of an export. digests are the
// digests of bundles by cluster ID, source is the commit of the fleet, and version that of
// fleetc.
func ExportCommit(sum export.Summary, digests map[string]string, source, version string) export.BranchChange {
	var c export.BranchChange
	var trailers, ids []string
	all := sha256.New()
	for _, r := range sum.Clusters {
		for _, f := range r.Files {
			c.Files = append(c.Files, f.Name)
		}
		if r.Changes() == 0 {
			continue
		}
		ids = append(ids, r.Cluster)
		line := "Bundle-Digest: " + r.Cluster + " " + cmp.Or(digests[r.Cluster], "none")
		trailers = append(trailers, line)
		fmt.Fprintln(all, line)
	}
	if len(trailers) > maxTrailers {
		trailers = []string{fmt.Sprintf("Bundle-Digest: %d clusters sha256:%x", len(ids), all.Sum(nil))}
	}
	if source != "" {
		trailers = append(trailers, "Source-Commit: "+source)
	}
	trailers = append(trailers, "Fleetc-Version: "+version)
	subject := fmt.Sprintf("%d clusters changed", len(ids))
	if len(ids) == 1 {
		subject = ids[0] + " changed"
	}
	c.Directories = slices.Sorted(maps.Keys(digests))
	c.Message = fmt.Sprintf("fleetc: %s\n\nFiles: %d added, %d changed, %d removed\n\n%s\n",
		subject, sum.Added, sum.Changed, sum.Removed, strings.Join(trailers, "\n"))
	return c
}

package diff

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// WriteStat writes a table of the clusters with changes and their numbers of
// changed objects. New and removed clusters are marked, and clusters that were
// not compared are listed.
//
//	CLUSTER     CREATED   UPDATED   DELETED
//	dev/a       0         2         0
//	+ dev/new   14        0         0
//
//	2 objects updated in 1 of 3 clusters; 1 cluster created
func WriteStat(w io.Writer, r Result) error {
	type object struct {
		id     string
		action Action
	}
	rows := map[string]map[object]bool{}
	for _, g := range r.Groups {
		for _, id := range g.Clusters {
			if rows[id] == nil {
				rows[id] = map[object]bool{}
			}
			for _, c := range g.Changes {
				rows[id][object{c.ID, c.Action}] = true // it may be in several groups
			}
		}
	}
	out := bufio.NewWriter(w)
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if !r.Empty() || len(r.NotCompared) > 0 {
		fmt.Fprintln(t, "CLUSTER\tCREATED\tUPDATED\tDELETED")
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		n := map[Action]int{}
		for o := range rows[id] {
			n[o.action]++
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", clusterName(id), n[Create], n[Update], n[Delete])
	}
	for _, c := range r.Created {
		fmt.Fprintf(t, "+ %s\t%d\t0\t0\n", clusterName(c.Cluster), c.Objects)
	}
	for _, c := range r.Deleted {
		fmt.Fprintf(t, "- %s\t0\t0\t%d\n", clusterName(c.Cluster), c.Objects)
	}
	for _, id := range r.NotCompared {
		fmt.Fprintf(t, "! %s\tnot compared\n", clusterName(id))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !r.Empty() || len(r.NotCompared) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r)
	return out.Flush()
}

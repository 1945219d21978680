package unify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SameContexts returns a fault for each kubeconfig context that several clusters have.
func SameContexts(clusters []*fleet.Cluster) error {
	return sameTexts(clusters, "context", "set the kubeconfig context of each cluster", func(c *fleet.Cluster) (string, diag.Pos) {
		return c.KubeContext, c.ContextPos
	})
}

// sameUIDs returns a fault for each UID that several clusters have.
func sameUIDs(clusters []*fleet.Cluster) error {
	return sameTexts(clusters, "uid", "set the UID of each cluster's namespace kube-system", func(c *fleet.Cluster) (string, diag.Pos) {
		return c.UID, c.Pos
	})
}

// sameTexts returns a fault for each text of a field of cluster that several clusters have.
// It ignores empty texts.
func sameTexts(clusters []*fleet.Cluster, field, hint string, textOf func(*fleet.Cluster) (string, diag.Pos)) error {
	var faults diag.List
	byText := map[string][]*fleet.Cluster{}
	for _, c := range clusters {
		text, _ := textOf(c)
		byText[text] = append(byText[text], c)
	}
	delete(byText, "")
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		same := byText[text]
		if len(same) < 2 {
			continue
		}
		d := &diag.Diag{Code: diag.CodeSameCluster, Path: "cluster." + field, Clusters: fleet.IDs(same), Hint: hint}
		slices.Sort(d.Clusters)
		names := strings.Join(d.Clusters[:2], " and ")
		both := "both "
		if more := len(same) - 2; more > 0 {
			names, both = fmt.Sprintf("%s, %s and %d more", d.Clusters[0], d.Clusters[1], more), ""
		}
		d.Msg = fmt.Sprintf("clusters %s %shave the %s %q", names, both, field, text)
		for _, c := range same {
			if _, pos := textOf(c); !slices.Contains(d.At, pos) {
				d.At = append(d.At, pos)
			}
		}
		slices.SortFunc(d.At, diag.Pos.Compare)
		faults.Add(d)
	}
	return faults.Err()
}

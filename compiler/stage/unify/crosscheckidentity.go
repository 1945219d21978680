package unify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SameContexts returns a fault for each kubeconfig context that several clusters have.
func SameContexts(clusters []*fleet.Cluster) error {
	return sameTexts(clusters, "cluster.context", "context", "set the kubeconfig context of each cluster", func(c *fleet.Cluster) (string, diag.Pos) {
		return c.KubeContext, c.ContextPos
	})
}

// sameUIDs returns a fault for each UID that several clusters have.
func sameUIDs(clusters []*fleet.Cluster) error {
	return sameTexts(clusters, "cluster.uid", "uid", "set the UID of each cluster's namespace kube-system", func(c *fleet.Cluster) (string, diag.Pos) {
		return c.UID, c.Pos
	})
}

// sameDestinations returns a fault for each destination to which Argo CD would apply the
// bundles of several clusters. Clusters may have different Argo CDs, which know the same name
// or address for different clusters.
func sameDestinations(clusters []*fleet.Cluster) error {
	const hint = "set the cluster.name or gitops.argocd.server of each cluster; or gitops.argocd.context, if each has its own Argo CD"
	return sameTexts(clusters, "gitops.argocd", "destination", hint, func(c *fleet.Cluster) (string, diag.Pos) {
		a := c.GitOps.ArgoCD
		to, in := cmp.Or(a.Server, c.Name), cmp.Or(a.Context, c.KubeContext)
		isOwn := in == "" && (to == "in-cluster" || strings.HasPrefix(to, "https://kubernetes.default.svc"))
		if to == "" || isOwn || a.RepoURL == "" || !slices.Contains(c.GitOps.Layouts, fleet.ArgoLayout) {
			return "", c.Pos
		}
		return strings.Join([]string{to, in, a.Namespace, a.RepoURL, a.TargetRevision, a.Prefix}, separator), c.Pos
	})
}

// separator ends the part of a text of sameTexts that its fault shows.
const separator = "\x00"

// sameTexts returns a fault for each text of a field that several clusters have. It ignores
// empty texts.
func sameTexts(clusters []*fleet.Cluster, path, noun, hint string, textOf func(*fleet.Cluster) (string, diag.Pos)) error {
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
		d := &diag.Diag{Code: diag.CodeSameCluster, Path: path, Clusters: fleet.IDs(same), Hint: hint}
		slices.Sort(d.Clusters)
		names := strings.Join(d.Clusters[:2], " and ")
		both := "both "
		if more := len(same) - 2; more > 0 {
			names, both = fmt.Sprintf("%s, %s and %d more", d.Clusters[0], d.Clusters[1], more), ""
		}
		shown, _, _ := strings.Cut(text, separator)
		d.Msg = fmt.Sprintf("clusters %s %shave the %s %q", names, both, noun, shown)
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

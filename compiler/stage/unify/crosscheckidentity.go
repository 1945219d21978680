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

// An identity is a field whose text several clusters must not share.
type identity struct {
	word             string // all layers that set the field contain it
	path, noun, hint string
	textOf           func(*fleet.Cluster) (string, diag.Pos)
}

var contexts = identity{
	"context", "cluster.context", "context", "set the kubeconfig context of each cluster",
	func(c *fleet.Cluster) (string, diag.Pos) { return c.KubeContext, c.ContextPos },
}

var identities = []identity{contexts, {
	"uid", "cluster.uid", "uid", "set the UID of each cluster's namespace kube-system",
	func(c *fleet.Cluster) (string, diag.Pos) { return c.UID, c.Pos },
}, {
	"argocd", "gitops.argocd", "destination", "set the cluster.name or gitops.argocd.server of each cluster; or gitops.argocd.context, if each has its own Argo CD",
	destinationOf,
}}

// destinationOf returns where Argo CD would apply the bundle of a cluster. Clusters may have
// different Argo CDs, which know the same name or address for different clusters.
func destinationOf(c *fleet.Cluster) (string, diag.Pos) {
	a := c.GitOps.ArgoCD
	to, in := cmp.Or(a.Server, c.Name), cmp.Or(a.Context, c.KubeContext)
	isOwn := in == "" && (to == "in-cluster" || strings.HasPrefix(to, "https://kubernetes.default.svc"))
	if to == "" || isOwn || a.RepoURL == "" || !slices.Contains(c.GitOps.Layouts, fleet.ArgoLayout) {
		return "", c.Pos
	}
	return strings.Join([]string{to, in, a.Namespace, a.RepoURL, a.TargetRevision, a.Prefix}, separator), c.Pos
}

// SameContexts returns a fault for each kubeconfig context that several clusters have.
func SameContexts(clusters []*fleet.Cluster) error { return contexts.check(clusters) }

// IdentityWords returns search words: the layers of any cluster that shares a context, UID or
// destination with one of the clusters contain at least one of them.
func IdentityWords(clusters []*fleet.Cluster) []string {
	used := diag.Filter(identities, func(i identity) bool {
		return slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool {
			text, _ := i.textOf(c)
			return text != ""
		})
	})
	return diag.Each(used, func(i identity) string { return i.word })
}

// separator ends the part of a text of an identity that its fault shows.
const separator = "\x00"

// check returns a fault for each text of the field that several clusters have. It ignores
// empty texts.
func (i identity) check(clusters []*fleet.Cluster) error {
	var faults diag.List
	byText := map[string][]*fleet.Cluster{}
	for _, c := range clusters {
		text, _ := i.textOf(c)
		byText[text] = append(byText[text], c)
	}
	delete(byText, "")
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		same := byText[text]
		if len(same) < 2 {
			continue
		}
		d := &diag.Diag{Code: diag.CodeSameCluster, Path: i.path, Clusters: fleet.IDs(same), Hint: i.hint}
		slices.Sort(d.Clusters)
		names := strings.Join(d.Clusters[:2], " and ")
		both := "both "
		if more := len(same) - 2; more > 0 {
			names, both = fmt.Sprintf("%s, %s and %d more", d.Clusters[0], d.Clusters[1], more), ""
		}
		shown, _, _ := strings.Cut(text, separator)
		d.Msg = fmt.Sprintf("clusters %s %shave the %s %q", names, both, i.noun, shown)
		for _, c := range same {
			if _, pos := i.textOf(c); !slices.Contains(d.At, pos) {
				d.At = append(d.At, pos)
			}
		}
		slices.SortFunc(d.At, diag.Pos.Compare)
		faults.Add(d)
	}
	return faults.Err()
}

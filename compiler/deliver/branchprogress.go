package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// connection returns the kubeconfig context in which the Kustomizations or Applications of a
// cluster are, and their namespaces.
func (r *BranchRollout) connection(c *fleet.Cluster) (kubeContext string, n export.GitOpsNamespaces) {
	if r.Layout == fleet.ArgoLayout {
		return cmp.Or(c.GitOps.ArgoCD.Context, c.KubeContext), export.GitOpsNamespaces{ArgoCD: c.GitOps.ArgoCD.Namespace}
	}
	return c.KubeContext, export.GitOpsNamespaces{Flux: c.GitOps.Flux.Namespace}
}

// connect prepares the connections to the clusters. Each is made once, when it is needed.
func (r *BranchRollout) connect(ctx context.Context) {
	r.sources = map[string]func() (*cluster.Cluster, error){}
	for _, c := range r.Fleet.Clusters {
		kubeContext, _ := r.connection(c)
		if r.sources[kubeContext] != nil {
			continue
		}
		r.sources[kubeContext] = sync.OnceValues(func() (*cluster.Cluster, error) {
			if kubeContext == c.KubeContext {
				s := connectTo(ctx, c, r.options.Access)
				return s.Live, s.Err
			}
			return cluster.Connect(ctx, cluster.Address{Access: r.options.Access, Context: kubeContext})
		})
	}
}

// readClusters reads the Kustomizations or Applications of clusters.
func (r *BranchRollout) readClusters(ctx context.Context, clusters []*fleet.Cluster) error {
	type place struct {
		kubeContext string
		export.GitOpsNamespaces
	}
	var places par.ResultMemo[place, map[string][]export.GitOpsObject] // clusters may share one
	return par.ForEach(ctx, readAtATime, len(clusters), func(ctx context.Context, i int) error {
		c := clusters[i]
		f := r.followers[c.ID]
		kubeContext, namespaces := r.connection(c)
		if kubeContext == "" {
			f.err = noContext(c)
			return nil
		}
		live, err := r.sources[kubeContext]()
		if live != nil && err == nil {
			var objects map[string][]export.GitOpsObject
			objects, err = places.Get(place{kubeContext, namespaces}, func() (map[string][]export.GitOpsObject, error) {
				return export.ReadGitOps(ctx, live, namespaces)
			})
			f.objects = objects[c.ID]
		}
		f.err, f.isLost = r.contextFault(c, err), live == nil && !errors.Is(err, cluster.ErrNoContext)
		return ctx.Err()
	})
}

// contextFault adds a cluster to an error of its connection, and the position of the context
// if the kubeconfig does not have it.
func (r *BranchRollout) contextFault(c *fleet.Cluster, err error) error {
	if d, ok := errors.AsType[*diag.Diag](err); ok && errors.Is(err, cluster.ErrNoContext) {
		path := "cluster.context"
		if r.Layout == fleet.ArgoLayout && c.GitOps.ArgoCD.Context != "" {
			path = "gitops.argocd.context"
		}
		return &diag.Diag{Code: d.Code, At: []diag.Pos{c.Pos}, Clusters: []string{c.ID}, Path: path, Msg: d.Msg, Hint: d.Hint, Cause: d.Cause}
	}
	return diag.In(c.ID, err)
}

// readReports reads the reports of clusters.
func (r *BranchRollout) readReports(ctx context.Context, clusters []*fleet.Cluster) error {
	branches := diag.Each(clusters, func(c *fleet.Cluster) string { return export.GitOpsReportBranch(r.options.Reports.Branch, c.ID) })
	files, err := r.options.Reports.Remote.Files(ctx, branches, export.GitOpsReportFile, export.MaxGitOpsReport)
	if err != nil {
		return err
	}
	now := r.options.now()
	for i, c := range clusters {
		f := r.followers[c.ID]
		file, ok := files[branches[i]]
		if !ok && now.Sub(f.changed) <= r.options.ReportAge {
			continue // a new cluster needs time for its first report
		}
		if !ok {
			f.isLost, f.err = true, &diag.Diag{
				Code: diag.CodeClusterReport, Clusters: []string{c.ID},
				Msg:  "the cluster has pushed no report: there is no branch " + branches[i],
				Hint: "run fleetc rollout report in the cluster",
			}
			continue
		}
		if file.Err != nil {
			f.err = &diag.Diag{
				Code: diag.CodeClusterReport, Clusters: []string{c.ID},
				Msg:   "the branch " + branches[i] + " with its report cannot be read: " + diag.Brief(file.Err),
				Hint:  "find out what pushes to the branch; fleetc rollout report writes a new report",
				Cause: file.Err,
			}
			continue
		}
		report, err := export.ParseGitOpsReport(file.Data, c.ID, now)
		if err != nil {
			f.err = err
			continue
		}
		if age := now.Sub(report.Time); age > r.options.ReportAge {
			f.isLost, f.err = true, &diag.Diag{
				Code:     diag.CodeClusterReport,
				Clusters: []string{c.ID}, Msg: fmt.Sprintf("its last report is from %s, more than %s ago", report.Time.UTC().Format(time.RFC3339), r.options.ReportAge),
				Hint: "check that fleetc rollout report runs in the cluster; --report-age allows older reports",
			}
		}
		f.objects, f.reported = report.Objects, report.Time
	}
	return nil
}

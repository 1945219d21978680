package deliver

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// GitOpsReportOptions say what a report is about, and where it is pushed.
type GitOpsReportOptions struct {
	Address    cluster.Address // of the cluster that runs Flux or Argo CD
	Namespaces export.GitOpsNamespaces
	Open       func() (*export.Remote, error) // opens the repository of the reports
	Branch     string                         // the reports are in branches below this name
}

// PushReports reads the Kustomizations or Applications of clusters, and pushes a report for
// each. It writes nothing to a cluster, and needs no files of the fleet. The error has the
// faults of clusters without a report, and of those without any object, whose report is
// pushed: a new cluster has none for a while.
func PushReports(ctx context.Context, o GitOpsReportOptions, ids []string) ([]export.GitOpsReport, error) {
	var faults diag.List
	for _, id := range ids {
		if !fs.ValidPath(id) || id == "." {
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: fmt.Sprintf("%q is not the ID of a cluster", diag.Visible(id, diag.MaxText)), Hint: "see fleetc list"})
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	remote, err := o.Open() // to find a mistake in the address before the cluster is read
	if err != nil {
		return nil, err
	}
	_ = remote.Close() // a temporary directory
	live, err := cluster.Connect(ctx, o.Address)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	now := RolloutOptions{}.now() // before the objects are read
	objects, err := export.ReadGitOps(ctx, live, o.Namespaces)
	if err != nil {
		return nil, err
	}
	var reports []export.GitOpsReport
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			reports = append(reports, export.NewGitOpsReport(id, now, objects[id]))
		}
		seen[id] = true
	}
	pushed, err := o.pushAll(ctx, reports)
	if ctx.Err() != nil {
		return pushed, ctx.Err()
	}
	faults.Add(err)
	for _, report := range reports {
		if len(report.Objects) == 0 {
			faults.Add(diag.In(report.Cluster, &diag.Diag{
				Code: diag.CodeNoMatch,
				Msg:  fmt.Sprintf("namespace %s has no Kustomization of fleetc for the cluster, and namespace %s no Application", o.Namespaces.Flux, o.Namespaces.ArgoCD),
				Hint: "compare the ID with fleetc list, and pass --namespace if they are elsewhere",
			}))
		}
	}
	return pushed, faults.Err()
}

// reportsAtATime is the number of reports that are pushed at the same time. A push is a few
// requests that wait for the server.
const reportsAtATime = 8

// pushAll pushes the reports, and returns those that were pushed.
func (o *GitOpsReportOptions) pushAll(ctx context.Context, reports []export.GitOpsReport) (pushed []export.GitOpsReport, err error) {
	var faults diag.List
	i := 0
	for _, err := range par.Map(ctx, reportsAtATime, len(reports), func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, o.push(ctx, reports[i])
	}) {
		faults.Add(diag.In(reports[i].Cluster, err))
		if err == nil {
			pushed = append(pushed, reports[i])
		}
		i++
	}
	return pushed, faults.Err()
}

// push pushes a report to its branch.
func (o *GitOpsReportOptions) push(ctx context.Context, report export.GitOpsReport) error {
	text, err := report.Encode()
	if err != nil {
		return err
	}
	remote, err := o.Open() // a Remote makes one push at a time
	if err != nil {
		return err
	}
	defer remote.Close()
	_, err = remote.Push(ctx, false, export.BranchUpdate{
		Branch: export.GitOpsReportBranch(o.Branch, report.Cluster), Detached: true,
		Write: func(_ context.Context, dir, _ string) (export.BranchChange, error) {
			err := os.WriteFile(filepath.Join(dir, export.GitOpsReportFile), text, 0o644)
			return export.BranchChange{Files: []string{export.GitOpsReportFile}, Message: "fleetc: report of " + report.Cluster + "\n\n[skip ci]\n"}, err
		},
	})
	return err
}

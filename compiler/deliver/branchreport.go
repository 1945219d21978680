package deliver

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export/branch"
	"github.com/fleetc/fleetc/compiler/deliver/gitops"
)

// ReportOptions say what a report is about, and where it is pushed.
type ReportOptions struct {
	Address    cluster.Address // of the cluster that runs Flux or Argo CD
	Namespaces gitops.Namespaces
	Remote     *branch.Remote
	Branch     string // the reports are in branches below this name
}

// PushReports reads the Kustomizations or Applications of clusters, and pushes a report for
// each. It writes nothing to a cluster, and needs no files of the fleet. The error has the
// faults of clusters without a report, and of those without any object, whose report is
// pushed: a new cluster has none for a while.
func PushReports(ctx context.Context, o ReportOptions, ids []string) ([]gitops.Report, error) {
	var faults diag.List
	for _, id := range ids {
		if !fs.ValidPath(id) || id == "." {
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: fmt.Sprintf("%q is not the ID of a cluster", diag.Visible(id, diag.MaxText)), Hint: "see fleetc list"})
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	live, err := cluster.Connect(ctx, o.Address)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	now := RolloutOptions{}.now() // before the objects are read
	objects, err := gitops.Read(ctx, live, o.Namespaces)
	if err != nil {
		return nil, err
	}
	var reports []gitops.Report
	for _, id := range ids {
		report := gitops.NewReport(id, now, objects[id])
		err := o.push(ctx, report)
		if ctx.Err() != nil {
			return reports, ctx.Err()
		}
		faults.Add(diag.In(id, err))
		if err == nil {
			reports = append(reports, report)
		}
		if len(objects[id]) == 0 {
			faults.Add(diag.In(id, &diag.Diag{
				Code: diag.CodeNoMatch,
				Msg:  fmt.Sprintf("namespace %s has no Kustomization of fleetc for the cluster, and namespace %s no Application", o.Namespaces.Flux, o.Namespaces.ArgoCD),
				Hint: "compare the ID with fleetc list, and pass --namespace if they are elsewhere",
			}))
		}
	}
	return reports, faults.Err()
}

// push pushes a report to its branch.
func (o *ReportOptions) push(ctx context.Context, report gitops.Report) error {
	text, err := report.Encode()
	if err != nil {
		return err
	}
	_, err = o.Remote.Push(ctx, false, branch.Update{
		Branch: gitops.ReportBranch(o.Branch, report.Cluster), Detached: true,
		Write: func(_ context.Context, dir, _ string) (branch.Change, error) {
			err := os.WriteFile(filepath.Join(dir, gitops.ReportFile), text, 0o644)
			return branch.Change{Files: []string{gitops.ReportFile}, Message: "fleetc: report of " + report.Cluster + "\n\n[skip ci]\n"}, err
		},
	})
	return err
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/spf13/cobra"
)

const rolloutReportLong = `report pushes the state of a cluster's Kustomizations of Flux or Applications of
Argo CD to a git repository, for fleetc export --rollout --reports. It is for
clusters that CI cannot reach: run it in the cluster, for example every five
minutes by a CronJob.

The report of the cluster prod/eu-1 is the file report.json in the branch
fleetc-reports/prod/eu-1.report, which has one commit. With Argo CD, run the
command in the cluster of Argo CD, and name the clusters that it manages.

report writes nothing to the cluster, and needs no files of the fleet. In a Pod,
it uses the service account.

The exit status is 0 when the reports are pushed, whatever they say, and 2 when
one is not pushed or a cluster has no Kustomization or Application of fleetc.`

func newRolloutReportCommand(o *options) *cobra.Command {
	var git gitOptions
	var access cluster.Access
	var kubeContext, namespace string
	cmd := &cobra.Command{
		Use:   "report CLUSTER_ID...",
		Short: "Push the state of Flux or Argo CD, for clusters that CI cannot reach",
		Long:  rolloutReportLong,
		Example: `  fleetc rollout report prod/eu-1 --git https://github.com/example/reports
  fleetc rollout report prod/eu-1 --git git@github.com:example/reports --context eu-1`,
		ValidArgsFunction: clusterArgs(o),
		Args:              argCount(1, math.MaxInt, "rollout report needs the ID of a cluster", "name the cluster in which it runs, as in prod/eu-1"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			r := deliver.GitOpsReportOptions{Branch: git.branch}
			switch {
			case git.address == "":
				return &diag.Diag{Code: diag.CodeArguments, Msg: "rollout report needs a repository for the report", Hint: "pass --git URL"}
			case o.offline:
				return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--git needs the network, but --offline is set", Hint: "leave --offline out"}
			}
			if err := cmp.Or(checkBranchPrefix("branch", git.branch), completeAccess(o, &access)); err != nil {
				return err
			}
			r.Address = cluster.Address{Access: access, Context: kubeContext, InCluster: !cmd.Flags().Changed("context")}
			r.Namespaces = export.GitOpsNamespaces{Flux: cmp.Or(namespace, "flux-system"), ArgoCD: cmp.Or(namespace, "argocd")}
			r.Open = func() (*export.Remote, error) { return export.OpenRemote(cmd.Context(), git.address, o.dir) }
			reports, err := deliver.PushReports(cmd.Context(), r, ids)
			if err != nil && reports == nil {
				return err
			}
			return cmp.Or(writeResult(cmd, o, map[string]any{"reports": reports}, func(w io.Writer) { printReports(w, reports, git.branch) }), err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&git.address, "git", "", "`URL` or path of the git repository for the reports")
	f.StringVar(&git.branch, "branch", defaultReports, "the reports are in branches below this `name`")
	f.StringVar(&kubeContext, "context", "", "`context` of the kubeconfig (default: the service account of the Pod)")
	f.StringVar(&namespace, "namespace", "", "`namespace` of the Kustomizations or Applications (default: flux-system and argocd)")
	accessFlags(cmd, &access)
	outputFlag(cmd, "text", "json")
	return cmd
}

// printReports prints the reports that were pushed.
func printReports(w io.Writer, reports []export.GitOpsReport, prefix string) {
	for _, r := range reports {
		n := 0
		for _, o := range r.Objects {
			if o.State == export.GitOpsReady {
				n++
			}
		}
		fmt.Fprintf(w, "%s: %d of %s ready, pushed to %s\n", r.Cluster, n, diag.Count(len(r.Objects), "object is", "objects are"), export.GitOpsReportBranch(prefix, r.Cluster))
	}
}

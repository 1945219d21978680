package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

const importHelmLong = `helm reads the releases that Helm stores in clusters: the values that were set,
the chart, and the rendered objects. It writes nothing to the clusters.

--context gives each cluster a context of the kubeconfig, with an ID that may
have directories for layers: prod/eu=admin@prod-eu. Without an ID, the context
is the ID.

A chart is searched in the repositories of helm repo add and of --repo: the
first one that has the same templates under the same version is pinned.
Otherwise the chart is restored from the record, without the comments of its
values. Helm does not store the dependencies of a chart: give such a chart with
--chart or --charts.

A release is proven when the fleet renders the objects that Helm stored.`

const importHelmExample = `  fleetc import helm --context dev --context prod/eu=prod-eu --context prod/us=prod-us
  fleetc import helm --context dev --namespace web --repo https://charts.jetstack.io
  fleetc import helm --context dev --dry-run -o json`

func newImportHelmCommand(o *options) *cobra.Command {
	var flags importFlags
	var opts importer.HelmOptions
	var contexts []string
	cmd := &cobra.Command{
		Use:     "helm --context [ID=]CONTEXT",
		Short:   "Import the Helm releases of clusters",
		Long:    importHelmLong,
		Example: importHelmExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opts.Work, err = os.MkdirTemp("", "fleetc-import-"); err != nil {
				return err
			}
			defer os.RemoveAll(opts.Work)
			return flags.run(cmd, o, func(c *compiler.Compiler) (*importer.Model, error) {
				if len(contexts) == 0 {
					return nil, &diag.Diag{Code: diag.CodeArguments, Msg: "no context is named", Hint: "write --context CONTEXT, or --context ID=CONTEXT"}
				}
				err := completeAccess(o, &opts.Access)
				if err != nil {
					return nil, err
				}
				if opts.Clusters, err = importer.ParseClusters(contexts, "--context prod/eu=admin@prod-eu", importer.IDOf); err != nil {
					return nil, err
				}
				if cmd.Flags().Changed("kubernetes") {
					opts.Kubernetes = flags.kubernetes
				}
				opts.Charts = c.Source(opts.Work)
				return importer.ReadHelmReleases(cmd.Context(), opts)
			})
		},
	}
	flags.add(cmd, importer.HelmProgram)
	flags.addCharts(cmd)
	version := cmd.Flags().Lookup("kubernetes")
	version.Usage, version.DefValue = "`version` of Kubernetes of the clusters (default: their own)", ""
	accessFlags(cmd, &opts.Access)
	cmd.Flags().StringArrayVar(&contexts, "context", nil, "`[ID=]CONTEXT`: a cluster's context of the kubeconfig; may be repeated")
	cmd.Flags().StringArrayVarP(&opts.Namespaces, "namespace", "n", nil, "read the releases of this `namespace` only; may be repeated")
	cmd.Flags().StringArrayVar(&opts.Repositories, "repo", nil, "`URL` of a repository in which charts are searched; may be repeated")
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/fleetc/fleetc/compiler/edit/importer/argocd"
)

const importArgoCDLong = `argocd reads the Applications and ApplicationSets in a repository, without a
cluster. It expands the generators list, git, clusters, matrix and merge, and
computes values and objects as Argo CD does: charts, kustomizations and
directories of manifests.

--cluster gives the destination of Applications, by name or address, an ID that
may have directories for layers: prod/eu=https://eu.example.com. Without it,
each destination is a cluster, and https://kubernetes.default.svc is in-cluster.

A chart of the repository that makes Applications is rendered, and they are
imported. --app-of-apps names such a chart that no Application names.

The paths of sources are directories of this repository, whatever their repoURL
says. Charts of other repositories are fetched and pinned; --chart and --charts
give copies.`

const importArgoCDExample = `  fleetc import argocd ../apps
  fleetc import argocd ../apps --cluster dev=in-cluster --cluster prod/eu=https://eu.example.com
  fleetc import argocd ../argocd-example-apps --app-of-apps apps
  fleetc import argocd ../apps --charts ../charts -o markdown > proof.md`

func newImportArgoCDCommand(o *options) *cobra.Command {
	var flags importFlags
	var clusters, roots []string
	cmd := &cobra.Command{
		Use:               "argocd DIR",
		Short:             "Import the Applications of Argo CD",
		Long:              importArgoCDLong,
		Example:           importArgoCDExample,
		Args:              exactlyOneArg("one directory of a repository"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, o, func(c *compiler.Compiler) (*importer.Model, error) {
				destinations, err := importer.ParseClusters(clusters, "--cluster prod/eu=https://eu.example.com", nil)
				if err != nil {
					return nil, err
				}
				return argocd.Read(cmd.Context(), argocd.Options{
					Dir: o.path(args[0]), Clusters: destinations, Kubernetes: flags.kubernetes, ProveWith: flags.ProveWith, AppOfApps: roots, Source: c.Source,
				})
			})
		},
	}
	flags.add(cmd, importer.HelmProgram, importer.KustomizeProgram)
	flags.addCharts(cmd)
	cmd.Flags().StringArrayVar(&clusters, "cluster", nil, "`ID=DESTINATION`: a cluster and the name or address of its destination; may be repeated")
	cmd.Flags().StringArrayVar(&roots, "app-of-apps", nil, "`directory` in DIR with a chart that creates Applications; may be repeated")
	_ = cmd.MarkFlagDirname("app-of-apps")
	return cmd
}

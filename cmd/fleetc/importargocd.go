package main

import (
	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer/argocd"
)

const importArgoCDLong = `argocd reads the Applications and ApplicationSets in a repository, without a cluster.
It expands the generators list, git, clusters, matrix and merge, and computes values
and objects as Argo CD does: charts, kustomizations and directories of manifests.

--cluster gives the destination of Applications, by name or address, an ID that may
have directories for layers: prod/eu=https://eu.example.com. Without it, each
destination is a cluster, and https://kubernetes.default.svc is in-cluster.

A chart of the repository that makes Applications is rendered, and they are imported.
--app-of-apps names such a chart that no Application names.

The paths of sources are directories of this repository, whatever their repoURL says.
Charts of other repositories are fetched and pinned; --chart and --charts give copies.`

const importArgoCDExample = `  fleetc import argocd ../apps
  fleetc import argocd ../apps --cluster dev=in-cluster --cluster prod/eu=https://eu.example.com
  fleetc import argocd ../argocd-example-apps --app-of-apps apps
  fleetc import argocd ../apps --charts ../charts -o markdown > proof.md`

func newImportArgoCDCommand(o *options) *cobra.Command {
	var flags importFlags
	var clusters, roots []string
	cmd := &cobra.Command{
		Use:     "argocd DIR",
		Short:   "Import the Applications of Argo CD",
		Long:    importArgoCDLong,
		Example: importArgoCDExample,
		Args:    exactlyOneArg("one directory of a repository"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.resolve(o); err != nil {
				return err
			}
			c := o.compiler()
			opts := argocd.Options{Dir: o.path(args[0]), Kubernetes: flags.kubernetes, AppOfApps: roots, Source: c.Source}
			seen := map[string]bool{}
			for _, text := range clusters {
				d, err := argocd.ParseDestination(text)
				if err != nil {
					return err
				}
				if seen[d.ID] {
					return &diag.Diag{Msg: "two clusters are called " + d.ID, Hint: "give each cluster another ID"}
				}
				seen[d.ID] = true
				opts.Clusters = append(opts.Clusters, d)
			}
			if _, err := c.Module(); err != nil {
				return err
			}
			model, err := argocd.Read(cmd.Context(), opts)
			if err != nil {
				return err
			}
			return runImport(cmd, o, model, &flags)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&clusters, "cluster", nil, "`ID=DESTINATION`: a cluster and the name or address of its destination; may be repeated")
	cmd.Flags().StringArrayVar(&roots, "app-of-apps", nil, "`directory` in DIR with a chart that makes Applications; may be repeated")
	_ = cmd.MarkFlagDirname("app-of-apps")
	return cmd
}

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

const importArgoCDLong = `argocd reads the Applications and ApplicationSets in a repository, without a
cluster. It expands the generators list, git, clusters, matrix and merge, and
computes values and objects as Argo CD does: charts, kustomizations and
directories of manifests.

Generators for clusters need the cluster Secrets of Argo CD: those in the
repository, or in the file of --cluster-secrets. Their names, addresses, labels
and annotations are used, and their credentials are not. The exit status is 1
when a generator cannot be expanded, or an Application is left out.

--cluster gives the destination of Applications, by name or address, an ID that
may have directories for layers: prod/eu=https://eu.example.com. Without it,
each destination is a cluster, and https://kubernetes.default.svc is in-cluster.

A chart of the repository that makes Applications is rendered, and they are
imported. --app-of-apps names such a chart that no Application names.

The paths of sources are directories of this repository, whatever their repoURL
says. Charts of other repositories are fetched and pinned; --chart and --charts
give copies. Remote resources of kustomizations are fetched, and their objects
are then in the fleet.`

const importArgoCDExample = `  fleetc import argocd ../apps
  fleetc import argocd ../apps --cluster dev=in-cluster --cluster prod/eu=https://eu.example.com
  kubectl get secret -n argocd -l argocd.argoproj.io/secret-type=cluster -o yaml > clusters.yaml
  fleetc import argocd ../apps --cluster-secrets clusters.yaml
  fleetc import argocd ../argocd-example-apps --app-of-apps apps
  fleetc import argocd ../apps --charts ../charts -o markdown > proof.md`

func newImportArgoCDCommand(o *options) *cobra.Command {
	var flags importFlags
	var clusters, roots []string
	var secrets string
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
				opts := importer.ArgoCDOptions{
					Dir: o.path(args[0]), Clusters: destinations, Kubernetes: flags.kubernetes, ProveWith: flags.ProveWith, AppOfApps: roots, Source: c.Source,
				}
				if secrets != "" {
					if opts.Secrets, err = clusterSecrets(o.path(secrets)); err != nil {
						return nil, err
					}
				}
				return importer.ReadArgoCD(cmd.Context(), opts)
			})
		},
	}
	flags.add(cmd, importer.HelmProgram, importer.KustomizeProgram)
	flags.addCharts(cmd)
	cmd.Flags().StringArrayVar(&clusters, "cluster", nil, "`ID=DESTINATION`: a cluster and the name or address of its destination; may be repeated")
	cmd.Flags().StringVar(&secrets, "cluster-secrets", "", "`file` with the cluster Secrets of Argo CD, as kubectl get secret -o yaml prints them (default: those in DIR)")
	cmd.Flags().StringArrayVar(&roots, "app-of-apps", nil, "`directory` in DIR with a chart that creates Applications; may be repeated")
	_ = cmd.MarkFlagFilename("cluster-secrets", "yaml", "yml", "json")
	_ = cmd.MarkFlagDirname("app-of-apps")
	return cmd
}

// clusterSecrets reads a file with cluster Secrets.
func clusterSecrets(file string) (*importer.ArgoCDSecrets, error) {
	const most = 16 << 20
	in, err := os.Open(file)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeImportFile, Msg: file + " cannot be read", Hint: "name a file in which kubectl wrote the cluster Secrets", Cause: err}
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && len(data) > most {
		err = &diag.Diag{Code: diag.CodeImportFile, Msg: fmt.Sprintf("%s is larger than %d MiB", file, most>>20), Hint: "name a file that has only the cluster Secrets"}
	}
	return &importer.ArgoCDSecrets{File: file, Data: data}, err
}

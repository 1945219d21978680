package main

import (
	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

const importHelmfileLong = `helmfile reads a helmfile, or the helmfiles of a directory, without a cluster:
it evaluates their templates, bases, environments and sub-helmfiles, and merges
values as helmfile and Helm do. Files must be in one git repository.

Each environment is a cluster. --environment names one, which is also the ID of
the cluster; --cluster gives an environment another ID that may have directories
for layers: prod/eu=production-eu. Without them, the environment default is
imported.

Templates have no access to environment variables: --env gives the value of one
that they read. No program runs, and no file is decrypted: values that SOPS
encrypted, and references of vals, become secrets of the fleet.

--state-values-set, --state-values-set-string and --state-values-file override
values of all environments, as the flags of helmfile do.

Charts are fetched and pinned; --chart and --charts give copies of charts.`

const importHelmfileExample = `  fleetc import helmfile ./helmfile.yaml --environment dev --environment prod
  fleetc import helmfile ../infra --cluster dev=dev --cluster prod/eu=prod-eu --cluster prod/us=prod-us
  fleetc import helmfile ../infra --environment prod --env DOMAIN=example.com -o markdown > proof.md`

func newImportHelmfileCommand(o *options) *cobra.Command {
	var flags importFlags
	var clusters, environments, variables, set, setString, files []string
	cmd := &cobra.Command{
		Use:               "helmfile FILE --environment NAME",
		Short:             "Import the releases of a helmfile",
		Long:              importHelmfileLong,
		Example:           importHelmfileExample,
		Args:              exactlyOneArg("one helmfile, or a directory with helmfiles"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, o, func(*compiler.Compiler) (*importer.Model, error) {
				all := append(clusters, environments...)
				if len(all) == 0 {
					all = []string{"default"}
				}
				opts := importer.HelmfileOptions{File: o.path(args[0]), Kubernetes: flags.kubernetes, ProveWith: flags.ProveWith}
				var err error
				if opts.Clusters, err = importer.ParseClusters(all, "--cluster prod/eu=production", importer.IDOf); err != nil {
					return nil, err
				}
				if opts.Variables, err = parsePairs("env", variables, true, "write NAME=VALUE"); err != nil {
					return nil, err
				}
				if opts.Set, err = importer.ParseHelmfileSet(set, setString); err != nil {
					return nil, err
				}
				for _, file := range files {
					opts.ValueFiles = append(opts.ValueFiles, o.path(file))
				}
				return importer.ReadHelmfile(cmd.Context(), opts)
			})
		},
	}
	flags.add(cmd, importer.HelmProgram, importer.HelmfileProgram)
	flags.addCharts(cmd)
	cmd.Flags().StringArrayVar(&clusters, "cluster", nil, "`ID=ENVIRONMENT`: a cluster and its environment; may be repeated")
	cmd.Flags().StringArrayVarP(&environments, "environment", "e", nil, "`name` of an environment and of its cluster; may be repeated")
	cmd.Flags().StringArrayVar(&variables, "env", nil, "`NAME=VALUE`: an environment variable that templates read; may be repeated")
	cmd.Flags().StringArrayVar(&set, "state-values-set", nil, "`NAME=VALUE[,...]`: values of the environment, as for helmfile; may be repeated")
	cmd.Flags().StringArrayVar(&setString, "state-values-set-string", nil, "`NAME=VALUE[,...]`: values of the environment that are strings; may be repeated")
	cmd.Flags().StringArrayVar(&files, "state-values-file", nil, "`file` of the repository with values of the environment; may be repeated")
	_ = cmd.MarkFlagFilename("state-values-file")
	return cmd
}

package main

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/spf13/cobra"
)

const importLong = `import writes a fleet from the files of another tool, or from the releases in
clusters, and proves that it renders the same objects. It finds the layers by
itself: a field that is equal in all clusters goes to the root, one that is
equal in a directory of clusters to that layer, the rest to the cluster. Strings
that differ by a fact of the cluster become references to it.

Both sides are rendered and compared, release by release: the expected side by
the engines of fleetc, or by the programs of --prove-with. The report lists each
release, each field that is not carried with what to do, and the mistakes in the
files. The exit status is 1 when a release is not proven or not imported.

The fleet changes only when all of it can be written. Importing again updates
the files that were not edited, and shows the others.`

func newImportCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:   "import",
		Short: "Write a fleet from the files of another tool, with a proof",
		Long:  importLong,
		Example: `  fleetc init example.com/infra
  fleetc import flux ../home-ops --cluster main=kubernetes/flux/cluster
  fleetc import argocd ../apps
  fleetc import helmfile ../helmfile.yaml -e dev -e prod
  fleetc import kustomize ../app/overlays/dev ../app/overlays/prod
  fleetc import helm --context dev --context prod/eu=prod-eu`,
	}, newImportFluxCommand(o), newImportArgoCDCommand(o), newImportHelmCommand(o), newImportHelmfileCommand(o), newImportKustomizeCommand(o))
}

const importFluxLong = `flux reads a repository that Flux syncs, without a cluster: it builds the
Kustomizations below the synced directory of each cluster, with their patches,
components and substitutions, and merges the values of HelmReleases. It leaves
out and lists those with a fault, and the exit status is then 1.

--cluster gives each cluster an ID, which may have directories for layers, and
the directory that Flux syncs for it: prod/eu=clusters/eu.

Remote resources of kustomizations are fetched, and their objects are then in
the fleet. One that cannot be fetched is left out and listed.

Charts are fetched and pinned. --chart and --charts give copies of charts whose
repository cannot be reached: a directory or an archive, found as
NAME-VERSION.tgz, NAME/VERSION, NAME or NAME.tgz. --without-charts writes the
fleet nevertheless; the releases of missing charts are then not proven.

Encrypted Secrets stay encrypted; values that HelmReleases take from them become
secrets of the fleet. --variable gives the value of a substitution variable that
is encrypted or not in the repository.`

const importFluxExample = `  fleetc import flux ../home-ops --cluster main=kubernetes/flux/cluster
  fleetc import flux ../infra --cluster staging=clusters/staging --cluster prod/eu=clusters/eu --cluster prod/us=clusters/us
  fleetc import flux ../infra --cluster main=clusters/main --charts ../charts -o markdown > proof.md`

// importFlags are the flags that formats share.
type importFlags struct {
	importer.Options
	charts     []string
	kubernetes string
	programs   []string // of --prove-with
	proofs     []string // that --prove-with takes
}

// add adds the flags of all formats. programs can render the expected side.
func (f *importFlags) add(cmd *cobra.Command, programs ...string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.DryRun, "dry-run", false, "write nothing; only report")
	flags.StringVar(&f.kubernetes, "kubernetes", newestKubernetes, "`version` of Kubernetes of the clusters")
	outputFlag(cmd, "text", "json", "markdown")
	f.proofs = programs
	flags.StringSliceVar(&f.programs, "prove-with", nil, "render the expected side with these `programs`: "+strings.Join(programs, ", ")+" (default: the engines of fleetc)")
	_ = cmd.RegisterFlagCompletionFunc("prove-with", cobra.FixedCompletions(programs, cobra.ShellCompDirectiveNoFileComp))
}

// addCharts adds the flags of formats with charts.
func (f *importFlags) addCharts(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.charts, "chart", nil, "`NAME=DIR`: use this copy of a chart; may be repeated")
	flags.StringVar(&f.Charts, "charts", "", "`directory` with copies of charts")
	flags.BoolVar(&f.WithoutCharts, "without-charts", false, "write releases whose chart cannot be fetched, without a proof")
	_ = cmd.MarkFlagDirname("charts")
}

// parsePairs parses the values NAME=VALUE of a flag. mayBeEmpty says whether VALUE may be empty.
func parsePairs(flag string, texts []string, mayBeEmpty bool, hint string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" && !mayBeEmpty {
			return nil, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--%s does not accept %q", flag, diag.Visible(text, diag.MaxText)), Hint: hint}
		}
		out[name] = value
	}
	return out, nil
}

// newestKubernetes is the default version of imported clusters.
const newestKubernetes = "1.37"

// resolve checks the flags.
func (f *importFlags) resolve(o *options) error {
	if err := kube.CheckVersion(f.kubernetes); err != nil {
		return err
	}
	var err error
	if f.ProveWith, err = importer.ParsePrograms(f.programs, f.proofs); err != nil {
		return err
	}
	if f.Chart, err = parsePairs("chart", f.charts, false, "write NAME=DIR, such as --chart podinfo=../charts/podinfo"); err != nil {
		return err
	}
	for name, dir := range f.Chart {
		f.Chart[name] = o.path(dir)
	}
	if f.Charts != "" {
		f.Charts = o.path(f.Charts)
	}
	return nil
}

func newImportFluxCommand(o *options) *cobra.Command {
	var flags importFlags
	var clusters, variables []string
	cmd := &cobra.Command{
		Use:               "flux DIR --cluster ID=PATH",
		Short:             "Import a repository that Flux syncs",
		Long:              importFluxLong,
		Example:           importFluxExample,
		Args:              exactlyOneArg("one directory of a repository"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, o, func(c *compiler.Compiler) (*importer.Model, error) {
				if len(clusters) == 0 {
					return nil, &diag.Diag{Code: diag.CodeArguments, Msg: "no cluster is named", Hint: "write --cluster ID=PATH, such as --cluster main=clusters/main"}
				}
				opts := importer.FluxOptions{Dir: o.path(args[0]), Kubernetes: flags.kubernetes, ProveWith: flags.ProveWith, Source: c.Source}
				var err error
				if opts.Clusters, err = importer.ParseClusters(clusters, "--cluster prod/eu=clusters/production", nil); err != nil {
					return nil, err
				}
				if opts.Variables, err = parsePairs("variable", variables, true, "write NAME=VALUE"); err != nil {
					return nil, err
				}
				return importer.ReadFlux(cmd.Context(), opts)
			})
		},
	}
	flags.add(cmd, importer.HelmProgram, importer.KustomizeProgram)
	flags.addCharts(cmd)
	cmd.Flags().StringArrayVar(&clusters, "cluster", nil, "`ID=PATH`: a cluster and the directory that Flux syncs for it; may be repeated")
	cmd.Flags().StringArrayVar(&variables, "variable", nil, "`NAME=VALUE`: the value of a substitution variable; may be repeated")
	return cmd
}

// run checks the flags, reads a model, writes its fleet and prints the report.
func (f *importFlags) run(cmd *cobra.Command, o *options, read func(*compiler.Compiler) (*importer.Model, error)) error {
	if err := f.resolve(o); err != nil {
		return err
	}
	c := o.compiler()
	if _, err := c.Module(); err != nil {
		return err
	}
	model, err := read(c)
	if err != nil {
		return err
	}
	report, err := importer.Run(cmd.Context(), c, model, f.Options)
	if err != nil {
		return err
	}
	p := importPrinter{w: cmd.OutOrStdout(), r: report}
	switch o.output {
	case "json":
		err = writeJSON(p.w, report)
	case "markdown":
		p.markdown()
	default:
		p.text()
	}
	return orDifferences(err, !report.Proven)
}

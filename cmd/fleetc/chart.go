package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/spf13/cobra"
)

func newChartCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:   "chart",
		Short: "Pin Helm charts, and keep the pins up to date",
		Example: `  fleetc chart add https://charts.jetstack.io/cert-manager
  fleetc chart outdated
  fleetc chart update cert-manager`,
	}, newChartAddCommand(o), newChartOutdatedCommand(o), newChartUpdateCommand(o), newChartValuesCommand(o), newChartVendorCommand(o), newChartVerifyCommand(o))
}

const chartAddLong = `add pins a chart. It writes environments/charts/<name>/chart.cue, a CUE package
with its repository, name, exact version and the sha256 of its archive. Layers
import the package and unify a release with its #Release. Adding a chart again
moves the pin. chart update moves it too, and shows what changes.

REF is one of

  https://HOST/PATH/NAME         a chart of an HTTP repository; or NAME, --repo
  ALIAS/NAME                     a chart in a repository added with helm repo add
  oci://HOST/PATH/NAME           a chart in a registry
  git+https://HOST/REPO//PATH    a directory of a git repository
  ./PATH                         a chart in this repository, below its root

--version takes a range (^4.11, ">=1.2 <2"), or for git a branch, tag or commit.
add resolves it once; compiling uses the exact pin.

add also fetches and pins the dependencies that Chart.yaml lists and the chart's
charts directory lacks, with the versions in Chart.lock or the newest versions.

With --refresh, add completes packages whose version another program changed,
such as Renovate: it pins the digest, dependencies and schemas of the version
that chart.cue names now, and writes the types of its values. A digest of a
version that did not change stays. The arguments are packages below
environments/charts, or their charts; without arguments, add looks at all of
them. Charts in this repository and in git are always read again.

Credentials come from helm repo add, docker login and git.

The exit status is 0 when the chart is pinned, and 2 when it cannot be fetched
or its package cannot be written. With --refresh, it is also 2 when one of
several packages cannot be completed.`

const chartAddExample = `  fleetc chart add https://charts.jetstack.io/cert-manager --version ^1.16
  fleetc chart add oci://ghcr.io/prometheus-community/charts/kube-prometheus-stack
  fleetc chart add git+https://github.com/example/charts.git//charts/app --version v2.1.0
  fleetc chart add ./charts/app

  # After Renovate changed versions.
  fleetc chart add --refresh`

func newChartAddCommand(o *options) *cobra.Command {
	var req chart.Request
	var name string
	var refresh bool
	cmd := &cobra.Command{
		Use:     "add REF",
		Short:   "Pin a chart",
		Long:    chartAddLong,
		Example: chartAddExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if refresh {
				return nil
			}
			return exactlyOneArg("one reference to a chart")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if refresh {
				return refreshCharts(cmd, o, args)
			}
			req.Ref = args[0]
			added, err := edit.AddChart(cmd.Context(), o.compiler(), req, name)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, added, func(w io.Writer) { addedText(w, added) })
		},
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if !refresh {
			return nil, cobra.ShellCompDirectiveDefault // files
		}
		names, _ := packageArgs(o)(cmd, nil, word)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Flags().StringVar(&req.Version, "version", "", "`range` of versions, or a git ref (default: the newest stable version)")
	cmd.Flags().StringVar(&req.Repo, "repo", "", "`URL` of the chart repository, when REF is only the name of a chart")
	cmd.Flags().StringVar(&name, "name", "", "`name` of the CUE package (default: from the chart's name)")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "complete packages whose version another program changed")
	outputFlag(cmd, "text", "json")
	return cmd
}

// addedText prints a newly pinned chart.
func addedText(w io.Writer, added *edit.AddedChart) {
	fmt.Fprintf(w, "%s %s\n", added.Chart, cmp.Or(added.Version, "-"))
	writePin(w, added)
	fmt.Fprintf(w, "import: %q\n", added.Import)
	// A quoted release name does not shadow the package name.
	release := strings.ReplaceAll(added.Package, "_", "-")
	fmt.Fprintf(w, "use:    releases: %q: %s.#Release & {namespace: ...}\n", release, added.Package)
	writeTypes(w, added)
}

// writePin prints the digests and the file of a pin.
func writePin(w io.Writer, added *edit.AddedChart) {
	if added.Digest != "" {
		fmt.Fprintf(w, "digest: %s\n", added.Digest)
	}
	for _, name := range added.Dependencies {
		fmt.Fprintf(w, "with:   %s\n", name)
	}
	fmt.Fprintf(w, "wrote:  %s\n", added.File)
}

// writeTypes prints what the types of a chart cover.
func writeTypes(w io.Writer, added *edit.AddedChart) {
	fmt.Fprintf(w, "values: %s\n", coverageText(*added.Values))
	writeMissing(w, "open:   ", added.Values.Missing)
	if added.Unpinned != nil {
		fmt.Fprintf(w, "        %s\n", diag.Brief(added.Unpinned))
	}
}

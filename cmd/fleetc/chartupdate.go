package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
	"github.com/spf13/cobra"
)

const chartUpdateLong = `update pins another version of a chart: the newest stable version, or the newest
version in the range of --version. NAME is the package below
environments/charts, or the name of its chart.

Without --in, update changes the default version of the package. All clusters
move, except those whose layers set another version. With --in, update adds the
version to the package and changes or adds one line in the layer:

  releases: "NAME": chart: version: "VERSION"

The clusters of this layer move, and the others stay. If only some clusters of
the layer have the release, update writes the line into the layers below that
have it. If another line selects a version for a cluster of the layer, update
writes nothing. update removes versions that no cluster uses any more from the
package.

update prints what changes:

  - the values of the chart: of those that the fleet sets, - removed, ~ of another
    type, and ! no longer read; of those that it does not set, = with another
    default. --all shows all changes, and + added values
  - the faults that the fleet has after the update, each at the affected line
  - the difference in the rendered objects, without the fields in diff.ignore. A
    change of several clusters appears once, and version labels and checksums
    take one line
  - what to know or do before you merge: what clusters would refuse, objects and
    data that would be lost, new hooks, and changes of the chart that need work

With --live, update also tries the new objects in dry runs on the running
clusters that change, and lists the objects that a cluster refuses. It connects
to clusters as fleetc apply does, and writes nothing there.

update writes the new version even if it causes faults; fleetc vet shows them
again.

The exit status is 0 when the version is written or nothing has to change, also
if the fleet then has faults, and 2 when nothing could be written.`

const chartUpdateExample = `  fleetc chart update ingress_nginx
  fleetc chart update ingress_nginx --version ^4.11 --dry-run
  fleetc chart update ingress_nginx --version 5.0.0 --in dev

  # Try the new version on the running clusters, and change nothing.
  fleetc chart update ingress_nginx --dry-run --live`

func newChartUpdateCommand(o *options) *cobra.Command {
	var req edit.ChartUpdateRequest
	var all, live bool
	var dryRuns query.DryRunAccess
	cmd := &cobra.Command{
		Use:               "update NAME",
		Short:             "Pin another version of a chart",
		Long:              chartUpdateLong,
		Example:           chartUpdateExample,
		Args:              exactlyOneArg("the name of one package of a chart"),
		ValidArgsFunction: packageArgs(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			if live {
				req.Live = &dryRuns
			}
			if err := checkDryRuns(o, &dryRuns, live); err != nil {
				return err
			}
			u, err := edit.UpdateChart(cmd.Context(), o.compiler(), req)
			if err != nil {
				return err
			}
			style := o.style(cmd.OutOrStdout())
			style.All = all
			return writeResult(cmd, o, u, func(w io.Writer) {
				updateText(w, u, req.DryRun, load.FileNames(o.dir), style)
			})
		},
	}
	cmd.Flags().StringVar(&req.Version, "version", "", "`range` of versions, or a git ref (default: the newest stable version)")
	cmd.Flags().StringVar(&req.In, "in", "", "`layer` whose clusters move: its name, or its path below environments")
	cmd.Flags().BoolVar(&live, "live", false, "also try the new objects in dry runs on the running clusters")
	accessFlags(cmd, &dryRuns.Access)
	allowExecFlag(cmd, &dryRuns.AllowExec)
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "print what would change, and write nothing")
	_ = cmd.RegisterFlagCompletionFunc("in", layerArgs(o))
	cmd.Flags().BoolVar(&all, "all", false, "show every value, version label and checksum that changes, and the fields in diff.ignore")
	outputFlag(cmd, "text", "json")
	return cmd
}

// checkDryRuns checks the flags for access to running clusters and completes them.
func checkDryRuns(o *options, d *query.DryRunAccess, live bool) error {
	switch {
	case live:
		return completeAccess(o, &d.Access)
	case d.Kubeconfig != "" || d.Impersonate.User != "":
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--kubeconfig and --as need --live", Hint: "pass --live"}
	case d.AllowExec:
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--allow-exec needs --live", Hint: "pass --live"}
	}
	return nil
}

// packageArgs completes the names of generated packages.
func packageArgs(o *options) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		packages, _ := edit.Packages(o.compiler())
		names := diag.Each(packages, func(p load.Package) string { return p.Name + "\t" + p.Pins[0].Ref.String() })
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// layerArgs completes the names of layers with layers below them.
func layerArgs(o *options) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, _ := edit.LayerNames(o.compiler())
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func updateText(w io.Writer, u *edit.ChartUpdate, dryRun bool, names func(string) string, style diff.Style) {
	if len(u.Files) == 0 {
		fmt.Fprintf(w, "%s %s: nothing to do\n", u.Chart.Name, u.Chart.Version)
		return
	}
	verb := "wrote"
	if dryRun {
		verb = "would write"
	}
	for _, f := range u.Files {
		fmt.Fprintf(w, "%s %s\n", verb, f)
	}
	for _, m := range u.Moves {
		fmt.Fprintf(w, "\n%s: %s -> %s\n", strings.Join(m.Clusters, ", "), cmp.Or(m.OldVersion, "?"), m.NewVersion)
		if m.Unknown != "" {
			fmt.Fprintf(w, "  what changes in its values is not known: %s\n", m.Unknown)
		}
		shown := m.Concern
		if style.All {
			shown = m.Values
		}
		writeChanges(w, shown)
		if n := len(m.Values) - len(shown); n > 0 {
			fmt.Fprintf(w, "  %s not concern the fleet: --all shows them\n", diag.Count(n, "other change does", "other changes do"))
		}
	}
	switch {
	case len(u.Moves) > 0:
	case u.Faulty:
		fmt.Fprint(w, "\nno cluster without faults moves: fleetc vet shows the faults that the fleet had before\n")
	default:
		fmt.Fprint(w, "\nno cluster moves\n")
	}
	if u.Faults != nil {
		fmt.Fprint(w, "\nthe fleet then has faults:\n")
		_ = diag.WriteText(w, u.Faults, names)
	}
	if len(u.Moves) > 0 {
		writeRendered(w, u.Rendered, u.Findings, style)
	}
}

// notCompared is the line below the differences of an update without some clusters.
const notCompared = "clusters with faults are not compared: fleetc vet --render shows the faults\n"

// writeRendered prints what an update changes in the rendered objects.
func writeRendered(w io.Writer, rendered diff.Result, findings []diff.Finding, style diff.Style) {
	fmt.Fprintln(w)
	_ = diff.WriteText(w, rendered, style)
	if len(rendered.NotCompared) > 0 {
		fmt.Fprint(w, notCompared)
	}
	if len(findings) > 0 {
		fmt.Fprintln(w)
		_ = diff.WriteFindings(w, findings, style)
	}
}

// marks are the symbols of changes.
var marks = map[values.ChangeKind]string{
	values.Added: "+", values.Removed: "-", values.Retyped: "~", values.Defaulted: "=", values.Ignored: "!",
}

func writeChanges(w io.Writer, changes []values.Change) {
	const widest = 48
	width := 0
	for _, c := range changes {
		width = max(width, min(len(c.Path), widest))
	}
	for _, c := range changes {
		text := ""
		switch {
		case c.Kind == values.Ignored:
			text = "nothing reads it any more"
		case c.Was != "" && c.Is != "":
			text = brief(c.Was) + " -> " + brief(c.Is)
		default:
			text = brief(c.Was + c.Is)
		}
		if c.Keys > 0 {
			text += ", with " + diag.Count(c.Keys, "value", "values")
		}
		fmt.Fprintf(w, "  %s %-*s  %s\n", marks[c.Kind], width, c.Path, text)
	}
}

// brief shortens a default value.
func brief(text string) string {
	const limit = 60
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}

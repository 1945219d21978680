package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/stage/load"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/spf13/cobra"
)

const compareLong = `compare shows how clusters differ: their cluster fields, releases, charts and
images, every value with the layer and line that set it, and the rendered
objects. If only some clusters set a value, compare shows the chart's default
for the others.

compare A B compares two clusters, and their objects field by field. compare
--all compares all clusters, or the clusters that the patterns select: for each
difference, it lists the clusters with each value, the most common value first.

Text output shows version labels and checksums in one line, and leaves out
objects that differ in nothing else. It counts the fields that diff.ignore of a
cluster leaves out. --full shows all of them.

compare shows contents of Secrets as <secret>, and also other values that equal
a whole value of a Secret in these clusters; in objects, if they have six
characters or more. It does not hide parts of a longer text. Random values that
releases keep (random: keep: true) count as equal.

With --only, compare checks that clusters differ only where a CUE file allows
it. It reports each other difference as a fault, at the line that sets the
value.

The exit status is 0 without differences, 1 with differences, and 2 when a
cluster does not compile. With --only, it is 0 when all differences are allowed,
and 2 when one is not.`

const compareExample = `  fleetc compare prod/us-east-1 prod/eu-1
  fleetc compare --all prod --release 'ingress-*'
  fleetc compare --all --only policies/prod.cue
  fleetc compare --all -o json | jq -r '.values[] | [.release, (.path | join("."))] | @tsv'`

// compareOptions are the flags of compare.
type compareOptions struct {
	all      bool
	releases []string
	only     string
	full     bool
}

func newCompareCommand(o *options) *cobra.Command {
	var flags compareOptions
	cmd := &cobra.Command{
		Use:     "compare {A B | --all [CLUSTER...]}",
		Short:   "Show how clusters differ, and which lines set the values",
		Long:    compareLong,
		Example: compareExample,
		Args: func(_ *cobra.Command, args []string) error {
			if flags.all || len(args) == 2 {
				return nil
			}
			return &diag.Diag{
				Code: diag.CodeArguments,
				Msg:  "compare takes two clusters, not " + diag.Count(len(args), "argument", "arguments"),
				Hint: "run fleetc compare A B, or compare more of them with --all",
			}
		},
		RunE: func(cmd *cobra.Command, args []string) error { return compare(cmd, o, flags, args) },
	}
	cmd.Flags().BoolVar(&flags.all, "all", false, "compare all clusters, or all clusters that the patterns select")
	cmd.Flags().StringArrayVar(&flags.releases, "release", nil, "compare only releases that match this `pattern`; may be repeated")
	cmd.Flags().BoolVar(&flags.full, "full", false, "show every version label and checksum that differs, and the fields in diff.ignore")
	cmd.Flags().StringVar(&flags.only, "only", "", "check that clusters differ only where this CUE `file` allows it")
	_ = cmd.MarkFlagFilename("only", "cue")
	outputFlag(cmd, "text", "markdown", "json")
	selectorFlags(cmd, o)
	return cmd
}

func compare(cmd *cobra.Command, o *options, flags compareOptions, args []string) error {
	c := o.compiler()
	var rules []fleet.DifferenceRule
	if flags.only != "" {
		if cmd.Flags().Changed("output") {
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--only and -o cannot be combined", Hint: "leave out one of them"}
		}
		var err error
		if rules, err = query.DifferenceRules(cmd.Context(), c, o.path(flags.only)); err != nil {
			return err
		}
	}
	loadFleet := c.Load
	if !flags.all {
		loadFleet = func(ctx context.Context, _ ...string) (*compiler.Fleet, error) {
			return query.LoadPair(ctx, c, args[0], args[1])
		}
	}
	f, err := loadFleet(cmd.Context(), args...)
	if err != nil {
		return err
	}
	p := newProgress(cmd, len(f.Clusters))
	if flags.only != "" {
		all, err := c.ClusterIDs()
		if err != nil {
			return err
		}
		allowed, err := query.CheckDifferences(cmd.Context(), f, rules, all, flags.releases, p.step)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, %s: %s, all allowed\n",
			diag.Count(len(f.Clusters), "cluster", "clusters"), diag.Count(len(rules), "rule", "rules"), diag.Count(allowed, "difference", "differences"))
		return err
	}
	found, err := query.Compare(cmd.Context(), f, flags.releases, flags.full || o.output == "json", p.step)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	style := o.style(w)
	style.All = flags.full
	switch o.output {
	case "json":
		err = writeJSON(w, found.Report())
	case "markdown":
		compareMarkdown(w, found, load.FileNames(o.dir), style)
	default:
		compareText(w, found, load.FileNames(o.dir), style)
	}
	return orDifferences(err, !found.Empty())
}

// compareSummary returns the numbers of differences.
func compareSummary(c *query.Comparison) string {
	among := fmt.Sprintf("%d clusters", len(c.Clusters))
	if len(c.Clusters) == 2 {
		among = c.Clusters[0] + " and " + c.Clusters[1]
	}
	ignored := ""
	if n := c.IgnoredCount(); n.Fields > 0 {
		ignored = "; " + n.String()
	}
	if c.Empty() {
		return "no differences between " + among + ignored
	}
	var parts []string
	total := 0
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{len(c.Facts), "fact", "facts"},
		{len(c.Releases), "setting of releases", "settings of releases"},
		{len(c.Charts), "chart", "charts"},
		{len(c.Images), "image", "images"},
		{len(c.Values), "value", "values"},
		{len(c.Objects), "object", "objects"},
	} {
		if part.n > 0 {
			parts = append(parts, diag.Count(part.n, part.one, part.many))
			total += part.n
		}
	}
	verb := " differ between "
	if total == 1 {
		verb = " differs between "
	}
	return strings.Join(parts, ", ") + verb + among + ignored
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/stage/load"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/spf13/cobra"
)

const compareLong = `compare shows how clusters differ: what they say of themselves, their releases,
charts and images, every value with the layer and line that set it, and the
objects that come out. A value that only some clusters set is compared with the
chart's own default in the others.

compare A B compares two clusters, and their objects field by field. compare
--all compares all clusters, or those of the patterns: for each thing that is
not the same everywhere, which clusters have what, the value of the most
clusters first. A text has version labels and checksums in one line, and leaves
out objects that differ in nothing else; --full shows each. Fields that
diff.ignore of one of the clusters leaves out are counted, and shown with --full.

What Secrets hold is shown as <secret>, and so are values that a Secret of these
clusters holds as a whole; not those inside of a longer text of one. Values that releases keep from one
bundle to the next (random: keep: true) count as equal.

With --only, it checks instead that clusters differ only where a file of CUE
allows it, and shows no differences: each that is not allowed is a fault, at the
line that sets the value.`

const compareExample = `  fleetc compare prod/us-east-1 prod/eu-1
  fleetc compare --all prod --release 'ingress-*'
  fleetc compare --all --only policies/prod.cue
  fleetc compare --all -o json | jq -r '.values[] | [.release, .path] | @tsv'`

// compareOptions are the flags of compare.
type compareOptions struct {
	all      bool
	releases []string
	only     string
	output   string
	full     bool
}

func newCompareCommand(o *options) *cobra.Command {
	var flags compareOptions
	cmd := &cobra.Command{
		Use:               "compare {A B | --all [CLUSTER...]}",
		Short:             "Show how clusters differ, and who set what",
		Long:              compareLong,
		Example:           compareExample,
		ValidArgsFunction: clusterArgs(o),
		Args: func(_ *cobra.Command, args []string) error {
			if flags.all || len(args) == 2 {
				return nil
			}
			return &diag.Diag{
				Msg:  "compare takes two clusters, not " + plural(len(args), "argument", "arguments"),
				Hint: "run fleetc compare A B, or compare more of them with --all",
			}
		},
		RunE: func(cmd *cobra.Command, args []string) error { return compare(cmd, o, flags, args) },
	}
	cmd.Flags().BoolVar(&flags.all, "all", false, "compare all clusters, or all of those that the patterns select")
	cmd.Flags().StringArrayVar(&flags.releases, "release", nil, "compare the releases that this `pattern` selects; may be repeated")
	cmd.Flags().BoolVar(&flags.full, "full", false, "show every version label and checksum that differs, and the fields that diff.ignore leaves out")
	cmd.Flags().StringVar(&flags.only, "only", "", "check that clusters differ only where this `file` of CUE allows it")
	_ = cmd.MarkFlagFilename("only", "cue")
	outputFlag(cmd, &flags.output, "text", "markdown", "json")
	selectorFlags(cmd, o)
	return cmd
}

func compare(cmd *cobra.Command, o *options, flags compareOptions, args []string) error {
	c := o.compiler()
	var rules []fleet.DifferenceRule
	if flags.only != "" {
		if cmd.Flags().Changed("output") {
			return &diag.Diag{Msg: "--only shows no differences, and has no output format", Hint: "leave one of --only and -o out"}
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
	defer p.clear()
	if flags.only != "" {
		all, err := c.ClusterIDs()
		if err != nil {
			return err
		}
		allowed, err := query.CheckDifferences(cmd.Context(), f, rules, all, flags.releases, p.step)
		if err != nil {
			return err
		}
		p.clear()
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, %s: %s, all allowed\n",
			plural(len(f.Clusters), "cluster", "clusters"), plural(len(rules), "rule", "rules"), plural(allowed, "difference", "differences"))
		return err
	}
	found, err := query.Compare(cmd.Context(), f, flags.releases, flags.full || flags.output == "json", p.step)
	if err != nil {
		return err
	}
	p.clear()
	write := map[string]func(io.Writer, *query.Comparison, func(string) string, diff.Style) error{
		"text": compareText, "markdown": compareMarkdown, "json": compareJSON,
	}[flags.output]
	style := o.style(cmd.OutOrStdout())
	style.All = flags.full
	if err := write(cmd.OutOrStdout(), found, load.FileNames(o.dir), style); err != nil {
		return err
	}
	if found.Empty() {
		return nil
	}
	return errDifferences
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
	text, total := "", 0
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
		if part.n > 0 && text != "" {
			text += ", "
		}
		if part.n > 0 {
			text += plural(part.n, part.one, part.many)
			total += part.n
		}
	}
	verb := " differ between "
	if total == 1 {
		verb = " differs between "
	}
	return text + verb + among + ignored
}

package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/query"
)

const reportLong = `report shows the whole fleet to people who do not use fleetc. With --out, it
writes one HTML page that works offline and loads no other files.

The page has a matrix of releases and clusters: the version of each release, the
line that pins it, and marks for releases that are outdated, that differ from
the other clusters of their environment, or that have waivers. Other sections
show how much each layer sets and overrides, the values with all lines that set
them, the references between releases, stages, waves, images and CRDs.

A release is outdated if another cluster has a newer version of its chart. With
--outdated, report also checks the chart repositories.

--against also shows the objects that changed since a commit or an exported
directory. --live reads the running clusters, and shows the revision, health and
drift of each. It needs only read access.

--link-template links source positions to your Git host, such as
https://github.com/example/infra/blob/main/{file}#L{line}. Files are relative to
the root of the fleet.

The report hides the data of Secrets, and every value that equals, contains or
is part of a string in a Secret. It contains the names of clusters, files and
images, and the reasons of waivers: publish it only to people who may see them.

Formats (-o):
  text       one line for each release in a cluster
  markdown   the contents of the page, for a wiki or a comment; also --markdown
  json       all data`

const reportExample = `  fleetc report --out report.html
  fleetc report --out report.html --link-template 'https://github.com/example/infra/blob/main/{file}#L{line}'
  fleetc report --out report.html --live --against git:main prod
  fleetc report --markdown prod
  fleetc report -o json | jq -r '.clusters[].releases[] | select(.newest) | [.release, .version, .newest] | @tsv'`

// reportOptions are the flags of report.
type reportOptions struct {
	query.ReportRequest
	out, against   string
	live, markdown bool
	access         deliver.DriftRequest
}

func newReportCommand(o *options) *cobra.Command {
	var r reportOptions
	cmd := &cobra.Command{
		Use:     "report [CLUSTER...]",
		Short:   "Write the fleet as one HTML page, or as Markdown",
		Long:    reportLong,
		Example: reportExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			r.Clusters = patterns
			if err := r.check(cmd, o); err != nil {
				return err
			}
			return r.run(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.out, "out", "", "write the page to this `file`")
	f.BoolVar(&r.markdown, "markdown", false, "print Markdown, as -o markdown")
	f.StringVar(&r.against, "against", "", "also show what changed since an exported `directory`, or a commit such as git:main")
	f.BoolVar(&r.live, "live", false, "also read the running clusters")
	f.BoolVar(&r.Outdated, "outdated", false, "also check the chart repositories for newer versions")
	f.StringVar(&r.LinkTemplate, "link-template", "", "`URL` of a line on your Git host, with {file} and {line}")
	accessFlags(cmd, &r.access.Access)
	allowExecFlag(cmd, &r.access.AllowExec)
	f.DurationVar(&r.access.Timeout, "check-timeout", 2*time.Minute, "with --live, time limit for compiling and reading a cluster")
	_ = cmd.MarkFlagFilename("out", "html")
	outputFlag(cmd, "text", "markdown", "json")
	selectorFlags(cmd, o)
	return cmd
}

// check validates the flags and sets derived options.
func (r *reportOptions) check(cmd *cobra.Command, o *options) error {
	if r.markdown {
		if cmd.Flags().Changed("output") && o.output != "markdown" {
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--markdown and -o " + o.output + " cannot be combined", Hint: "leave out one of them"}
		}
		o.output = "markdown"
	}
	if r.out == "-" {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--out - does not name a file: the page is not written to the standard output", Hint: "name the file, such as report.html"}
	}
	if r.out != "" {
		r.out = o.path(r.out)
		if err := query.CheckReportFile(o.compiler(), r.out); err != nil {
			return err
		}
	}
	if r.against != "" {
		r.Name = r.against
		request := &query.DiffRequest{Key: []byte(rand.Text())}
		ref, isCommit := strings.CutPrefix(r.against, "git:")
		switch {
		case isCommit && ref == "":
			return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--against git: does not name a commit", Hint: "pass --against git:main, or another commit or directory"}
		case isCommit:
			request.Commit = ref
		default:
			request.Tree = o.path(r.against)
		}
		r.Against = request
	}
	if r.access.Timeout <= 0 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--check-timeout must be positive", Hint: "write it as in --check-timeout 2m"}
	}
	if r.live {
		r.access.Key, r.access.Today = []byte(rand.Text()), o.date
		r.Live = &r.access
	}
	return completeAccess(o, &r.access.Access)
}

func (r *reportOptions) run(cmd *cobra.Command, o *options) error {
	r.Each = newProgress(cmd, 0).stepOf
	made, err := query.MakeReport(cmd.Context(), o.compiler(), r.ReportRequest)
	if made == nil {
		return err
	}
	return cmp.Or(r.write(cmd.OutOrStdout(), o, made), err)
}

// write writes the page and the result.
func (r *reportOptions) write(w io.Writer, o *options, made *query.Report) error {
	if r.out != "" {
		if err := query.WriteReportFile(r.out, made); err != nil {
			return err
		}
	}
	switch {
	case o.output == "markdown":
		return query.WriteReportMarkdown(w, made)
	case o.output == "json":
		return writeJSON(w, made)
	case r.out != "":
		_, err := fmt.Fprintf(w, "%s: %s\n", diag.Visible(r.out, diag.MaxText), made.Summary())
		return err
	}
	return query.WriteReportText(w, made)
}

package main

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/spf13/cobra"
)

const diffLong = `diff compiles clusters and compares their objects with an earlier state: with an
exported tree (--against DIR), or with a commit (--against git:REF). For a
commit, fleetc compiles the files and pinned charts of that commit. It reads
them from the repository, and changes neither the repository nor the working
tree. It does not compile clusters that the changes do not affect, see fleetc
affected.

With --live, diff compares the objects in the clusters (before) with the objects
that fleetc apply would make of them (after). An object can be missing, changed,
orphaned (fleetc applied it, and the fleet no longer has it), or in conflict
(others created it, or own fields of it). Hooks are left out. diff connects to
clusters as fleetc apply does. It finds the result for each object with a dry
run, if the user may patch the object. If not, or if the dry run is refused, for
example because a webhook does not answer, diff computes the result from the
cluster's schemas and marks it. Nothing is written, and the right to read is
enough.

diff compares objects field by field, and lists by the keys of their elements. A
change of several clusters appears once. A cluster that is created or deleted
takes one line. Text output shows the version labels and checksums that change
with a chart in one line, and counts the fields that diff.ignore leaves out;
--all shows all of them. Ignored fields are not differences. Patterns select
clusters of both sides.

diff never shows a value of a Secret, and no text of six characters or more in
another object that equals one. It shows a hash instead, with which you can see
whether the value changed. The key of the hash is random in each run; to compare
hashes of several runs, set a key in FLEETC_DIFF_KEY.

With --rehearse, diff also says what to know or do before the change is merged:
what clusters would refuse, such as fields that cannot change, objects and data
that would be lost, new hooks, and changes of charts that need work. With --live
and --against, it also tries the changed clusters in dry runs, and lists the
objects that a running cluster refuses.

Formats (-o):
  text       for people; in colour on a terminal
  markdown   a comment for a pull request, of at most 60,000 bytes
  json       everything, see docs/diff.md
  github     for the log of a GitHub Actions step, with a notice

The exit status is 0 without differences, 1 with differences, and 2 when
something failed: a cluster does not compile at the commit or is unreachable, or
the user is not allowed to read an object. diff still compares everything else.`

const diffExample = `  fleetc diff --against ../clusters
  fleetc diff --against git:HEAD 'prod/*'
  fleetc diff --against git:$(git merge-base origin/main HEAD) --rehearse -o markdown

  # Show what differs in the running clusters.
  fleetc diff --live
  fleetc diff --live --release web -o json 'prod/*'

  # Try the change of a branch on the running clusters.
  fleetc diff --against git:main --rehearse --live`

// diffKeyVariable names the environment variable with the key for hashes of
// secrets.
const diffKeyVariable = "FLEETC_DIFF_KEY"

type diffOptions struct {
	query.DiffRequest
	against            string
	access             query.DryRunAccess
	live, stat, strict bool
	style              diff.Style
}

func newDiffCommand(o *options) *cobra.Command {
	var d diffOptions
	cmd := &cobra.Command{
		Use:     "diff [CLUSTER...]",
		Short:   "Compare clusters with an earlier state, or with the running clusters",
		Long:    diffLong,
		Example: diffExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			d.Clusters = patterns
			if err := d.check(o, cmd.OutOrStdout()); err != nil {
				return err
			}
			return runDiff(cmd, o, &d)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.against, "against", "", "compare with an exported `directory`, or with a commit such as git:main")
	flags.BoolVar(&d.live, "live", false, "compare the running clusters with the fleet; with --rehearse, try the change on them in dry runs")
	accessFlags(cmd, &d.access.Access)
	allowExecFlag(cmd, &d.access.AllowExec)
	flags.BoolVar(&d.strict, "strict", false, "with --live, also show manual changes to applied objects, such as with kubectl, k9s, Lens or a browser")
	flags.StringVar(&d.Release, "release", "", "compare only the objects of this `release`")
	flags.BoolVar(&d.Rehearse, "rehearse", false, "also print what to know or do before the change is merged")
	flags.BoolVar(&d.stat, "stat", false, "print only the number of changed objects in each cluster")
	flags.BoolVar(&d.style.Content, "content", false, "also print the contents of objects that are created or deleted")
	flags.BoolVar(&d.style.All, "all", false, "show every version label and checksum that changes, and the fields in diff.ignore")
	outputFlag(cmd, "text", "markdown", "json", "github")
	selectorFlags(cmd, o)
	return cmd
}

// check validates the flags and sets derived options.
func (d *diffOptions) check(o *options, w io.Writer) error {
	if err := checkDryRuns(o, &d.access, d.live); err != nil {
		return err
	}
	switch ref, isCommit := strings.CutPrefix(d.against, "git:"); {
	case d.live && d.against != "" && !d.Rehearse:
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--live and --against cannot be combined", Hint: "leave out one of them, or pass --rehearse, which tries the change in dry runs"}
	case d.Rehearse && d.against == "":
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--rehearse needs --against", Hint: "pass --against git:main, or another commit or directory"}
	case d.strict && (!d.live || d.Rehearse):
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--strict needs --live", Hint: "pass --live, without --rehearse"}
	case d.live && !d.Rehearse:
	case d.against == "" || isCommit && ref == "":
		hint := "pass --against with an exported directory or a commit such as git:main, or pass --live for the running clusters"
		for _, p := range d.Clusters {
			if strings.HasPrefix(p, "git:") {
				hint = "pass --against " + p
			}
		}
		return &diag.Diag{Code: diag.CodeArguments, Msg: "diff needs something to compare with", Hint: hint}
	case isCommit:
		d.Commit = ref
	default:
		dir, err := filepath.Abs(o.path(d.against))
		if err != nil {
			return err
		}
		d.Tree = dir
	}
	if d.stat && d.Rehearse {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--stat prints only numbers", Hint: "leave out --stat or --rehearse"}
	}
	if d.stat && o.output != "text" {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--stat prints text", Hint: "leave out --stat or -o " + o.output}
	}
	if d.live && d.Rehearse {
		d.DryRun = &d.access
	}
	d.style.Colour = o.style(w).Colour
	d.Key = []byte(os.Getenv(diffKeyVariable))
	if n := len(d.Key); n > 0 && n < 16 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "the key in " + diffKeyVariable + " is too easy to guess", Hint: "set a key of 16 bytes or more"}
	}
	if len(d.Key) == 0 {
		d.Key = []byte(rand.Text())
	}
	return nil
}

func runDiff(cmd *cobra.Command, o *options, d *diffOptions) error {
	d.Each = newProgress(cmd, 0).stepOf
	result, err := d.compare(cmd.Context(), o)
	if result == nil {
		return err
	}
	if werr := d.write(cmd.OutOrStdout(), o, *result); werr != nil {
		return werr
	}
	return orDifferences(err, !result.Empty())
}

func (d *diffOptions) compare(ctx context.Context, o *options) (*diff.Result, error) {
	if d.live && !d.Rehearse {
		return query.DiffLive(ctx, o.compiler(), query.LiveRequest{DiffRequest: d.DiffRequest, Access: d.access.Access, Strict: d.strict, AllowExec: d.access.AllowExec})
	}
	return query.Diff(ctx, o.compiler(), d.DiffRequest)
}

func (d *diffOptions) write(w io.Writer, o *options, r diff.Result) error {
	switch {
	case d.stat:
		return diff.WriteStat(w, r)
	case o.output == "markdown":
		return diff.WriteMarkdown(w, r, d.style)
	case o.output == "json":
		return diff.WriteJSON(w, r)
	case o.output == "github":
		return diff.WriteGitHub(w, r, d.style)
	}
	return diff.WriteText(w, r, d.style)
}

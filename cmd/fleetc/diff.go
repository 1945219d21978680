package main

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/spf13/cobra"
)

const diffLong = `diff compiles clusters and compares their objects with what they were: in the
tree that export has written (--against DIR), or in a commit of git (--against
git:REF), which is compiled from its own files and the charts that it pins. What
a commit has is read from the repository; nothing in it or in the working tree
is touched. Clusters that are not affected, see fleetc affected, are as they
were in the commit: they are not compiled.

With --live it compares what clusters run with what the fleet says: before is
what is there, after is what fleetc apply would make of it. Objects can be
missing, changed, orphaned (applied, and no longer in the fleet), or in conflict:
made by others, or with fields that others have. Hooks are left out. Clusters are
reached as by fleetc apply. Each object that the user may patch is tried out by a
dry run; for the others, and where a dry run is refused, as by a webhook that does
not answer, it is predicted from the cluster's schemas what would become of them,
and said so. Nothing is written, and rights to read suffice.

Objects are compared field by field, and lists by the keys of their elements.
The same change in several clusters is shown once. For a cluster that is created
or deleted there is one line. A text has the version labels and checksums that
change with a chart in one line; --all shows each. Patterns select clusters of either side.

Fields that the fleet names in diff.ignore are left out and counted; --all shows
them. They are no difference.

A value of a Secret is never shown. A hash stands for it, which tells whether it
changed, with a key that is made up for each run; FLEETC_DIFF_KEY sets one, for
hashes that can be compared from run to run.

Formats (-o):
  text       for people; in colour on a terminal
  markdown   a comment for a pull request, of at most 60,000 bytes
  json       everything, see docs/diff.md
  github     for the log of a GitHub Actions step, with a notice

Exit status is 0 when there is no difference, 1 when there are some, 2 when
something failed. A cluster that cannot be compiled as it was in the commit, or
is down, and an object that the user may not read do not keep the others from
being compared; the status is then 2.`

const diffExample = `  fleetc diff --against ../clusters
  fleetc diff --against git:HEAD 'prod/*'
  fleetc diff --against git:$(git merge-base origin/main HEAD) -o markdown

  # Is somebody at work on the clusters by hand?
  fleetc diff --live
  fleetc diff --live --release web -o json 'prod/*'`

// diffKeyVariable names the environment variable with the key for hashes of
// secrets.
const diffKeyVariable = "FLEETC_DIFF_KEY"

type diffOptions struct {
	query.DiffRequest
	against, output    string
	access             cluster.Access
	live, stat, strict bool
	style              diff.Style
}

func newDiffCommand(o *options) *cobra.Command {
	var d diffOptions
	cmd := &cobra.Command{
		Use:               "diff [CLUSTER...]",
		Short:             "Compare clusters with what they were, or with what runs",
		Long:              diffLong,
		Example:           diffExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			d.Clusters = patterns
			if err := d.check(o, cmd.OutOrStdout()); err != nil {
				return err
			}
			return runDiff(cmd, o, &d)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.against, "against", "", "compare with an exported `directory`, or with a commit, as in git:main")
	flags.BoolVar(&d.live, "live", false, "compare what clusters run with what the fleet says")
	accessFlags(cmd, &d.access)
	flags.BoolVar(&d.strict, "strict", false, "with --live, also show what people changed by hand in objects that fleetc applies, with kubectl, k9s, Lens or a browser")
	flags.StringVar(&d.Release, "release", "", "compare the objects of this `release` alone")
	flags.BoolVar(&d.stat, "stat", false, "print how many objects change in each cluster, and no more")
	flags.BoolVar(&d.style.Content, "content", false, "also print what is in objects that are created or deleted")
	flags.BoolVar(&d.style.All, "all", false, "show every version label and checksum that changes, and the fields that diff.ignore leaves out")
	outputFlag(cmd, &d.output, "text", "markdown", "json", "github")
	cacheRegistryFlag(cmd, o)
	selectorFlags(cmd, o)
	return cmd
}

// check validates the flags and sets derived options.
func (d *diffOptions) check(o *options, w io.Writer) error {
	switch ref, isCommit := strings.CutPrefix(d.against, "git:"); {
	case d.live && d.against != "":
		return &diag.Diag{Msg: "--live compares with what runs, and --against with something else", Hint: "leave out one of them"}
	case !d.live && (d.access.Kubeconfig != "" || d.access.Impersonate.User != ""):
		return &diag.Diag{Msg: "--kubeconfig and --as say how running clusters are reached, which only --live compares with", Hint: "pass --live"}
	case d.strict && !d.live:
		return &diag.Diag{Msg: "--strict shows what was changed by hand, which only --live compares with", Hint: "pass --live"}
	case d.live:
		if err := completeAccess(o, &d.access); err != nil {
			return err
		}
	case d.against == "" || isCommit && ref == "":
		return &diag.Diag{
			Msg:  "diff needs something to compare with",
			Hint: "name it with --against: the directory of an exported tree, or a commit as in git:main; or pass --live for what runs",
		}
	case isCommit:
		d.Commit = ref
	default:
		dir, err := filepath.Abs(o.path(d.against))
		if err != nil {
			return err
		}
		d.Tree = dir
	}
	if d.stat && d.output != "text" {
		return &diag.Diag{Msg: "--stat prints text", Hint: "leave out --stat or -o " + d.output}
	}
	d.style.Colour = o.style(w).Colour
	d.Key = []byte(os.Getenv(diffKeyVariable))
	if n := len(d.Key); n > 0 && n < 16 {
		return &diag.Diag{Msg: "the key in " + diffKeyVariable + " is short enough to be guessed", Hint: "set one of 16 bytes or more"}
	}
	if len(d.Key) == 0 {
		d.Key = []byte(rand.Text())
	}
	return nil
}

func runDiff(cmd *cobra.Command, o *options, d *diffOptions) error {
	p := newProgress(cmd, 0)
	d.Each = func(of int) {
		p.total = of
		p.step()
	}
	result, err := d.compare(cmd.Context(), o)
	p.clear()
	if result == nil {
		return err
	}
	if werr := d.write(cmd.OutOrStdout(), *result); werr != nil {
		return werr
	}
	if err == nil && !result.Empty() {
		return errDifferences
	}
	return err
}

func (d *diffOptions) compare(ctx context.Context, o *options) (*diff.Result, error) {
	if d.live {
		return query.DiffLive(ctx, o.compiler(), query.LiveRequest{DiffRequest: d.DiffRequest, Access: d.access, Strict: d.strict})
	}
	return query.Diff(ctx, o.compiler(), d.DiffRequest)
}

func (d *diffOptions) write(w io.Writer, r diff.Result) error {
	switch {
	case d.stat:
		return diff.WriteStat(w, r)
	case d.output == "markdown":
		return diff.WriteMarkdown(w, r, d.style)
	case d.output == "json":
		return diff.WriteJSON(w, r)
	case d.output == "github":
		return diff.WriteGitHub(w, r, d.style)
	}
	return diff.WriteText(w, r, d.style)
}

package main

import (
	"cmp"
	"crypto/rand"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

const driftLong = `drift says whether clusters run what the fleet says. It compiles each cluster
and compares its bundle with the live objects. It only reads: it sends no dry
runs, and the right to read is enough.

An object can differ for these reasons:

  missing     it does not exist
  changed     an apply would change it
  conflict    an apply would stop: another tool created it, or another manager
              has fields of it with other values
  orphaned    it was applied earlier, and the fleet no longer has it
  unhealthy   it is not ready, by the rules of health

For each field, drift shows who has set it and when, as the cluster records it:
the name of the tool, not of the person. Fields that fleetc does not apply, such
as those of controllers and defaults of the API, are not drift. Rules of
drift.ignore and diff.ignore leave out differences; drift counts them.

--fix restores missing, changed and conflicting objects. It applies them as
fleetc apply does, with a plan of these objects alone, and asks first. It prunes
nothing, and refuses a cluster that does not run the bundle of the fleet: there,
run fleetc apply.

--serve checks the clusters at each interval, and serves the result as metrics
for Prometheus at /metrics, with /healthz and /readyz. It reads kubeconfigs and
token files again in each round. With --git, it checks the tip of a branch
instead of the files of this directory. The log is JSON on standard error.

A cluster that does not answer within ten seconds, and one that does not
compile, could not be checked. It does not delay the others.

Formats (-o):
  text       for people
  markdown   a table, for a comment or the summary of a CI job
  json       everything, see docs/drift.md
  sarif      for code scanners: each difference at its release
  junit      for CI systems: a suite for each cluster, a case for each release

The exit status is 0 without drift, 1 with drift, and 2 when a cluster or an
object could not be checked, also if others drifted. With --fix, it is 0 when
all drift is fixed.`

const driftExample = `  fleetc drift
  fleetc drift --release web 'prod/*'
  fleetc drift -o json prod | jq -r '.clusters[].findings[] | [.reason, .id] | @tsv'
  fleetc drift -o junit > drift.xml

  # Restore what drifted.
  fleetc drift --fix prod/us-east-1
  fleetc drift --fix --yes --force-conflicts=manager:kubectl-edit prod

  # Serve metrics.
  fleetc drift --serve :9090 --git https://git.example.com/infra.git --branch main`

// driftOptions are the flags of drift.
type driftOptions struct {
	deliver.DriftRequest
	fix   bool
	apply applyOptions // of --fix
	serve serveOptions
}

func newDriftCommand(o *options) *cobra.Command {
	var d driftOptions
	cmd := &cobra.Command{
		Use:     "drift [CLUSTER...]",
		Short:   "Check whether clusters run what the fleet says",
		Long:    driftLong,
		Example: driftExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			d.Clusters = patterns
			if err := cmp.Or(d.check(o), d.checkServe(cmd), d.checkFix(cmd, o)); err != nil {
				return err
			}
			if d.serve.address != "" {
				return d.runServer(cmd, o)
			}
			return runDrift(cmd, o, &d)
		},
	}
	f := cmd.Flags()
	accessFlags(cmd, &d.Access)
	allowExecFlag(cmd, &d.AllowExec)
	f.StringVar(&d.Release, "release", "", "check only the objects of this `release`")
	f.BoolVar(&d.Strict, "strict", false, "also count manual changes that an apply ignores, such as with kubectl, k9s, Lens or a browser")
	f.DurationVar(&d.Timeout, "check-timeout", 2*time.Minute, "how long to compile and read a cluster at most")
	d.fixFlags(cmd, o)
	d.serveFlags(cmd)
	outputFlag(cmd, "text", "markdown", "json", "sarif", "junit")
	selectorFlags(cmd, o)
	return cmd
}

// check validates the flags and sets derived options.
func (d *driftOptions) check(o *options) error {
	if d.Timeout <= 0 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--check-timeout must be positive", Hint: "write it as in --check-timeout 2m"}
	}
	d.Key = []byte(cmp.Or(os.Getenv(diffKeyVariable), rand.Text()))
	d.Today = o.date
	return completeAccess(o, &d.Access)
}

func runDrift(cmd *cobra.Command, o *options, d *driftOptions) error {
	d.Each = newProgress(cmd, 0).stepOf
	report, err := deliver.CheckDrift(cmd.Context(), o.compiler(), d.DriftRequest)
	if report == nil {
		return err
	}
	err = cmp.Or(err, report.Err())
	if werr := d.write(cmd.OutOrStdout(), o, report, err); werr != nil {
		return werr
	}
	if d.fix {
		return d.fixDrift(cmd, o, report, err)
	}
	return orDifferences(err, report.Drifted())
}

// write writes the report in the format of the command. err has the faults.
func (d *driftOptions) write(w io.Writer, o *options, r *deliver.DriftReport, err error) error {
	switch o.output {
	case "markdown":
		return deliver.WriteDriftMarkdown(w, r)
	case "json":
		return writeJSON(w, r)
	case "junit":
		return deliver.WriteDriftJUnit(w, r)
	case "sarif":
		w, _ = unwrapStream(w).(io.Writer) // a report is already printable
		of := diag.Report{Err: err, Version: toolVersion(), Files: load.FaultFiles(o.dir), Findings: r.Diags(), Rule: deliver.DriftSARIFRule}
		return of.Write(w, diag.SARIF)
	}
	return deliver.WriteDriftText(w, r)
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/spf13/cobra"
)

const testLong = `test runs the test hooks of charts (helm.sh/hook: test) in clusters, as helm
test does: one after the other, by weight, with their delete policies. It waits
for each test. The first test that fails ends the tests of its release, and
fleetc prints the reason and the last lines of its containers' logs.

If the cluster does not run the release as the fleet has it, test reports a
fault: apply the release first. During the tests, the lease of the cluster
prevents an apply.

The exit status is 0 when all tests passed, and 2 when a test failed or there
were no tests.`

const testExample = `  fleetc test prod/us-east-1
  fleetc test --release web 'prod/*'
  fleetc test -o json dev`

func newTestCommand(o *options) *cobra.Command {
	var a applyOptions
	cmd := &cobra.Command{
		Use:     "test [CLUSTER...]",
		Short:   "Run the test hooks of releases",
		Long:    testLong,
		Example: testExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			return runTest(cmd, o, &a, patterns)
		},
	}
	f := cmd.Flags()
	accessFlags(cmd, &a.Access)
	f.StringSliceVar(&a.Releases, "release", nil, "test only this `release`; may be repeated")
	f.DurationVar(&a.Timeout, "timeout", 5*time.Minute, "how long to wait for a test")
	allowExecFlag(cmd, &a.Actions.AllowExec)
	lockFlag(cmd, &a.LockTimeout)
	parallelFlag(cmd, &a.parallel)
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

func runTest(cmd *cobra.Command, o *options, a *applyOptions, patterns []string) error {
	if a.Timeout <= 0 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--timeout must be positive", Hint: "write a duration, such as --timeout 5m"}
	}
	if err := cmp.Or(checkLock(a.LockTimeout), checkParallel(a.parallel)); err != nil {
		return err
	}
	f, err := o.compiler().Load(cmd.Context(), patterns...)
	if err != nil {
		return err
	}
	if err := a.identify(o); err != nil {
		return err
	}
	plans, err := a.planAll(cmd, f, nil)
	if err != nil {
		return err
	}
	results := []apply.Test{}
	var faults diag.List
	tell := func(e apply.Event) { fmt.Fprintln(cmd.ErrOrStderr(), eventText(e)) }
	for tests, err := range deliver.Test(mayUndo(cmd.Context()), plans, a.parallel, tell) {
		for _, t := range tests {
			faults.Add(t.Err)
		}
		results = append(results, tests...)
		faults.Add(err)
	}
	if len(results) == 0 && len(faults) == 0 {
		return &diag.Diag{Code: diag.CodeNoMatch, Msg: "no selected release has test hooks", Hint: "see the templates of its chart for helm.sh/hook: test"}
	}
	words := map[bool]string{true: "passed", false: "failed"}
	return cmp.Or(writeResult(cmd, o, map[string]any{"tests": results}, func(w io.Writer) {
		for _, r := range results {
			fmt.Fprintf(w, "%s: %s: %s: %s\n", r.Cluster, r.Release, r.ID, words[r.Passed])
		}
	}), faults.Err())
}

package main

import (
	"fmt"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

const vetLong = `vet checks the fleet: the layers, defaults and references, the digests of pinned
charts, and the values of every release against the types of its chart. It finds
misspelt values and values that no template reads. For releases whose objects
are written in CUE, it also checks each object, patches and ownership. It checks
that the selectors of releases match clusters, that each default has an effect
in a cluster, and that no two clusters have the same kubeconfig context.

vet does not render charts, so it is fast enough for a pre-commit hook. --render
also renders every release, checks the resulting objects, and reports the faults
that export would report in the layouts of the field gitops.layouts, or in
--layout. It also finds rules of diff.ignore that match no object.

vet reports all faults of all clusters at once. A fault of a shared layer
appears once, with the clusters that it concerns. With -o json or sarif,
standard output has only the faults; without faults, it is an empty list.

--secrets reads the values of secrets into memory, as an apply does. It reports
missing values, values that do not fit their field or document, and copies of
values in plain text. Without it, vet needs no key.

--kubernetes checks an upgrade in advance: vet checks all clusters as if they
ran that version. With --render, it lists the API versions that this version no
longer serves, by release. Layers still see the version that their cluster sets.

-v shows for each chart how many values are typed, open (every value is
accepted) and unread (setting one is a fault), and names the open values. To
list all values, run chart values.

--since checks only the clusters that fleetc affected lists, which may be none.`

const vetExample = `  fleetc vet
  fleetc vet --render 'prod/*'
  fleetc vet --render --since git:origin/main
  fleetc vet --render --kubernetes 1.37
  fleetc vet --render -o sarif > fleet.sarif`

// vetOptions are the flags of vet.
type vetOptions struct {
	render, verbose           bool
	kubernetes, since, layout string
	shard                     func() (fleet.Shard, error)
	checks                    deliver.VetOptions
}

func newVetCommand(o *options) *cobra.Command {
	var v vetOptions
	cmd := &cobra.Command{
		Use:         "vet [CLUSTER...]",
		Short:       "Check the fleet",
		Long:        vetLong,
		Example:     vetExample,
		Annotations: map[string]string{resultIsFaults: "true"},
		RunE:        func(cmd *cobra.Command, patterns []string) error { return runVet(cmd, o, &v, patterns) },
	}
	outputFlag(cmd, "text", "json", "sarif", "github")
	cmd.Flags().BoolVar(&v.render, "render", false, "also render every release and check its objects")
	cmd.Flags().BoolVarP(&v.verbose, "verbose", "v", false, "also show how many values of each chart have types")
	cmd.Flags().StringVar(&v.kubernetes, "kubernetes", "", "check as if all clusters ran this `version`")
	_ = cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(kubernetesVersions(), cobra.ShellCompDirectiveNoFileComp))
	sinceFlag(cmd, &v.since)
	layoutFlag(cmd, &v.layout, "", "with --render, report the faults of an export with this `layout`: plain, flux or argocd (default: each cluster's gitops.layouts)")
	cmd.Flags().BoolVar(&v.checks.Secrets, "secrets", false, "with --render, read the values of secrets and check objects with them (needs the keys)")
	allowExecFlag(cmd, &v.checks.AllowExec)
	v.shard = shardFlag(cmd)
	selectorFlags(cmd, o)
	return cmd
}

func runVet(cmd *cobra.Command, o *options, v *vetOptions, patterns []string) error {
	c := o.compiler()
	c.Kubernetes = v.kubernetes
	if v.since != "" {
		report, err := affectedSince(cmd, o, v.since, patterns)
		if err != nil {
			return err
		}
		c.Unchanged = report.Unchanged
		if patterns = existingIDs(report.Affected); len(patterns) == 0 {
			if err := c.CheckUnchanged(cmd.Context()); err != nil || o.started.IsDocument() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "0 clusters: no faults")
			return err
		}
	}
	var err error
	if c.Shard, err = v.shard(); err != nil {
		return err
	}
	if err := v.checkFlags(); err != nil {
		return err
	}
	result, err := deliver.VetChanged(cmd.Context(), c, v.checks, v.render, func(clusters int) func() {
		return newProgress(cmd, clusters).step
	}, patterns...)
	if err != nil || o.started.IsDocument() {
		return err
	}
	if v.verbose {
		if err := writeCoverage(cmd, c, patterns); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), vetSummary(result, v.render))
	return err
}

// checkFlags checks the flags that need another, and sets the checks of rendered clusters.
func (v *vetOptions) checkFlags() error {
	if v.layout != "" {
		if _, err := layoutOf(v.layout); err != nil {
			return err
		}
	}
	for _, flag := range []struct {
		name  string
		isSet bool
	}{{"--layout", v.layout != ""}, {"--secrets", v.checks.Secrets}} {
		if flag.isSet && !v.render {
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: flag.name + " needs --render", Hint: "add --render"}
		}
	}
	if v.checks.AllowExec && !v.checks.Secrets {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--allow-exec needs --secrets", Hint: "add --secrets"}
	}
	v.checks.Layout = fleet.Layout(v.layout)
	return nil
}

// vetSummary returns the line for a fleet without faults.
func vetSummary(v *deliver.VetResult, rendered bool) string {
	text := diag.Count(v.Clusters, "cluster", "clusters") + ", " + diag.Count(v.Releases, "release", "releases")
	if rendered {
		text += ", " + diag.Count(v.Objects, "object", "objects")
	}
	return text + ": no faults"
}

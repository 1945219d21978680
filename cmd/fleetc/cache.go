package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/spf13/cobra"
)

const cacheLong = `cache shows and removes the results that fleetc stores to save time: the types
of charts' values, the rendered objects of releases, and the lists of files that
exports depend on. fleetc stores only results that depend on nothing but their
inputs. It verifies a stored result before use, and computes results that are
missing. It does not store random results, nor Secrets in plain text unless
their release allows that.

The cache is fleetc/results in the user's cache directory, or in --cache-dir. It
holds at most 1 GiB; the results that were not used for the longest time are
removed first. Several processes can use it at the same time. With --no-cache, a
command neither reads nor stores results.`

func newCacheCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:   "cache",
		Short: "Show and remove cached results",
		Long:  cacheLong,
		Example: `  fleetc cache why prod/us-east-1
  fleetc cache clean`,
	}, newCacheWhyCommand(o), newCacheCleanCommand(o))
}

const cacheWhyLong = `why shows which results of a cluster and its releases are in the cache. For the
others it shows what changed since the last export to a directory:

  cached    fleetc uses the stored result
  changed   the listed files, or parts of the release, changed
  new       no earlier run stored a result
  evicted   nothing changed, but the cache no longer has the result, or other
            releases bring other CRDs
  always    fleetc renders it every time, for the listed reason
  no chart  the release has no Helm chart; fleetc renders it every time

why renders the releases that are not cached, and stores nothing.`

const cacheWhyExample = `  fleetc cache why prod/us-east-1
  fleetc cache why prod/us-east-1 -o json | jq -r '.releases[] | select(.state != "cached") | .release'`

func newCacheWhyCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "why CLUSTER",
		Short:             "Show which results of a cluster are cached, and what changed",
		Long:              cacheWhyLong,
		Example:           cacheWhyExample,
		Args:              exactlyOneArg("one cluster"),
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := incremental.WhyCached(cmd.Context(), o.compiler(), args[0])
			if err != nil {
				return err
			}
			return writeResult(cmd, o, report, func(w io.Writer) { whyText(w, report) })
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

func whyText(w io.Writer, r *incremental.CacheReport) {
	fmt.Fprintf(w, "%s: %s\n", r.Cluster, r.State)
	if r.Build {
		fmt.Fprintln(w, "  another build of fleetc exported it last")
	}
	for _, f := range r.Files {
		fmt.Fprintf(w, "  %-7s %s\n", f.Change, f.Name)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range r.Releases {
		why := one.Why
		if len(one.Parts) > 0 {
			why = strings.Join(one.Parts, ", ")
		}
		fmt.Fprintln(table, strings.TrimRight(fmt.Sprintf("release %s\t%s\t%s", one.Release, one.State, why), "\t"))
	}
	_ = table.Flush()
}

func newCacheCleanCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "clean",
		Short:   "Remove cached results, but not downloaded charts",
		Example: "  fleetc cache clean",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.compiler().CleanCache()
			if err == nil && o.output == "json" {
				err = writeJSON(cmd.OutOrStdout(), struct{}{})
			}
			return err
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

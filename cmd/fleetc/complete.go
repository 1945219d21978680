package main

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeFlags adds completion for flags that have the same meaning in all
// commands, and keeps the shell from completing file names for other values, and
// for the arguments of commands that complete none.
func completeFlags(cmd *cobra.Command, o *options) {
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeFlags(sub, o)
	}
	stages := clusterValues(o, func(c listedCluster) []string { return c.Stages })
	for name, complete := range map[string]cobra.CompletionFunc{
		"release": releaseArgs(o), "stage": stages, "since": commitArgs(o), "against": againstArgs(o),
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, complete)
		}
	}
	nothing := func(f *pflag.Flag) {
		_, completes := cmd.GetFlagCompletionFunc(f.Name)
		if value, _ := pflag.UnquoteUsage(f); !completes && value != "" && value != "file" && value != "directory" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	}
	cmd.LocalFlags().VisitAll(nothing)
}

// kubernetesVersions are the versions of Kubernetes that are known.
func kubernetesVersions() []string {
	return diag.Each(kube.Versions(), (*kube.Version).String)
}

// fleetValues completes values of the fleet.
func fleetValues(o *options, of func(*fleet.Fleet) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		// A fleet with faults may still have clusters.
		f, _ := o.compiler().Clusters(cmd.Context())
		if f == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return of(f), cobra.ShellCompDirectiveNoFileComp
	}
}

// clusterValues completes values of the fleet's clusters.
func clusterValues(o *options, of func(listedCluster) []string) cobra.CompletionFunc {
	return fleetValues(o, func(f *fleet.Fleet) []string {
		return slices.DeleteFunc(diag.Distinct(slices.Concat(diag.Each(listClusters(f), of)...)), unfit)
	})
}

// releaseArgs completes names of releases.
func releaseArgs(o *options) cobra.CompletionFunc {
	return clusterValues(o, func(c listedCluster) []string {
		return diag.Each(c.Releases, func(r listedRelease) string { return r.Name })
	})
}

// commitArgs completes git:REF with the branches and tags of the repository.
func commitArgs(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		refs, _ := deliver.Commits(cmd.Context(), o.compiler())
		out := []string{"git:HEAD"}
		for _, ref := range refs {
			out = append(out, "git:"+ref)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// againstArgs completes directories, and commits after git:.
func againstArgs(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		if text != "" && strings.HasPrefix("git:", text[:min(len(text), len("git:"))]) {
			return commitArgs(o)(cmd, args, text)
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
}

// unfit reports whether a text cannot be a completion.
func unfit(v string) bool { return v == "" || diag.Printable(v) != v || strings.Contains(v, "\n") }

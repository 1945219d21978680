package main

import (
	"fmt"
	"io"
	"math"

	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

func newSourceCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:     "source",
		Short:   "Pin the remote addresses and charts of kustomizations",
		Example: "  fleetc source add kustomize/argocd",
	}, newSourceAddCommand(o))
}

const sourceAddLong = `add pins the remote addresses and the Helm charts of kustomizations. DIR is a
directory with a kustomization, relative to the fleet's root. add reads it with
everything that it includes. It fetches each remote address under resources,
bases and components, and each chart under helmCharts, also in remote bases, and
writes environments/charts/sources.cue with the digest of each. Compiling uses
only the pinned content.

An address is one of

  https://HOST/PATH/FILE.yaml           a file of objects
  https://HOST/ORG/REPO//PATH?ref=REF   a directory of a git repository
  github.com/ORG/REPO/PATH?ref=REF      the same, on GitHub
  git@HOST:ORG/REPO//PATH?ref=REF       the same, over SSH

REF is a branch, tag or commit. add resolves it once and pins the commit. A
chart without a version, or with a range, is pinned at its newest version. To
move the pins, run add again. Pins of other kustomizations stay, and add removes
those that no kustomization of the fleet uses.

fleetc chart vendor and fleetc chart verify include these sources. Credentials
come from helm repo add and git.`

const sourceAddExample = `  fleetc source add kustomize/argocd
  fleetc source add kustomize/operator/overlays/prod kustomize/operator/overlays/dev
  fleetc chart vendor`

func newSourceAddCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "add DIR...",
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		Short:             "Pin the remote addresses and charts of kustomizations",
		Long:              sourceAddLong,
		Example:           sourceAddExample,
		Args:              argCount(1, math.MaxInt, "fleetc source add takes directories of kustomizations", "run fleetc source add --help"),
		RunE: func(cmd *cobra.Command, args []string) error {
			added, err := edit.AddSources(cmd.Context(), o.compiler(), args)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, added.Sources, func(w io.Writer) { addedSourcesText(w, added) })
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

// addedSourcesText prints the newly pinned sources.
func addedSourcesText(w io.Writer, added *edit.AddedSources) {
	for _, s := range added.Sources {
		fmt.Fprintf(w, "%s\n", s.Address)
		if s.Version != "" {
			fmt.Fprintf(w, "  version: %s\n", s.Version)
		}
		if s.Commit != "" {
			fmt.Fprintf(w, "  commit: %s\n", s.Commit)
		}
		fmt.Fprintf(w, "  digest: %s\n", s.Digest)
	}
	for _, address := range added.Removed {
		fmt.Fprintf(w, "removed: %s\n", address)
	}
	if len(added.Sources) == 0 {
		fmt.Fprintln(w, "no remote addresses or charts")
	}
	if len(added.Sources)+len(added.Removed) > 0 {
		fmt.Fprintf(w, "wrote: %s\n", added.File)
	}
}

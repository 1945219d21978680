package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

const imageOutdatedLong = `outdated lists the container images of the fleet that have a newer tag. It
renders the clusters, and asks the registry of each image once for its tags.
IMAGE is a repository or its last part, and may have * in it. outdated writes
nothing.

The policy of an image in the field images chooses the newest tag. An image
without a policy has the newest version of the same form as its tag:
1.27-alpine becomes 1.28-alpine. Other tags, such as latest or a commit, are
listed as "no policy".

Credentials come from docker login. A registry that cannot be read is a fault,
and does not hide the other images.

The exit status is 0 when no image has a newer tag, 1 when one has, and 2 when a
registry cannot be read.`

const imageOutdatedExample = `  fleetc image outdated
  fleetc image outdated 'ghcr.io/example/*' redis
  fleetc image outdated --all -o json`

func newImageOutdatedCommand(o *options) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "outdated [IMAGE...]",
		Short:             "List images that have newer tags",
		Long:              imageOutdatedLong,
		Example:           imageOutdatedExample,
		ValidArgsFunction: imageArgs(o),
	}
	cmd.RunE = func(cmd *cobra.Command, patterns []string) error {
		f, err := o.compiler().Load(cmd.Context())
		if err != nil {
			return err
		}
		p := newProgress(cmd, len(f.Clusters))
		versions, err := edit.FindImageVersions(cmd.Context(), f, chart.NewRegistryImages(o.compiler().Offline), patterns, p.step)
		outdated := slices.ContainsFunc(versions, func(v edit.ImageVersion) bool { return v.Status == edit.ImageOutdated })
		if !all {
			versions = slices.DeleteFunc(versions, func(v edit.ImageVersion) bool { return v.Status == edit.ImageUpToDate || v.Status == edit.ImageHeld })
		}
		// Print the known images even if some registries cannot be read.
		if o.output == "json" || len(versions) > 0 || err == nil {
			err = cmp.Or(err, writeResult(cmd, o, append([]edit.ImageVersion{}, versions...), func(w io.Writer) { imageVersionTable(w, versions) }))
		}
		return orDifferences(err, outdated)
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list images without a newer tag")
	outputFlag(cmd, "text", "json")
	return cmd
}

// imageVersionTable prints a row for each image and policy.
func imageVersionTable(w io.Writer, versions []edit.ImageVersion) {
	if len(versions) == 0 {
		fmt.Fprintln(w, "no image has a newer tag")
		return
	}
	t := newTable(w, "IMAGE\tTAG\tNEWEST\tPOLICY\tCLUSTERS")
	for _, v := range versions {
		policy := v.Policy
		if v.Status == edit.ImageOutside {
			policy = "outside of " + policy
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", diff.Inline(v.Repository), shortTag(v.Tag, v.Digest), shortTag(v.Newest, v.NewestDigest), diff.Inline(policy), nameList(v.Clusters))
	}
	_ = t.Flush()
}

// shortTag returns a tag with the beginning of its digest.
func shortTag(tag, digest string) string {
	r := fleet.ImageReference{Tag: tag, Digest: fleet.ShortImageDigest(digest)}
	return cmp.Or(diff.Inline(strings.TrimPrefix(r.Suffix(), ":")), "-")
}

// imageArgs completes repositories of images.
func imageArgs(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		f, err := o.compiler().Load(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, _ := query.ImageNames(cmd.Context(), f, nil, func() {})
		var out []string
		for _, i := range found {
			if !slices.Contains(args, i.Repository) {
				out = append(out, i.Repository)
			}
		}
		return slices.DeleteFunc(slices.Compact(out), unfit), cobra.ShellCompDirectiveNoFileComp
	}
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

const imageUpdateLong = `update changes the lines that set the tags of images to newer ones: those that
image outdated lists, or those of IMAGE alone. --tag sets the tag of one image.

Without --in, update changes the line that sets the tag: a value in a layer, an
object in CUE, a manifest, a kustomization or a Jsonnet file. If a default or
the appVersion of the chart sets it, update adds the value to the layer that
declares the release. With --in, it changes the value in this layer or below it,
or adds it to this layer, as

  releases: "NAME": defaults: LAYER: image: tag: "TAG"

If only some clusters of the layer have the release, it adds the value to the
layers below.

The rest of each file stays byte for byte. If the policy of the image wants a
digest, or the image has one, update pins the digest beside the tag: in the
value of the chart for it, or as TAG@DIGEST.

update compiles the fleet with the changes before it writes them. The images
must change as planned in all clusters that get them. Nothing else may change,
except texts with the old tag in them, version labels and checksums. Otherwise,
update does not write the image and says why. An image that cannot be updated
does not prevent the others.

The exit status is 0 when all images are updated or none has a newer tag, and 2
when an image could not be updated, also if others were.`

const imageUpdateExample = `  fleetc image update
  fleetc image update ghcr.io/example/app --dry-run
  fleetc image update app --tag 1.4.2 --in dev`

func newImageUpdateCommand(o *options) *cobra.Command {
	var req edit.ImageRequest
	var all bool
	cmd := &cobra.Command{
		Use:               "update [IMAGE...]",
		Short:             "Change the lines that set the tags of images",
		Long:              imageUpdateLong,
		Example:           imageUpdateExample,
		ValidArgsFunction: imageArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if cmd.Flags().Changed("tag") && req.Tag == "" {
				return &diag.Diag{Code: diag.CodeFlagValue, Msg: "the value of --tag is empty", Hint: "write a tag, or leave the flag out to take the newest"}
			}
			req.Patterns = patterns
			c := o.compiler()
			ids, err := c.ClusterIDs()
			if err != nil {
				return err
			}
			p := newProgress(cmd, len(ids))
			u, err := edit.UpdateImages(cmd.Context(), c, chart.NewRegistryImages(c.Offline), req, p.step)
			if u == nil {
				return err
			}
			// Print the changes even if some images cannot be updated.
			style := o.style(cmd.OutOrStdout())
			style.All = all
			return cmp.Or(err, writeResult(cmd, o, u, func(w io.Writer) {
				imageUpdateText(w, u, req.DryRun, err, load.FileNames(o.dir), style)
			}))
		},
	}
	cmd.Flags().StringVar(&req.In, "in", "", "`layer` whose clusters get the tags: its name, or its path below environments")
	cmd.Flags().StringVar(&req.Tag, "tag", "", "`tag` of the image (default: the newest by its policy)")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "print what would change, and write nothing")
	cmd.Flags().BoolVar(&all, "all", false, "show every version label and checksum that changes, and the fields in diff.ignore")
	_ = cmd.RegisterFlagCompletionFunc("in", layerArgs(o))
	outputFlag(cmd, "text", "json")
	return cmd
}

// imageUpdateText prints an update. faults are those of images that are not updated.
func imageUpdateText(w io.Writer, u *edit.ImageUpdate, dryRun bool, faults error, name func(string) string, style diff.Style) {
	if len(u.Edits) == 0 {
		if faults == nil {
			fmt.Fprintln(w, "nothing to do: no image has a newer tag")
		}
		return
	}
	verb := "wrote"
	if dryRun {
		verb = "would write"
	}
	for _, file := range u.Files {
		fmt.Fprintf(w, "%s %s\n", verb, diff.Inline(name(file)))
		for _, e := range u.Edits {
			if e.File == file {
				fmt.Fprintf(w, "  %s\n", lineEditText(e))
			}
		}
	}
	fmt.Fprintln(w)
	for _, v := range u.Images {
		fmt.Fprintf(w, "%s: %s: %s -> %s\n", nameList(v.Clusters), diff.Inline(v.Repository), shortTag(v.Tag, v.Digest), shortTag(v.Newest, v.NewestDigest))
	}
	writeRendered(w, u.Rendered, u.Findings, style)
}

// lineEditText returns a changed line.
func lineEditText(e edit.LineEdit) string {
	text := diff.Inline(e.After)
	if e.Before != "" {
		text = diff.Inline(e.Before) + " -> " + text
	}
	if e.Path != "" {
		text = diff.Inline(e.Path) + ": " + text
	}
	if e.Line > 0 {
		return strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Col) + " " + text
	}
	return "+ " + text
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

func newImageCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:   "image",
		Short: "Show the container images of the fleet, and update them",
		Example: `  fleetc image list
  fleetc image outdated
  fleetc image update app --in dev`,
	}, newImageListCommand(o), newImageOutdatedCommand(o), newImageUpdateCommand(o))
}

const imageListLong = `list shows the container images that the objects of the fleet name, with the
clusters and releases that use them, and the lines that set their versions. It
renders the clusters, and needs no registry.

A version comes from a value in a layer, a default or the appVersion of a chart,
an object in CUE, or a manifest. fleetc finds the value by changing it and
rendering the object again. With -o json, the output also has the objects, the
fields, and the lines that set the repository.

list shows images in custom resources, arguments and environment variables if
the text has a tag or a digest, and its name or a value of the release says that
it is an image.

The exit status is 0 with and without images, and 2 when a cluster does not
compile or --image matches nothing.`

const imageListExample = `  fleetc image list
  fleetc image list prod --image 'ghcr.io/example/*'
  fleetc image list --image redis -o json | jq -r '.[].uses[].setBy[].path // empty'`

func newImageListCommand(o *options) *cobra.Command {
	var images []string
	cmd := &cobra.Command{
		Use:     "list [CLUSTER...]",
		Short:   "List images, and the lines that set their versions",
		Long:    imageListLong,
		Example: imageListExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			f, err := o.compiler().Load(cmd.Context(), patterns...)
			if err != nil {
				return err
			}
			p := newProgress(cmd, len(f.Clusters))
			found, err := query.Images(cmd.Context(), f, images, p.step)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, found, func(w io.Writer) { imageTable(w, found, load.FileNames(o.dir)) })
		},
	}
	cmd.Flags().StringArrayVar(&images, "image", nil, "list only images whose repository, or its last part, matches this `pattern`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("image", imageArgs(o))
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// imageTable prints a row for each image. name converts file names.
func imageTable(w io.Writer, images []query.Image, name func(string) string) {
	if len(images) == 0 {
		fmt.Fprintln(w, "no images")
		return
	}
	t := newTable(w, "IMAGE\tCLUSTERS\tRELEASES\tVERSION SET BY")
	for _, image := range images {
		var releases, lines []string
		for _, use := range image.Uses {
			releases = append(releases, use.Release)
			for _, s := range use.SetBy {
				if text := imageSourceText(s, name); s.Part != query.ImageRepository && !slices.Contains(lines, text) {
					lines = append(lines, text)
				}
			}
		}
		if len(lines) == 0 {
			lines = []string{"-"}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", diff.Inline(image.Image), nameList(image.Clusters), nameList(slices.Compact(releases)), strings.Join(lines, ", "))
	}
	_ = t.Flush()
}

// imageSourceText returns the line or the chart of a source.
func imageSourceText(s query.ImageSource, name func(string) string) string {
	switch {
	case s.AppVersion():
		return "the chart's appVersion"
	case s.Chart != "":
		_, value, _ := strings.Cut(s.Path, ".values.")
		return "the chart's default " + value
	case !s.Pos.IsValid():
		return s.Path
	}
	at := s.Pos
	at.File = name(at.File)
	return at.String()
}

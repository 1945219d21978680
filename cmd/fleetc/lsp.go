package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/edit/lsp"
)

const lspLong = `lsp is a language server: an editor starts it and talks to it over standard
input and output. It shows the faults of fleetc vet while you type, before you
save the file, in all files of the fleet. When you save a file, it also renders
the fleet and shows the faults of fleetc vet --render.

A hover shows the effective value in each cluster, the lines that set and
override it, and the object fields that depend on it. The server also completes
names, offers quick fixes, and renames releases, stages and layers.

Run it next to cue lsp, which completes and formats CUE. docs/editor.md explains
the setup of editors.

The server finds the fleet of each file that you open. -C has no effect.`

func newLSPCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "lsp",
		Short:   "Show faults in the editor (language server)",
		Long:    lspLong,
		Example: "  fleetc lsp",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return lsp.Serve(cmd.Context(), cmd.InOrStdin(), outputStream{cmd.OutOrStdout()}, lsp.Options{
				Version: toolVersion(),
				Compiler: func(root string) *compiler.Compiler {
					c := o.compiler()
					c.Dir = root
					return c
				},
				Render: func(ctx context.Context, f *compiler.Fleet) error { return renderSaved(ctx, o, f) },
			})
		},
	}
}

// renderSaved returns the faults of vet --render of a fleet.
func renderSaved(ctx context.Context, o *options, f *compiler.Fleet) error {
	_, err := deliver.VetRendered(ctx, f, deliver.VetOptions{}, func() {})
	return err
}

// outputStream is the standard output as a stream of messages.
type outputStream struct{ io.Writer }

// Close implements [io.Closer].
func (outputStream) Close() error { return nil }

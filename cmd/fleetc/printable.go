package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/faults"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// exactFormats are the formats of results that are the bytes of a bundle.
var exactFormats = []string{"yaml"}

// printable makes the streams of a command printable: standard error, and standard
// output for a format of its result, unless that is exact. Text from outside cannot
// control a terminal or a CI system then.
func (o *options) printable(cmd *cobra.Command, format string) {
	stream := func(w io.Writer, form diag.Form) *diag.Writer {
		p := &diag.Writer{W: w, Form: form}
		if o.style(w).Colour {
			p.Colours = diff.Colours()
		}
		return p
	}
	cmd.SetErr(stream(cmd.ErrOrStderr(), diag.PlainText))
	form := diag.PlainText
	switch {
	case slices.Contains(exactFormats, format):
		return
	case faults.Format(format).IsDocument():
		form = diag.JSONText
	case format == string(faults.GitHub): // of a command that writes commands itself
		form = diag.CommandsText
	}
	cmd.SetOut(stream(cmd.OutOrStdout(), form))
}

// beneath returns the stream that a printable one writes to, or the stream itself.
func beneath(stream any) any {
	if w, ok := stream.(*diag.Writer); ok {
		return w.W
	}
	return stream
}

// flush writes what a printable stream holds of a line that has not ended.
func flush(stream io.Writer) error {
	if w, ok := stream.(*diag.Writer); ok {
		return w.Flush()
	}
	return nil
}

// ask writes a question, behind which the answer is typed.
func ask(w io.Writer, question string) error {
	if _, err := io.WriteString(w, question); err != nil {
		return err
	}
	return flush(w)
}

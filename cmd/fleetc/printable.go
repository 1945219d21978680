package main

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// exactFormats are formats whose output is exactly a bundle.
var exactFormats = []string{"yaml"}

// printable makes standard error and standard output printable, except for
// exact formats. So external text cannot control a terminal or a CI system.
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
	case diag.Format(format).IsDocument():
		form = diag.JSONText
	case format == string(diag.GitHub): // the command writes such commands itself
		form = diag.CommandsText
	}
	cmd.SetOut(stream(cmd.OutOrStdout(), form))
}

// unwrapStream returns the stream below a printable one, or the stream itself.
func unwrapStream(stream any) any {
	if w, ok := stream.(*diag.Writer); ok {
		return w.W
	}
	return stream
}

// flush writes an incomplete line of a printable stream.
func flush(stream io.Writer) error {
	if w, ok := stream.(*diag.Writer); ok {
		return w.Flush()
	}
	return nil
}

// ask writes a question whose answer is typed in the same line.
func ask(w io.Writer, question string) error {
	if _, err := io.WriteString(w, question); err != nil {
		return err
	}
	return flush(w)
}

// readAnswer reads the line that answers a question, without blanks at its ends.
func readAnswer(r io.Reader) (string, error) {
	const longest = 4096
	answer, err := bufio.NewReader(io.LimitReader(r, longest)).ReadString('\n')
	return strings.TrimSpace(answer), err
}

// isYes reports whether an answer agrees.
func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

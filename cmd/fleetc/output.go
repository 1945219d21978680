package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/spf13/cobra"
)

// resultIsFaults annotates a command whose result is a list of faults, which
// it writes to standard output if the format is a document.
const resultIsFaults = "result is faults"

// outputFormats annotates the flag --output with the formats of its command.
const outputFormats = "formats"

// outputFlag adds -o with the formats of the command's result, the default
// first. Faults are written in the same format. All commands have the format
// github: the default format with faults as commands of GitHub Actions.
func outputFlag(cmd *cobra.Command, formats ...string) {
	all := withGitHub(formats)
	flags := cmd.Flags()
	flags.StringP("output", "o", formats[0], "`format` of the output and of faults: "+strings.Join(all, ", "))
	_ = flags.SetAnnotation("output", outputFormats, formats)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
}

// withGitHub adds the format github, which all commands have.
func withGitHub(formats []string) []string {
	if slices.Contains(formats, string(diag.GitHub)) {
		return formats
	}
	return append(slices.Clone(formats), string(diag.GitHub))
}

// stdout is standard output. It keeps the first error of a write, because not all code that
// prints returns it.
type stdout struct {
	file   *os.File
	failed sync.Once
	err    error
}

// Write implements io.Writer.
func (w *stdout) Write(text []byte) (int, error) {
	n, err := w.file.Write(text)
	if err != nil {
		w.failed.Do(func() { w.err = err })
	}
	return n, err
}

// fault adds the fault of standard output, if it has one, to the error of a command.
func (w *stdout) fault(err error) error {
	if w.err == nil {
		return err
	}
	reason := w.err
	if path, ok := errors.AsType[*fs.PathError](reason); ok {
		reason = path.Err
	}
	fault := &diag.Diag{
		Code:  diag.CodeFileSystem,
		Msg:   "standard output cannot be written: " + reason.Error(),
		Hint:  "send it to a file on a disk with space, or to a program that reads it",
		Cause: w.err,
	}
	if errors.Is(err, errDifferences) || errors.Is(err, w.err) {
		return fault
	}
	var faults diag.List
	faults.Add(err)
	faults.Add(fault)
	return faults.Err()
}

// start reads the output format of a command.
func (o *options) start(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup("output")
	if flag == nil {
		return nil
	}
	format, formats := flag.Value.String(), flag.Annotations[outputFormats]
	switch o.output = format; {
	case slices.Contains(formats, format):
	case format == string(diag.GitHub):
		o.output = formats[0]
	default:
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("unknown output format %q", format), Hint: diag.OneOf(format, withGitHub(formats))}
	}
	o.started = diag.Format(format)
	o.printable(cmd, o.output)
	return nil
}

// report writes the faults of a command to standard error. If the command's
// result is its faults, it writes a document to standard output, even without
// faults, unless the command did not start, as with --help, or standard output
// has failed.
func (o *options) report(cmd *cobra.Command, err error, args []string) error {
	_, isResult := cmd.Annotations[resultIsFaults]
	format := o.started
	if format == "" && err != nil {
		format = formatOf(args)
	}
	isResult = isResult && format.IsDocument() && o.stdout.err == nil
	if err == nil && !isResult {
		return nil
	}
	w := cmd.ErrOrStderr()
	if isResult {
		w = cmd.OutOrStdout()
	}
	w, _ = unwrapStream(w).(io.Writer) // a report is already printable
	r := diag.Report{Err: err, Version: toolVersion(), Files: load.FaultFiles(o.dir)}
	return r.Write(w, format)
}

// formatOf returns the output format in arguments that cobra could not parse.
func formatOf(args []string) (format diag.Format) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "-o" || arg == "--output" {
			if i+1 < len(args) {
				format = diag.Format(args[i+1])
			}
		} else if value, ok := strings.CutPrefix(arg, "--output="); ok {
			format = diag.Format(value)
		} else if value, ok := strings.CutPrefix(arg, "-o"); ok {
			format = diag.Format(strings.TrimPrefix(value, "="))
		}
	}
	return format
}

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// writeResult writes the result of a command as JSON, or else as text. Functions that print
// text need not return errors of writes: stdout keeps the first.
func writeResult(cmd *cobra.Command, o *options, result any, text func(w io.Writer)) error {
	if o.output == "json" {
		return writeJSON(cmd.OutOrStdout(), result)
	}
	text(cmd.OutOrStdout())
	return nil
}

// writeMarkdownTable writes rows of cells. The first row is the header.
func writeMarkdownTable(w io.Writer, rows [][]string) {
	for i, row := range rows {
		for _, cell := range row {
			fmt.Fprintf(w, "| %s ", diff.MarkdownText(cell))
		}
		fmt.Fprintln(w, "|")
		if i == 0 {
			fmt.Fprintln(w, strings.Repeat("|---", len(row))+"|")
		}
	}
}

// newTable returns a writer of rows whose cells end with tabs, and writes the header.
func newTable(w io.Writer, header string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, header)
	return t
}

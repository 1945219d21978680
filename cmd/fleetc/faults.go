package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/faults"
)

// resultIsFaults annotates a command whose result is what is at fault: a
// document of faults goes to standard output, where its result would go.
const resultIsFaults = "result is faults"

// formatFlag adds --format to all commands.
func formatFlag(root *cobra.Command, o *options) {
	formats := faults.Formats()
	root.PersistentFlags().StringVar(&o.format, "format", formats[0], "`format` of faults: "+strings.Join(formats, ", "))
	_ = root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// start notes that the flags are read and a command begins.
func (o *options) start() error {
	if formats := faults.Formats(); !slices.Contains(formats, o.format) {
		return &diag.Diag{Msg: fmt.Sprintf("no format of faults is called %q", o.format), Hint: diag.OneOf(o.format, formats)}
	}
	o.started = faults.Format(o.format)
	return nil
}

// report writes the faults of a command that has ended: text and GitHub's
// commands to standard error; a document to standard output when faults are
// the command's result, else to standard error too, where it is out of the
// result's way. A document is there also when there are no faults, unless no
// command has started, such as for --help.
func (o *options) report(cmd *cobra.Command, err error, args []string) error {
	format := o.started
	if format == "" && err != nil {
		format = formatOf(args)
	}
	if err == nil && !format.IsDocument() {
		return nil
	}
	w := cmd.ErrOrStderr()
	if _, ok := cmd.Annotations[resultIsFaults]; ok && format.IsDocument() {
		w = cmd.OutOrStdout()
	}
	r := faults.Report{Err: err, Version: toolVersion(), Files: compiler.FaultFiles(o.dir)}
	return r.Write(w, format)
}

// formatOf returns the format that the arguments ask for. They have an error,
// before which the flag may not have been read.
func formatOf(args []string) (format faults.Format) {
	for i, a := range args {
		if a == "--" {
			break
		}
		if value, ok := strings.CutPrefix(a, "--format="); ok {
			format = faults.Format(value)
		} else if a == "--format" && i+1 < len(args) {
			format = faults.Format(args[i+1])
		}
	}
	return format
}

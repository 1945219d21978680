// Command fleetc compiles a fleet of Kubernetes clusters from CUE.
//
// It is large because each command has its flags, its help and its output here: files begin
// with the name of the command.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	_ "time/tzdata" // templates name time zones that some machines do not have

	_ "github.com/fleetc/fleetc/cmd/fleetc/memory"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// Exit statuses, as for kubectl diff.
const (
	exitDone        = 0 // done, or no difference
	exitDifferences = 1
	exitFailed      = 2
)

// errDifferences is returned by a command that found and printed differences,
// without other errors.
var errDifferences = errors.New("differences")

// orDifferences returns the error of a command or, without one, errDifferences if the
// command found differences.
func orDifferences(err error, found bool) error {
	if err == nil && found {
		return errDifferences
	}
	return err
}

func main() { os.Exit(run()) }

// run runs the command line and returns the exit status.
func run() int {
	// Helm's SDK writes warnings to the standard logger, and the Kubernetes client writes errors
	// to klog, which it also returns.
	log.SetOutput(io.Discard)
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctx, e := withExit(context.Background(), os.Exit)
	defer e.cancel()
	options := &options{stdout: stdout{file: os.Stdout}}
	options.limits.Grows = e.endAtOnce
	cmd, err := execute(ctx, options)
	err = options.stdout.fault(err)
	status := exitDone
	var plugin exitStatus
	switch {
	case err == nil:
	case errors.As(err, &plugin):
		return int(plugin)
	case errors.Is(err, errDifferences):
		status, err = exitDifferences, nil
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		status, err = exitFailed, errInterrupted
	default:
		status = exitFailed
	}
	if options.report(cmd, err, os.Args[1:]) == nil {
		return status
	}
	_ = options.report(cmd, options.stdout.fault(err), os.Args[1:])
	return exitFailed
}

// execute runs the command of the command line.
func execute(ctx context.Context, o *options) (*cobra.Command, error) {
	limits, err := limitsOf(os.Getenv)
	if err != nil {
		return newRootCommand(o), err
	}
	o.limits.Time, o.limits.Memory = limits.Time, limits.Memory
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], cobra.ShellCompRequestCmd) {
		// Completion does not wait for the network.
		if err := onlyCachedModules(); err != nil {
			return newRootCommand(o), err
		}
	}
	root := newRootCommand(o)
	root.SetOut(&o.stdout)
	return o.execute(ctx, root)
}

// execute runs a root command and flushes its streams.
func (o *options) execute(ctx context.Context, root *cobra.Command) (*cobra.Command, error) {
	cmd, err := root.ExecuteContextC(ctx)
	if o.endProgress != nil {
		o.endProgress()
	}
	return cmd, cmp.Or(err, flush(cmd.OutOrStdout()), flush(cmd.ErrOrStderr()))
}

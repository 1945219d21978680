package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// serveOptions are the flags of drift --serve.
type serveOptions struct {
	address  string
	interval time.Duration
	git      gitOptions // of the fleet
}

// serveFlags adds --serve and the flags that need it.
func (d *driftOptions) serveFlags(cmd *cobra.Command) {
	f, s := cmd.Flags(), &d.serve
	f.StringVar(&s.address, "serve", "", "check at each interval, and serve metrics at this `address`, such as :9090")
	f.DurationVar(&s.interval, "interval", 5*time.Minute, "with --serve, the time from one round of checks to the next")
	f.StringVar(&s.git.address, "git", "", "with --serve, check the fleet in the git repository with this `URL`")
	f.StringVar(&s.git.branch, "branch", "", "`branch` in the repository of --git (default: its default branch)")
	f.StringVar(&s.git.path, "path", "", "`directory` of the fleet in the repository of --git (default: the top directory)")
	_ = cmd.RegisterFlagCompletionFunc("path", cobra.NoFileCompletions)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if s.git.address != "" && (cmd.Flags().Changed("selector") || cmd.Flags().Changed("environment")) {
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "-l and -e cannot be used with --git: they select clusters of this directory", Hint: "pass cluster patterns instead, as in 'prod/*'"}
		}
		return nil
	}
}

// checkServe validates the flags of --serve.
func (d *driftOptions) checkServe(cmd *cobra.Command) error {
	s := &d.serve
	for _, flag := range []struct{ name, needs string }{{"interval", "serve"}, {"git", "serve"}, {"branch", "git"}, {"path", "git"}} {
		if cmd.Flags().Changed(flag.name) && !cmd.Flags().Changed(flag.needs) {
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--" + flag.name + " needs --" + flag.needs, Hint: "add --" + flag.needs}
		}
	}
	switch {
	case !cmd.Flags().Changed("serve"):
	case d.fix:
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--serve cannot be used with --fix: it only reads from clusters", Hint: "leave out --serve, and run fleetc drift --fix for each repair"}
	case strings.HasPrefix(s.address, "-"):
		return &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  fmt.Sprintf("--serve takes %q as its address", diag.Visible(s.address, diag.MaxText)),
			Hint: "write an address after --serve, as in --serve :9090",
		}
	case cmd.Flags().Changed("output"):
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--serve cannot be used with -o", Hint: "leave out one of them"}
	case s.address == "":
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "the value of --serve is empty", Hint: "write an address, as in --serve :9090"}
	case s.interval < time.Second:
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--interval does not accept %s", s.interval), Hint: "pass a second or more, as in --interval 5m"}
	case !cmd.Flags().Changed("check-timeout"):
		d.Timeout = min(d.Timeout, s.interval) // so that a slow cluster does not delay the next round
	case d.Timeout > s.interval:
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--check-timeout is longer than --interval", Hint: "a slow cluster would delay the next round: pass a shorter one"}
	}
	return nil
}

// runServer serves until the context ends.
func (d *driftOptions) runServer(cmd *cobra.Command, o *options) (err error) {
	d.OnDelay = nil // the log has the faults
	ctx := cmd.Context()
	s := deliver.DriftServerOptions{
		DriftRequest: d.DriftRequest, Interval: d.serve.interval, Log: slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)),
		Compiler: func(dir string) *compiler.Compiler {
			c := o.compiler()
			c.Dir, c.Jobs = dir, cmp.Or(o.jobs, 1) // one cluster after the other, to use little memory
			return c
		},
		Pull: func(context.Context) (string, string, error) { return o.dir, "", nil },
	}
	if git := &d.serve.git; git.address != "" {
		remote, openErr := git.open(cmd, o)
		if openErr != nil {
			return openErr
		}
		defer func() { err = cmp.Or(err, remote.Close()) }()
		path := strings.Trim(git.path, "/")
		if path != "" && !filepath.IsLocal(filepath.FromSlash(path)) {
			return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--path does not accept %q", diag.Visible(git.path, diag.MaxText)), Hint: "name a directory in the repository"}
		}
		s.Pull = func(ctx context.Context) (string, string, error) {
			dir, commit, err := remote.Pull(ctx, git.branch)
			return filepath.Join(dir, filepath.FromSlash(path)), commit, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", d.serve.address)
	if err != nil {
		return &diag.Diag{
			Code:  diag.CodeNetwork,
			Msg:   "no listener at " + diag.Visible(d.serve.address, diag.MaxText) + ": " + listenText(err),
			Hint:  "pass a free address, as in --serve :9090",
			Cause: err,
		}
	}
	return deliver.ServeDrift(mayUndo(ctx), l, s)
}

// listenText returns the reason of a listener's error.
func listenText(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

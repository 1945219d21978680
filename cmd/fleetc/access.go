package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// accessFlags adds the flags that configure access to clusters.
func accessFlags(cmd *cobra.Command, into *cluster.Access) {
	f := cmd.Flags()
	f.StringVar(&into.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: the files in KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&into.Impersonate.User, "as", "", "impersonate this `user`, or a service account as system:serviceaccount:NAMESPACE:NAME")
	f.StringSliceVar(&into.Impersonate.Groups, "as-group", nil, "also impersonate this `group`; may be repeated")
	f.StringVar(&into.Impersonate.UID, "as-uid", "", "also impersonate this `UID`")
	_ = cmd.MarkFlagFilename("kubeconfig")
	var mu sync.Mutex
	into.OnDelay = func(id, reason string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: waits: %s\n", id, diag.Line(reason, diag.MaxText))
	}
}

// completeAccess checks the flags, and sets the user agent and the plugin
// runner, which are the same for all commands.
func completeAccess(o *options, a *cluster.Access) (err error) {
	if a.Impersonate.User == "" && (len(a.Impersonate.Groups) > 0 || a.Impersonate.UID != "") {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--as-group and --as-uid do not say which user to impersonate", Hint: "pass --as USER"}
	}
	if a.Kubeconfig != "" { // commands of actions run in another directory
		if a.Kubeconfig, err = filepath.Abs(o.path(a.Kubeconfig)); err != nil {
			return err
		}
	}
	a.Agent = "fleetc/" + toolVersion()
	if o.progress != nil {
		a.BeforePlugin = o.progress.beforePlugin
	}
	self, err := os.Executable()
	a.PluginRunner = []string{self, pluginCommand}
	return err
}

// pluginCommand is the name of the command that runs a credential plugin.
const pluginCommand = "credential-plugin"

// An exitStatus is the exit status of a credential plugin that has printed its
// errors.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// newPluginCommand returns the hidden command that runs a credential plugin
// with a time limit.
func newPluginCommand() *cobra.Command {
	return &cobra.Command{
		Use:                pluginCommand + " LIMIT COMMAND [ARGUMENT...]",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return &diag.Diag{Code: diag.CodeArguments, Msg: pluginCommand + " takes a limit and a command"}
			}
			limit, err := time.ParseDuration(args[0])
			if err != nil {
				return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%q is not a valid duration", args[0]), Cause: err}
			}
			status, err := cluster.RunCredentialPlugin(cmd.Context(), limit, args[1:], os.Stdin, cmd.OutOrStdout(), os.Stderr)
			if err != nil || status == 0 {
				return err
			}
			return exitStatus(status)
		},
	}
}

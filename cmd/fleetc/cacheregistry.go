package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/export/oci"
)

// cacheRegistryFlag adds --cache-registry to a complete command. While the
// command runs, it shares rendered charts.
func cacheRegistryFlag(cmd *cobra.Command, o *options) {
	const name = "cache-registry"
	var text string
	cmd.Flags().StringVar(&text, name, "", "share rendered releases with other machines, at `oci://REGISTRY/PATH`")
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed(name) {
			return run(cmd, args)
		}
		switch {
		case o.offline:
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--" + name + " needs the network, but --offline is set", Hint: "leave --offline or --" + name + " out"}
		case o.noCache:
			return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--" + name + " and --no-cache cannot be combined", Hint: "leave out one of them"}
		}
		at, err := oci.ParseRepository(text)
		if err != nil {
			return err
		}
		if o.shared, err = oci.NewCache(cmd.Context(), at); err != nil {
			return err
		}
		o.build = sharedBuildID()
		defer func() {
			// A JSON document of faults must not contain other text.
			if why := o.shared.Close(); why != "" && !o.started.IsDocument() {
				fmt.Fprintf(cmd.ErrOrStderr(), "--%s: %s\n", name, why)
			}
		}()
		return run(cmd, args)
	}
}

package main

import (
	"errors"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/spf13/cobra"
)

const initLong = `init creates a fleet in a directory. It writes cue.mod/module.cue with the given
module path, a first environments/fleet.cue, and copies of fleetc's CUE schema
and libraries below cue.mod/pkg, where editors and the cue command find them.

In an existing fleet, init updates the copies and leaves everything else alone.
Run it there after you install a new version of fleetc.`

const initExample = `  fleetc init example.com/infra
  fleetc init`

func newInitCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "init [MODULE]",
		Short:   "Create a fleet, or update its copies of the schema and libraries",
		Long:    initLong,
		Example: initExample,
		Args:    argCount(0, 1, "init takes one module path", "run fleetc init --help"),
		RunE: func(cmd *cobra.Command, args []string) error {
			module := ""
			if len(args) == 1 {
				module = args[0]
			}
			files, err := edit.Init(o.compiler(), module)
			if o.output == "text" {
				files = foldPackages(files)
			}
			unchanged := func(name string) string { return name }
			return errors.Join(err, writeNames(cmd, o, files, unchanged))
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

// foldPackages returns file names, with one line for each vendored package.
func foldPackages(files []string) []string {
	var out []string
	for i := 0; i < len(files); i++ {
		dir := path.Dir(files[i])
		if !strings.HasPrefix(dir, "cue.mod/pkg/") {
			out = append(out, files[i])
			continue
		}
		n := 1
		for ; i+1 < len(files) && path.Dir(files[i+1]) == dir; i++ {
			n++
		}
		out = append(out, dir+": "+diag.Count(n, "file", "files"))
	}
	return out
}

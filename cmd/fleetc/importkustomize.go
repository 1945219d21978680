package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

const importKustomizeLong = `kustomize builds overlays, and writes their objects as a release of the fleet.
Each overlay is a cluster, with the name of its directory as ID, or another one
with directories for layers: prod/eu=overlays/prod-eu. For several
overlays of a cluster, write the name of the release after a colon:
dev:shop=shop/dev.

The layers of the fleet take the place of bases, components and patches: a field
that is equal in all overlays goes to the root, and so on. Overlays with
generators or replacements stay kustomizations, in the directory kustomize.

Bases must be in the same git repository as the overlays.`

const importKustomizeExample = `  fleetc import kustomize ../app/overlays/dev ../app/overlays/prod
  fleetc import kustomize dev=../app/overlays/dev prod/eu=../app/overlays/eu prod/us=../app/overlays/us --release shop
  fleetc import kustomize dev:shop=../shop/dev dev:cart=../cart/dev prod:shop=../shop/prod prod:cart=../cart/prod`

func newImportKustomizeCommand(o *options) *cobra.Command {
	var flags importFlags
	var opts importer.OverlayOptions
	cmd := &cobra.Command{
		Use:               "kustomize [ID[:RELEASE]=]DIR...",
		Short:             "Import kustomize overlays",
		Long:              importKustomizeLong,
		Example:           importKustomizeExample,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, o, func(*compiler.Compiler) (*importer.Model, error) {
				if len(args) == 0 {
					return nil, &diag.Diag{Code: diag.CodeArguments, Msg: "no overlay is named", Hint: "write the directories of overlays, as in overlays/dev overlays/prod"}
				}
				var err error
				opts.Overlays, err = importer.ParseOverlays(args, func(dir string) string { return directoryName(o.path(dir)) })
				if err != nil {
					return nil, err
				}
				for i := range opts.Overlays {
					opts.Overlays[i].Dir = o.path(opts.Overlays[i].Dir)
				}
				opts.Kubernetes, opts.ProveWith = flags.kubernetes, flags.ProveWith
				return importer.ReadOverlays(cmd.Context(), opts)
			})
		},
	}
	flags.add(cmd, importer.KustomizeProgram)
	cmd.Flags().StringVar(&opts.Release, "release", "", "`name` of the release for overlays without a name (default: the name of the repository's directory)")
	return cmd
}

// directoryName returns the name of a directory, which may be written as a dot.
func directoryName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

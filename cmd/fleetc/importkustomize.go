package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer/overlays"
)

const importKustomizeLong = `kustomize builds overlays, and writes their objects as a release of the fleet. Each
overlay is a cluster, with the name of its directory as ID, or another one with
directories for layers: prod/eu=overlays/prod-eu.

The layers of the fleet take the place of bases, components and patches: a field that
is equal in all overlays goes to the root, and so on. To keep a kustomization as it is,
write a release with kustomize: "DIRECTORY" instead.

Bases must be in the same git repository as the overlays.`

const importKustomizeExample = `  fleetc import kustomize ../app/overlays/dev ../app/overlays/prod
  fleetc import kustomize dev=../app/overlays/dev prod/eu=../app/overlays/eu prod/us=../app/overlays/us --release shop`

func newImportKustomizeCommand(o *options) *cobra.Command {
	var flags importFlags
	var opts overlays.Options
	cmd := &cobra.Command{
		Use:     "kustomize [ID=]DIR...",
		Short:   "Import kustomize overlays",
		Long:    importKustomizeLong,
		Example: importKustomizeExample,
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.resolve(o); err != nil {
				return err
			}
			if len(args) == 0 {
				return &diag.Diag{Msg: "no overlay is named", Hint: "write the directories of overlays, as in overlays/dev overlays/prod"}
			}
			seen := map[string]bool{}
			for _, text := range args {
				overlay, err := overlays.ParseOverlay(text, func(dir string) string { return absolute(o.path(dir)) })
				if err != nil {
					return err
				}
				if seen[overlay.ID] {
					return &diag.Diag{Msg: "two clusters are called " + overlay.ID, Hint: "give each overlay another ID: ID=DIR"}
				}
				seen[overlay.ID] = true
				opts.Overlays = append(opts.Overlays, overlay)
			}
			opts.Kubernetes = flags.kubernetes
			c := o.compiler()
			if _, err := c.Module(); err != nil {
				return err
			}
			model, err := overlays.Read(cmd.Context(), opts)
			if err != nil {
				return err
			}
			return runImport(cmd, o, model, &flags)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&opts.Release, "release", "", "`name` of the release (default: the name of the repository's directory)")
	return cmd
}

// absolute returns the absolute path of a file, or the path itself where there is none.
func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

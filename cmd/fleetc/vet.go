package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

const vetLong = `vet checks the fleet: layers, defaults, references, that every chart is there
with the digest that is pinned, and the values of every release against the
types of its chart: misspelt and unread ones too. It renders nothing, which
makes it fast enough for a pre-commit hook; --render also renders every release
and checks the objects that come out.

All faults of all clusters are reported at once, a fault of a shared layer once
with the clusters it concerns. With --format json or sarif they are the only
thing on standard output, also when there are none.

--kubernetes rehearses an upgrade: it checks all clusters as if they ran that
version, and with --render lists what it no longer serves, by release. Layers
still see the version that the clusters declare.

--since checks only the clusters that affected lists, which may be none.`

const vetExample = `  fleetc vet
  fleetc vet --render 'prod/*'
  fleetc vet --render --since git:origin/main
  fleetc vet --render --kubernetes 1.37`

func newVetCommand(o *options) *cobra.Command {
	var render bool
	var kubernetes, since string
	var shard func() (fleet.Shard, error)
	cmd := &cobra.Command{
		Use:               "vet [CLUSTER...]",
		Short:             "Check the fleet",
		Long:              vetLong,
		Example:           vetExample,
		ValidArgsFunction: clusterArgs(o),
		Annotations:       map[string]string{resultIsFaults: "true"},
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if since != "" {
				clusters, err := affectedSince(cmd, o, since, patterns)
				if err != nil {
					return err
				}
				if patterns = present(clusters); len(patterns) == 0 {
					if o.started.IsDocument() {
						return nil
					}
					_, err = fmt.Fprintln(cmd.OutOrStdout(), "0 clusters: no faults")
					return err
				}
			}
			c := o.compiler()
			c.Kubernetes = kubernetes
			var err error
			if c.Shard, err = shard(); err != nil {
				return err
			}
			f, err := c.Load(cmd.Context(), patterns...)
			if err != nil {
				return err
			}
			summary, err := vet(cmd, f, render)
			if err != nil || o.started.IsDocument() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), summary)
			return err
		},
	}
	cmd.Flags().BoolVar(&render, "render", false, "also render every release and check its objects")
	cmd.Flags().StringVar(&kubernetes, "kubernetes", "", "check as if all clusters ran this `version`")
	sinceFlag(cmd, &since)
	shard = shardFlag(cmd)
	cacheRegistryFlag(cmd, o)
	return cmd
}

// vet checks what a loaded fleet renders to, when asked to, and returns what
// was checked.
func vet(cmd *cobra.Command, f *compiler.Fleet, render bool) (string, error) {
	var releases, objects int
	for _, c := range f.Clusters {
		releases += len(c.Releases)
	}
	summary := plural(len(f.Clusters), "cluster", "clusters") + ", " + plural(releases, "release", "releases")
	if !render {
		return summary + ": no faults", nil
	}
	var faults diag.List
	p := newProgress(cmd, len(f.Clusters))
	for b, err := range f.Bundles(cmd.Context()) {
		faults.Add(err)
		if b != nil {
			objects += len(b.Objects)
		}
		p.step()
	}
	p.clear()
	return summary + ", " + plural(objects, "object", "objects") + ": no faults", faults.Err()
}

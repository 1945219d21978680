package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const listLong = `list shows the clusters of the fleet, and with -o json also their releases. It
evaluates the layers, and needs neither charts nor a network.`

const listExample = `  fleetc list
  fleetc list prod -o json | jq -r '.[].id'`

func newListCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [CLUSTER...]",
		Short:   "List the clusters",
		Long:    listLong,
		Example: listExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			f, err := o.compiler().Clusters(cmd.Context(), patterns...)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, listClusters(f), func(w io.Writer) { listTable(w, f) })
		},
	}
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

func listTable(w io.Writer, f *fleet.Fleet) {
	t := newTable(w, "CLUSTER\tENVIRONMENT\tKUBERNETES\tCONTEXT\tRELEASES")
	for _, c := range f.Clusters {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\n", c.ID, cmp.Or(c.Environment, "-"), c.KubeVersion, cmp.Or(c.KubeContext, "-"), len(c.Releases))
	}
	_ = t.Flush()
}

// A listedCluster is a cluster in the output of list -o json.
type listedCluster struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Environment string            `json:"environment,omitempty"`
	Kubernetes  string            `json:"kubernetes"`
	Context     string            `json:"context,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Facts       map[string]any    `json:"facts,omitempty"`
	Stages      []string          `json:"stages"`
	Releases    []listedRelease   `json:"releases"`
}

type listedRelease struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"`
	Stage     string   `json:"stage"`
	Level     int      `json:"level,omitempty"`
	Depends   []string `json:"depends,omitempty"`
	Chart     string   `json:"chart,omitempty"`
	Digest    string   `json:"digest,omitempty"`
}

// listClusters converts the clusters of a fleet to the JSON output.
func listClusters(f *fleet.Fleet) []listedCluster {
	out := make([]listedCluster, len(f.Clusters))
	for i, c := range f.Clusters {
		out[i] = listedCluster{
			ID: c.ID, Name: c.Name, Environment: c.Environment, Kubernetes: c.KubeVersion, Context: c.KubeContext,
			Labels: c.Labels, Facts: c.Facts, Stages: c.Stages, Releases: []listedRelease{},
		}
		for _, r := range c.Releases {
			out[i].Releases = append(out[i].Releases, listedRelease{
				Name: r.Name, Namespace: r.Namespace, Stage: r.Stage, Level: r.Level, Depends: r.Depends, Chart: r.Chart.String(), Digest: r.Chart.Digest,
			})
		}
	}
	return out
}

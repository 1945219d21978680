package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"k8s.io/apimachinery/pkg/labels"
)

// Selector selects clusters by fields of their layers: a cluster must match the labels and
// be in one of the environments. The zero value selects all clusters.
type Selector struct {
	Labels       string   // label selector of Kubernetes, as in tier=gold,region in (eu,us)
	Environments []string // values of the field environment
}

// SelectClusters returns the IDs of the clusters that the patterns and the selector
// select, sorted. It evaluates the layers of all clusters that the patterns select. It
// fails if no cluster is selected, or if faults in layers hide the fields of a cluster.
func SelectClusters(ctx context.Context, c *compiler.Compiler, s Selector, patterns ...string) ([]string, error) {
	selector, err := labels.Parse(s.Labels)
	if err != nil {
		return nil, &diag.Diag{
			Code:  diag.CodeFlagValue,
			Msg:   fmt.Sprintf("%q is not a valid label selector", diag.Visible(s.Labels, diag.MaxText)),
			Hint:  "write it as for kubectl: tier=gold, tier!=gold, or 'region in (eu,us)'",
			Cause: err,
		}
	}
	loaded, err := c.ReadLayers(patterns)
	if loaded == nil {
		return nil, err
	}
	e := c.Unify(ctx, loaded, err)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	all := e.All().Clusters
	readable := func(in load.Cluster) bool {
		return slices.ContainsFunc(all, func(c *fleet.Cluster) bool { return c.ID == in.ID })
	}
	if e.Faults != nil && (len(loaded.Clusters) == 0 || slices.ContainsFunc(loaded.Clusters, func(in load.Cluster) bool { return !readable(in) })) {
		return nil, e.Faults
	}
	if err := s.checkEnvironments(all, patterns); err != nil {
		return nil, err
	}
	var selected []string
	for _, c := range all {
		if selector.Matches(labels.Set(c.Labels)) && (len(s.Environments) == 0 || slices.Contains(s.Environments, c.Environment)) {
			selected = append(selected, c.ID)
		}
	}
	slices.Sort(selected)
	if len(selected) == 0 {
		return nil, s.selectsNothing(all, patterns)
	}
	return selected, nil
}

// noCluster begins the fault of a selector that selects none of the clusters of the patterns.
func noCluster(patterns []string) string {
	if len(patterns) == 0 {
		return "no cluster "
	}
	return "no cluster that " + diag.Visible(strings.Join(patterns, ", "), diag.MaxText) + " selects "
}

// checkEnvironments reports environments that no cluster is in.
func (s Selector) checkEnvironments(clusters []*fleet.Cluster, patterns []string) error {
	var known []string
	for _, c := range clusters {
		if c.Environment != "" {
			known = append(known, c.Environment)
		}
	}
	known = diag.Distinct(known)
	var faults diag.List
	for _, name := range s.Environments {
		if !slices.Contains(known, name) {
			faults.Add(&diag.Diag{
				Code: diag.CodeNoMatch,
				Msg:  noCluster(patterns) + fmt.Sprintf("is in environment %q", diag.Visible(name, diag.MaxText)),
				Hint: cmp.Or(diag.OneOf(name, known), "list clusters and their environments with fleetc list"),
			})
		}
	}
	return faults.Err()
}

// selectsNothing returns the fault of a selector that selects none of the clusters.
func (s Selector) selectsNothing(clusters []*fleet.Cluster, patterns []string) error {
	var known []string
	for _, c := range clusters {
		for key, value := range c.Labels {
			known = append(known, key+"="+value)
		}
	}
	msg := noCluster(patterns) + fmt.Sprintf("matches the label selector %q", diag.Visible(s.Labels, diag.MaxText))
	if len(s.Environments) > 0 {
		msg += " in environment " + strings.Join(s.Environments, ", ")
	}
	return &diag.Diag{
		Code: diag.CodeNoMatch,
		Msg:  msg,
		Hint: cmp.Or(diag.OneOf(strings.ReplaceAll(s.Labels, "==", "="), diag.Distinct(known)), "list clusters and their labels with fleetc list -o json"),
	}
}

package compiler

import (
	"context"
	"errors"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/bounded"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/stage/health"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/unify"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// An evaluation is the clusters of a fleet without their charts.
type evaluation struct {
	*fleet.Fleet                  // of the clusters without faults; nil when there is no fleet
	atFault      []*fleet.Cluster // the others, as far as they can be read
	faults       error            // of all
}

// all returns the fleet with all of its clusters that can be read.
func (e evaluation) all() *fleet.Fleet {
	all := *e.Fleet
	all.Clusters = slices.Concat(e.Clusters, e.atFault)
	return &all
}

// unify evaluates what is read, of which err has the faults.
func (c *Compiler) unify(ctx context.Context, loaded *load.Fleet, err error) evaluation {
	if loaded == nil {
		return evaluation{faults: err}
	}
	var faults diag.List
	faults.Add(err)
	e := evaluation{Fleet: &fleet.Fleet{Dir: loaded.Root, Module: loaded.Module}}
	evaluated := ordered.Map(ctx, c.jobs(), len(loaded.Clusters), func(ctx context.Context, i int) (*fleet.Cluster, error) {
		in := loaded.Clusters[i]
		cluster, err := bounded.Run(ctx, c.Limits, func() (*fleet.Cluster, error) {
			return unify.Cluster(loaded.Root, in.ID, in.Layers, in.Instance)
		})
		if over, ok := errors.AsType[*bounded.Excess](err); ok {
			err = unify.Excess(loaded.Root, in.ID, in.Instance, over)
		}
		if c.Kubernetes != "" && cluster != nil {
			cluster.KubeVersion = c.Kubernetes
		}
		if err == nil {
			err = validate.Cluster(cluster)
		}
		if err == nil {
			err = health.Check(cluster)
		}
		return cluster, err
	})
	for cluster, err := range evaluated {
		faults.Add(err)
		switch {
		case err == nil:
			e.Clusters = append(e.Clusters, cluster)
		case cluster != nil:
			e.atFault = append(e.atFault, cluster)
		}
	}
	if err := ctx.Err(); err != nil {
		return evaluation{faults: err}
	}
	e.faults = withForms(faults.Err(), e.all().Clusters, true)
	return e
}

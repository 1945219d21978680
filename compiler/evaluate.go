package compiler

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/secret"
	"github.com/fleetc/fleetc/compiler/stage/unify"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// Evaluation is the clusters of a fleet before their charts are read.
type Evaluation struct {
	*fleet.Fleet                  // clusters without faults; nil when the directory is not a fleet
	atFault      []*fleet.Cluster // clusters with faults, if they could be evaluated
	Faults       error            // of all clusters
	SOPSFiles    *secret.Files    // files of secrets; nil when Fleet is
}

// All returns the fleet with all evaluated clusters, including those with faults.
func (e Evaluation) All() *fleet.Fleet {
	all := *e.Fleet
	all.Clusters = slices.Concat(e.Clusters, e.atFault)
	return &all
}

// Unify evaluates the layers that were read. err has the faults of reading them.
func (c *Compiler) Unify(ctx context.Context, loaded *load.Fleet, err error) Evaluation {
	if loaded == nil {
		return Evaluation{Faults: err}
	}
	var faults diag.List
	faults.Add(err)
	e := Evaluation{Fleet: &fleet.Fleet{Dir: loaded.Root, Module: loaded.Module}, SOPSFiles: secret.NewFiles(loaded.Root)}
	evaluated := par.Map(ctx, c.Parallel(), len(loaded.Clusters), func(ctx context.Context, i int) (*fleet.Cluster, error) {
		in := loaded.Clusters[i]
		evaluate := func() (*fleet.Cluster, error) { return c.evaluateCluster(ctx, loaded, in, e.SOPSFiles) }
		if c.Memo != nil {
			return c.Memo(in, evaluate)
		}
		return evaluate()
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
		return Evaluation{Faults: err}
	}
	e.Faults = fleet.WithForms(faults.Err(), e.All().Clusters, true)
	return e
}

// evaluateCluster evaluates the layers of one cluster and checks it.
func (c *Compiler) evaluateCluster(ctx context.Context, loaded *load.Fleet, in load.Cluster, files *secret.Files) (*fleet.Cluster, error) {
	cluster, err := par.RunLimited(ctx, c.Limits, func() (*fleet.Cluster, error) {
		if err := loaded.CheckEmbedded(in); err != nil {
			return nil, diag.In(in.ID, err)
		}
		return unify.Cluster(loaded.Root, in.ID, in.Layers, in.Instance)
	})
	if over, ok := errors.AsType[*par.Excess](err); ok {
		err = unify.Excess(loaded.Root, in.ID, in.Instance, over)
	}
	if c.Kubernetes != "" && cluster != nil {
		cluster.KubeVersion = c.Kubernetes
	}
	if err == nil {
		err = validate.Cluster(cluster)
	}
	if err == nil {
		err = kube.CheckHealthRules(cluster)
	}
	if err == nil {
		err = cmp.Or(secret.CheckLayers(cluster, loaded.IDs), secret.Bind(cluster, files))
	}
	return cluster, err
}

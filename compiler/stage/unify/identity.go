package unify

import (
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Identity evaluates of a cluster only its context, UID and destination of Argo CD. It
// reports no faults of CUE: a field that cannot be evaluated is empty.
func Identity(root, id string, layers []fleet.Layer, in *build.Instance) (*fleet.Cluster, error) {
	embedded := relocate(root, in)
	if err := checkCalls(root, in); err != nil {
		return nil, diag.In(id, err)
	}
	e := newEvaluation(cuecontext.New(), root, layers, in, embedded)
	v := e.cctx.BuildInstance(withoutPolicies(in))
	c := &fleet.Cluster{ID: id}
	if context := lookup(v, "cluster.context"); context.Exists() {
		c.KubeContext, _ = context.String()
		c.ContextPos = diag.CUEPos(root, e.sourcePos(context))
	}
	if uid := lookup(v, "cluster.uid"); uid.Exists() {
		c.UID, _ = uid.String()
	}
	c.Name, _ = lookup(v, "cluster.name").String()
	c.Pos = diag.CUEPos(root, e.sourcePos(lookup(v, "cluster.name")))
	c.GitOps = e.gitops(v, new(diag.List))
	embedded.cluster(c)
	return c, nil
}

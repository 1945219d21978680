package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// Rendering is the result of one release, for the API versions that it saw.
type Rendering struct {
	done     bool
	SeenAPIs []string // API versions
	crdAPIs  []string // API versions of its CRDs
	Result   render.Result
	Err      error
}

// ClusterRendering is the results of all releases of a cluster.
type ClusterRendering struct {
	Cluster    *fleet.Cluster
	Releases   []*fleet.Release  // in the order of their steps
	Renderings []Rendering       // of the releases
	hooks      []fleet.Object    // separate hooks, set by Objects
	checks     []fleet.RuleCheck // checks of the targets of patches, set by Objects
	crds       []fleet.Object    // CRDs that the cluster has without a release
}

// Render renders the releases of a cluster. Charts see the API versions of Kubernetes and
// of all CRDs of releases in their step or an earlier one. Charts that read API versions are
// rendered again until the CRDs of the result are those that they saw.
func (f *Fleet) Render(ctx context.Context, c *fleet.Cluster) (*ClusterRendering, error) {
	compare := func(a, b *fleet.Release) int { return c.CompareSteps(a.ApplyStep(), b.ApplyStep()) }
	releases := slices.SortedStableFunc(slices.Values(c.Releases), compare)
	all := &ClusterRendering{Cluster: c, Releases: releases, Renderings: make([]Rendering, len(releases)), crds: f.KnownCRDs[c.ID]}
	defer f.groups.release(c)
	if err := f.renderAll(ctx, all, compare); err != nil {
		return nil, err
	}
	all.place(&f.Kinds)
	return all, nil
}

// renderOne renders a release that sees the given API versions.
func (f *Fleet) renderOne(ctx context.Context, c *fleet.Cluster, r *fleet.Release, apis []string) Rendering {
	result, err := par.Recover(func() (render.Result, error) { return f.Source(ctx, c, r, apis) })
	if f.unshared {
		copyContents(result.Objects)
		copyContents(result.Hooks)
	}
	return Rendering{done: true, SeenAPIs: apis, crdAPIs: render.APIs(result.Objects), Result: result, Err: err}
}

// place sets the namespaces of objects. Whether a kind has a namespace depends on the CRDs
// of all releases.
func (all *ClusterRendering) place(kinds *validate.Checker) {
	var objs []fleet.Object
	for _, r := range all.Renderings {
		objs = append(append(objs, r.Result.Objects...), r.Result.Hooks...)
	}
	kinds.Namespaces(all.Cluster, objs)
	for i := range all.Renderings {
		r := &all.Renderings[i].Result
		n, m := len(r.Objects), len(r.Objects)+len(r.Hooks)
		r.Objects, r.Hooks, objs = objs[:n:n], objs[n:m:m], objs[m:]
	}
}

// Objects returns the objects of all releases, patched and without nondeterministic
// fields, or all faults. It returns objects beside faults of ownership, for further
// checks.
func (all *ClusterRendering) Objects(kinds *validate.Checker, keep render.Keeper) ([]fleet.Object, error) {
	var faults diag.List
	var objs []fleet.Object
	all.hooks, all.checks = nil, nil
	type span struct{ release, from, to int }
	var complete []span // the objects of releases without a fault
	for i, r := range all.Releases {
		one, err := all.Renderings[i].Result, all.Renderings[i].Err
		parts := slices.Concat(one.Objects, one.Hooks)
		if err == nil {
			err = render.DecideRandom(r, render.Result{Objects: parts, Nondeterministic: one.Nondeterministic}, keepRenamed(all.Cluster, r, keep))
		}
		if err == nil {
			var checks []fleet.RuleCheck
			parts, checks, err = objects.CheckedObjects(all.Cluster, r, parts)
			all.checks = append(all.checks, checks...)
		}
		from := len(objs)
		for _, o := range parts {
			if o.Unapplied {
				all.hooks = append(all.hooks, o)
			} else {
				objs = append(objs, o)
			}
		}
		if err == nil {
			complete = append(complete, span{i, from, len(objs)})
		}
		faults.Add(err)
	}
	incomplete := len(faults) > 0
	crds := slices.Concat(objs, all.crds)
	for _, in := range complete {
		faults.Add(objects.CheckOwnership(all.Cluster, all.Releases[in.release], objs[in.from:in.to], crds))
	}
	if incomplete {
		return nil, faults.Err()
	}
	for i, o := range objs {
		objs[i] = kinds.Unmarked(o) // removes the marks of exports
	}
	return objs, faults.Err()
}

// keepRenamed returns a keeper for rendered objects, which patches may rename; nil without one.
func keepRenamed(c *fleet.Cluster, r *fleet.Release, keep render.Keeper) render.Keeper {
	if keep == nil {
		return nil
	}
	return func(o fleet.Object, field []string) (any, bool, error) { return keep(objects.Renamed(c, r, o), field) }
}

// Hooks returns the hooks that an apply does not run, after [ClusterRendering.Objects].
func (all *ClusterRendering) Hooks() []fleet.Object { return all.hooks }

// served returns the API versions that a cluster serves without the CRDs of its
// releases.
func (f *Fleet) served(c *fleet.Cluster) []string {
	out := kube.Capabilities(c.KubeVersion)
	for _, a := range c.APIs {
		out = append(out, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	return out
}

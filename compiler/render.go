package compiler

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/patch"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// maxRounds limits how often charts are rendered again because the CRDs of others changed.
const maxRounds = 10

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

// renderAll renders the releases of a cluster, which are in the order of compare.
func (f *Fleet) renderAll(ctx context.Context, all *ClusterRendering, compare func(a, b *fleet.Release) int) error {
	c, served := all.Cluster, f.served(all.Cluster)
	if err := f.renderFirst(ctx, all, served); err != nil {
		return err
	}
	for range maxRounds {
		again := false
		for i, r := range all.Releases {
			last := &all.Renderings[i]
			if !f.readsAPIs(r) {
				continue
			}
			apis := slices.Clone(served)
			for j, other := range all.Releases {
				if compare(other, r) <= 0 {
					apis = append(apis, all.Renderings[j].crdAPIs...)
				}
			}
			slices.Sort(apis)
			if apis = slices.Compact(apis); last.done && slices.Equal(last.SeenAPIs, apis) {
				continue
			}
			*last = f.renderOne(ctx, c, r, apis)
			again = true
		}
		if !again {
			return nil
		}
	}
	return &diag.Diag{
		Code: diag.CodeNotConverging,
		At:   []diag.Pos{c.Pos}, Msg: "charts do not converge: whether they render CRDs depends on each other's CRDs",
		Hint: "list the API versions that the charts read in cluster.apis",
	}
}

// readsAPIs reports whether the objects of a release may depend on the API versions that it
// sees.
func (f *Fleet) readsAPIs(r *fleet.Release) bool {
	return f.Charts[r.Chart].readsAPIs || r.Jsonnet != "" || valuesReadAPIs(r.Values)
}

// valuesReadAPIs reports whether a value may be a template that reads API versions.
func valuesReadAPIs(t *fleet.Tree) bool {
	if t == nil {
		return false
	}
	for _, f := range t.Fields {
		if valuesReadAPIs(f) {
			return true
		}
	}
	if text, ok := t.Scalar.(string); ok && render.TextUsesAPIVersions(text) {
		return true
	}
	return slices.ContainsFunc(t.List, valuesReadAPIs)
}

// crdsOf returns the API versions of the CRDs in the crds directories of a chart.
func (f *Fleet) crdsOf(ch *fleet.Chart) []string {
	return f.crdDirs.Get(ch, func() []string {
		return f.Results.APIs(ch.Digest, func() []string { return f.Templates.CRDs(ch) })
	})
}

// renderFirst renders, in parallel, the releases that do not read API versions. For the
// others, it sets the API versions of the CRDs in the crds directories of their charts,
// which are mostly all that they render.
func (f *Fleet) renderFirst(ctx context.Context, all *ClusterRendering, served []string) error {
	var running sync.WaitGroup
	faults := make([]error, len(all.Releases))
	for i, r := range all.Releases {
		one, ch := &all.Renderings[i], f.Charts[r.Chart]
		switch {
		case !f.readsAPIs(r):
			running.Go(func() { *one = f.renderOne(ctx, all.Cluster, r, served) })
		case ch.Chart != nil:
			running.Go(func() {
				one.crdAPIs, faults[i] = par.Recover(func() ([]string, error) { return f.crdsOf(ch.Chart), nil })
			})
		}
	}
	running.Wait()
	return cmp.Or(faults...)
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
			err = render.DecideRandom(r, render.Result{Objects: parts, Nondeterministic: one.Nondeterministic}, keep)
		}
		if err == nil {
			var checks []fleet.RuleCheck
			parts, checks, err = patch.Checked(all.Cluster, r, parts)
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
		faults.Add(patch.CheckOwnership(all.Cluster, all.Releases[in.release], objs[in.from:in.to], crds))
	}
	if incomplete {
		return nil, faults.Err()
	}
	for i, o := range objs {
		objs[i] = kinds.Unmarked(o) // removes the marks of exports
	}
	return objs, faults.Err()
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

package compiler

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/stage/patch"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// maxRounds bounds how often charts are rendered again since the CRDs of
// others changed.
const maxRounds = 10

// Rendering is the result of one release, for the API versions that it saw.
type Rendering struct {
	done     bool
	SeenAPIs []string // API versions
	brings   []string // API versions of its CRDs
	Result   render.Result
	Err      error
}

// ClusterRendering is the results of all releases of a cluster.
type ClusterRendering struct {
	Cluster    *fleet.Cluster
	Releases   []*fleet.Release  // in the order of their steps
	Renderings []Rendering       // of the releases
	hooks      []fleet.Object    // that stand beside the objects, once these are asked for
	checks     []fleet.RuleCheck // of the targets of patches, once there are objects
	known      []fleet.Object    // CRDs that the cluster has without a release
}

// Render renders the releases of a cluster. Charts see the API versions of Kubernetes and
// of all CRDs of releases in their step or an earlier one. Charts that ask for API
// versions are rendered again until the CRDs of the result are those that they saw.
func (f *Fleet) Render(ctx context.Context, c *fleet.Cluster) (*ClusterRendering, error) {
	compare := func(a, b *fleet.Release) int { return c.CompareSteps(a.ApplyStep(), b.ApplyStep()) }
	releases := slices.SortedStableFunc(slices.Values(c.Releases), compare)
	all := &ClusterRendering{Cluster: c, Releases: releases, Renderings: make([]Rendering, len(releases)), known: f.KnownCRDs[c.ID]}
	defer f.sharing.done(c)
	if err := f.renderAll(ctx, all, compare); err != nil {
		return nil, err
	}
	all.place(&f.Kinds)
	return all, nil
}

// renderAll renders the releases of a cluster, which are in the order of their
// steps, by which compare orders them.
func (f *Fleet) renderAll(ctx context.Context, all *ClusterRendering, compare func(a, b *fleet.Release) int) error {
	c, served := all.Cluster, f.served(all.Cluster)
	if err := f.renderOthers(ctx, all, served); err != nil {
		return err
	}
	for range maxRounds {
		again := false
		for i, r := range all.Releases {
			last := &all.Renderings[i]
			if !f.asksForAPIs(r) {
				continue
			}
			saw := slices.Clone(served)
			for j, other := range all.Releases {
				if compare(other, r) <= 0 {
					saw = append(saw, all.Renderings[j].brings...)
				}
			}
			slices.Sort(saw)
			if saw = slices.Compact(saw); last.done && slices.Equal(last.SeenAPIs, saw) {
				continue
			}
			*last = f.renderOne(ctx, c, r, saw)
			again = true
		}
		if !again {
			return nil
		}
	}
	return &diag.Diag{
		At: []diag.Pos{c.Pos}, Msg: "the charts do not converge: whether they render CRDs depends on each other's CRDs",
		Hint: "list the API versions that charts look for in cluster.apis",
	}
}

// asksForAPIs reports whether what a release renders to may depend on the API
// versions that it sees.
func (f *Fleet) asksForAPIs(r *fleet.Release) bool {
	return f.Charts[r.Chart].asksForAPIs || r.Jsonnet != "" || valuesAskForAPIs(r.Values)
}

// valuesAskForAPIs reports whether a value may be a template that does.
func valuesAskForAPIs(t *fleet.Tree) bool {
	if t == nil {
		return false
	}
	for _, f := range t.Fields {
		if valuesAskForAPIs(f) {
			return true
		}
	}
	if text, ok := t.Scalar.(string); ok && render.TextUsesAPIVersions(text) {
		return true
	}
	return slices.ContainsFunc(t.List, valuesAskForAPIs)
}

// crdsOf returns the API versions that are in the crds directories of a chart.
func (f *Fleet) crdsOf(ch *fleet.Chart) []string {
	return f.crdDirs.Get(ch, func() []string {
		return f.Results.APIs(ch.Digest, func() []string { return f.Templates.CRDs(ch) })
	})
}

// renderOthers renders the releases that do not ask for API versions, at the same
// time. What the others bring is known when they are rendered: until then, it is
// taken for what is in the crds directories of their charts, which is mostly right.
func (f *Fleet) renderOthers(ctx context.Context, all *ClusterRendering, served []string) error {
	var running sync.WaitGroup
	faults := make([]error, len(all.Releases))
	for i, r := range all.Releases {
		one, ch := &all.Renderings[i], f.Charts[r.Chart]
		switch {
		case !f.asksForAPIs(r):
			running.Go(func() { *one = f.renderOne(ctx, all.Cluster, r, served) })
		case ch.Chart != nil:
			running.Go(func() {
				one.brings, faults[i] = ordered.Recover(func() ([]string, error) { return f.crdsOf(ch.Chart), nil })
			})
		}
	}
	running.Wait()
	return cmp.Or(faults...)
}

// renderOne renders a release that sees the given API versions.
func (f *Fleet) renderOne(ctx context.Context, c *fleet.Cluster, r *fleet.Release, saw []string) Rendering {
	result, err := ordered.Recover(func() (render.Result, error) { return f.Source(ctx, c, r, saw) })
	if f.plain {
		alone(result.Objects)
		alone(result.Hooks)
	}
	return Rendering{done: true, SeenAPIs: saw, brings: render.APIs(result.Objects), Result: result, Err: err}
}

// place puts the objects into their namespaces, which takes the CRDs of all
// releases.
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
func (all *ClusterRendering) Objects(kinds *validate.Checker, keep Keeper) ([]fleet.Object, error) {
	var faults diag.List
	var objs []fleet.Object
	all.hooks, all.checks = nil, nil
	type span struct{ release, from, to int }
	var complete []span // the objects of releases without a fault
	for i, r := range all.Releases {
		one, err := all.Renderings[i].Result, all.Renderings[i].Err
		parts := slices.Concat(one.Objects, one.Hooks)
		if err == nil {
			err = settle(r, render.Result{Objects: parts, Nondeterministic: one.Nondeterministic}, keep)
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
	crds := slices.Concat(objs, all.known)
	for _, in := range complete {
		faults.Add(patch.CheckOwnership(all.Cluster, all.Releases[in.release], objs[in.from:in.to], crds))
	}
	if incomplete {
		return nil, faults.Err()
	}
	for i, o := range objs {
		objs[i] = kinds.Unmarked(o) // what an exported one is without its marks
	}
	return objs, faults.Err()
}

// served returns the API versions that a cluster serves without the CRDs of its
// releases.
func (f *Fleet) served(c *fleet.Cluster) []string {
	out := kube.Capabilities(c.KubeVersion)
	for _, a := range c.APIs {
		out = append(out, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	return out
}

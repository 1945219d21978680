package compiler

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/stage/patch"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// maxRounds bounds how often charts are rendered again since the CRDs of
// others changed.
const maxRounds = 10

// A rendering is what a release rendered to, given some API versions.
type rendering struct {
	done   bool
	saw    []string // API versions
	brings []string // API versions of its CRDs
	result render.Result
	err    error
}

// A clusterRendering is what the releases of a cluster rendered to.
type clusterRendering struct {
	cluster    *fleet.Cluster
	releases   []*fleet.Release // in the order of their steps
	renderings []rendering      // of the releases
	hooks      []fleet.Object   // that stand beside the objects, once these are asked for
	known      []fleet.Object   // CRDs that the cluster has without a release
}

// render renders the releases of a cluster. Charts see the API versions of
// Kubernetes and of all CRDs that releases of their step or of an earlier one
// bring: those that ask for them are rendered again until the CRDs that came
// out are the CRDs that they saw.
func (f *Fleet) render(ctx context.Context, c *fleet.Cluster) (*clusterRendering, error) {
	compare := func(a, b *fleet.Release) int { return c.CompareSteps(a.ApplyStep(), b.ApplyStep()) }
	releases := slices.SortedStableFunc(slices.Values(c.Releases), compare)
	all := &clusterRendering{cluster: c, releases: releases, renderings: make([]rendering, len(releases)), known: f.known[c.ID]}
	defer f.sharing.done(c)
	if err := f.renderAll(ctx, all, compare); err != nil {
		return nil, err
	}
	all.place(&f.kinds)
	return all, nil
}

// renderAll renders the releases of a cluster, which are in the order of their
// steps, by which compare orders them.
func (f *Fleet) renderAll(ctx context.Context, all *clusterRendering, compare func(a, b *fleet.Release) int) error {
	c, served := all.cluster, f.served(all.cluster)
	if err := f.renderOthers(ctx, all, served); err != nil {
		return err
	}
	for range maxRounds {
		again := false
		for i, r := range all.releases {
			last := &all.renderings[i]
			if !f.asksForAPIs(r) {
				continue
			}
			saw := slices.Clone(served)
			for j, other := range all.releases {
				if compare(other, r) <= 0 {
					saw = append(saw, all.renderings[j].brings...)
				}
			}
			slices.Sort(saw)
			if saw = slices.Compact(saw); last.done && slices.Equal(last.saw, saw) {
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
		At: []diag.Pos{c.Pos}, Msg: "the charts never settle: they bring CRDs or not by what others bring",
		Hint: "list the API versions that charts look for in cluster.apis",
	}
}

// asksForAPIs reports whether what a release renders to may depend on the API
// versions that it sees.
func (f *Fleet) asksForAPIs(r *fleet.Release) bool {
	return f.charts[r.Chart].asksForAPIs || r.Jsonnet != "" || valuesAskForAPIs(r.Values)
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
	if text, ok := t.Scalar.(string); ok && render.TextAsksForAPIs(text) {
		return true
	}
	return slices.ContainsFunc(t.List, valuesAskForAPIs)
}

// crdsOf returns the API versions that are in the crds directories of a chart.
func (f *Fleet) crdsOf(ch *fleet.Chart) []string {
	return f.crdDirs.Get(ch, func() []string {
		return f.results.apis(ch.Digest, func() []string { return f.templates.CRDs(ch) })
	})
}

// renderOthers renders the releases that do not ask for API versions, at the same
// time. What the others bring is known when they are rendered: until then, it is
// taken for what is in the crds directories of their charts, which is mostly right.
func (f *Fleet) renderOthers(ctx context.Context, all *clusterRendering, served []string) error {
	var running sync.WaitGroup
	faults := make([]error, len(all.releases))
	for i, r := range all.releases {
		one, ch := &all.renderings[i], f.charts[r.Chart]
		switch {
		case !f.asksForAPIs(r):
			running.Go(func() { *one = f.renderOne(ctx, all.cluster, r, served) })
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
func (f *Fleet) renderOne(ctx context.Context, c *fleet.Cluster, r *fleet.Release, saw []string) rendering {
	result, err := ordered.Recover(func() (render.Result, error) { return f.source(ctx, c, r, saw) })
	if f.plain {
		alone(result.Objects)
		alone(result.Hooks)
	}
	return rendering{done: true, saw: saw, brings: render.APIs(result.Objects), result: result, err: err}
}

// place puts the objects into their namespaces, which takes the CRDs of all
// releases.
func (all *clusterRendering) place(kinds *validate.Checker) {
	var objs []fleet.Object
	for _, r := range all.renderings {
		objs = append(append(objs, r.result.Objects...), r.result.Hooks...)
	}
	kinds.Namespaces(all.cluster, objs)
	for i := range all.renderings {
		r := &all.renderings[i].result
		n, m := len(r.Objects), len(r.Objects)+len(r.Hooks)
		r.Objects, r.Hooks, objs = objs[:n:n], objs[n:m:m], objs[m:]
	}
}

// objects returns the objects of all releases, with what is random in them
// decided and with their patches; or all that is wrong with them. Beside faults of
// ownership alone stand the objects, for further checks.
func (all *clusterRendering) objects(kinds *validate.Checker, keep Keeper) ([]fleet.Object, error) {
	var faults diag.List
	var objs []fleet.Object
	all.hooks = nil
	type span struct{ release, from, to int }
	var complete []span // the objects of releases without a fault
	for i, r := range all.releases {
		one, err := all.renderings[i].result, all.renderings[i].err
		parts := slices.Concat(one.Objects, one.Hooks)
		if err == nil {
			err = settle(r, render.Result{Objects: parts, Volatile: one.Volatile}, keep)
		}
		if err == nil {
			parts, err = patch.Release(all.cluster, r, parts)
		}
		from := len(objs)
		for _, o := range parts {
			if o.Aside {
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
		faults.Add(patch.CheckOwnership(all.cluster, all.releases[in.release], objs[in.from:in.to], crds))
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
	out := capabilities(c.KubeVersion)
	for _, a := range c.APIs {
		out = append(out, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	return out
}

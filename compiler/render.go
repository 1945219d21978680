package compiler

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/patch"
	"github.com/fleetc/fleetc/compiler/render"
	"github.com/fleetc/fleetc/compiler/validate"
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
	releases   []*fleet.Release // in the order of their stages
	renderings []rendering      // of the releases
	hooks      []fleet.Object   // that stand beside the objects, once these are asked for
}

// render renders the releases of a cluster. Charts see the API versions of
// Kubernetes and of all CRDs that releases of their stage or of an earlier one
// bring: those that ask for them are rendered again until the CRDs that came
// out are the CRDs that they saw.
func (f *Fleet) render(ctx context.Context, c *fleet.Cluster) (*clusterRendering, error) {
	stage := func(r *fleet.Release) int { return slices.Index(c.Stages, r.Stage) }
	releases := slices.SortedStableFunc(slices.Values(c.Releases), func(a, b *fleet.Release) int { return cmp.Compare(stage(a), stage(b)) })
	all := &clusterRendering{cluster: c, releases: releases, renderings: make([]rendering, len(releases))}
	served := f.served(c)
	for range maxRounds {
		again := false
		for i, r := range releases {
			ch, last := f.charts[r.Chart], &all.renderings[i]
			if last.done && !ch.asksForAPIs && r.Jsonnet == "" {
				continue
			}
			saw := slices.Clone(served)
			for j, other := range releases {
				if stage(other) <= stage(r) {
					saw = append(saw, all.renderings[j].brings...)
				}
			}
			slices.Sort(saw)
			if saw = slices.Compact(saw); last.done && slices.Equal(last.saw, saw) {
				continue
			}
			result, err := f.source(ctx, c, r, saw)
			*last = rendering{done: true, saw: saw, brings: render.APIs(result.Objects), result: result, err: err}
			again = true
		}
		if !again {
			return all, nil
		}
	}
	return nil, &diag.Diag{
		At: []diag.Pos{c.Pos}, Msg: "the charts never settle: they bring CRDs or not by what others bring",
		Hint: "list the API versions that charts look for in cluster.apis",
	}
}

// objects returns the objects of all releases, with what is random in them
// decided and with their patches; or all that is wrong with them.
func (all *clusterRendering) objects(keep keeper) ([]fleet.Object, error) {
	var faults diag.List
	var objs []fleet.Object
	for _, r := range all.renderings {
		objs = append(append(objs, r.result.Objects...), r.result.Hooks...)
	}
	validate.Namespaces(all.cluster, objs)
	objs, all.hooks = objs[:0], nil
	for i, r := range all.releases {
		one, err := all.renderings[i].result, all.renderings[i].err
		if err == nil {
			err = settle(r, one, keep)
		}
		if err == nil {
			one.Objects, err = patch.Release(all.cluster, r, slices.Concat(one.Objects, one.Hooks))
		}
		for _, o := range one.Objects {
			if o.Aside {
				all.hooks = append(all.hooks, o)
			}
		}
		one.Objects = slices.DeleteFunc(one.Objects, func(o fleet.Object) bool { return o.Aside })
		if err == nil {
			err = patch.CheckOwnership(all.cluster, r, one.Objects)
		}
		faults.Add(err)
		objs = append(objs, one.Objects...)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	for _, o := range objs {
		fleet.Unmark(o.Unstructured) // what an exported one is without its marks
	}
	return objs, nil
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

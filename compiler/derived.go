package compiler

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// derivedSecrets returns a fault for each field that a chart computes from the reference to
// a secret, such as a hash: it would be that of the reference, and not of the value. It also
// returns the names of these secrets by release. Each release whose values refer to secrets
// is rendered again, with other references.
func (f *Fleet) derivedSecrets(ctx context.Context, c *fleet.Cluster, all *ClusterRendering) (map[*fleet.Release][]string, error) {
	var faults diag.List
	found := map[*fleet.Release][]string{}
	for i, r := range all.Releases {
		names := secret.ValueNames(r)
		if len(names) == 0 || all.Renderings[i].Err != nil || len(f.derivedFrom(ctx, all, i, names)) == 0 {
			continue
		}
		for _, name := range names { // which one is it?
			for _, d := range f.derivedFrom(ctx, all, i, []string{name}) {
				faults.Add(secret.Derived(r, d.object, d.path, name))
				found[r] = append(found[r], name)
			}
		}
	}
	return found, diag.In(c.ID, faults.Err())
}

// A derivedField is a field that depends on the reference to a secret.
type derivedField struct {
	object fleet.Object
	path   []string
}

// derivedFrom returns the fields of the i-th release that change when the references to the
// secrets with the names do, but for the references and for checksums.
func (f *Fleet) derivedFrom(ctx context.Context, all *ClusterRendering, i int, names []string) []derivedField {
	r, one := all.Releases[i], all.Renderings[i]
	again := f.renderOne(ctx, all.Cluster, secret.WithOtherDigests(r, names), one.SeenAPIs)
	if again.Err != nil {
		return nil // the chart has its own faults
	}
	before := secret.WithoutDigests(slices.Concat(one.Result.Objects, one.Result.Hooks))
	after := secret.WithoutDigests(f.placed(all, slices.Concat(again.Result.Objects, again.Result.Hooks)))
	var out []derivedField
	for _, part := range render.Differences(before, after) {
		isRandom := func(n render.NondeterministicPart) bool {
			return n.Object == part.Object && len(part.Path) >= len(n.Path) && slices.Equal(part.Path[:len(n.Path)], n.Path)
		}
		if part.Object < 0 || slices.ContainsFunc(one.Result.Nondeterministic, isRandom) {
			continue
		}
		d := derivedField{object: before[part.Object], path: part.Path}
		oldValue, _ := fleet.Lookup(d.object.Object, part.Path)
		var newValue any
		if part.Second >= 0 {
			newValue, _ = fleet.Lookup(after[part.Second].Object, part.Path)
		}
		if !secret.IsChecksum(part.Path, oldValue, newValue) {
			out = append(out, d)
		}
	}
	return out
}

// placed returns objects with the namespaces that they have in the cluster.
func (f *Fleet) placed(all *ClusterRendering, objs []fleet.Object) []fleet.Object {
	var others []fleet.Object
	for _, r := range all.Renderings {
		others = append(append(others, r.Result.Objects...), r.Result.Hooks...)
	}
	out := slices.Concat(others, objs)
	f.Kinds.Namespaces(all.Cluster, out)
	return out[len(others):]
}

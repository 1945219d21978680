package apply

import (
	"context"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// Unhealthy is an object that is not ready.
type Unhealthy struct {
	ID string
	health.Verdict
}

// Unhealthy returns the objects of the inventory that are not ready, by the rules
// of the cluster, and those of the releases in it that Helm delivers. Those whose
// status says nothing are taken as ready.
func (v *Inventory) Unhealthy(ctx context.Context, c *live.Cluster, of *fleet.Cluster) ([]Unhealthy, error) {
	rules, err := health.Compile(of)
	if err != nil {
		return nil, err
	}
	entries, err := v.delivered(ctx, c)
	if err != nil {
		return nil, err
	}
	objs := make([]fleet.Object, len(entries))
	err = each(ctx, len(objs), func(ctx context.Context, i int) (err error) {
		objs[i].Release = &fleet.Release{Name: entries[i].Release}
		objs[i].Unstructured, err = c.Object(ctx, entries[i].ref())
		return err
	})
	if err != nil {
		return nil, err
	}
	var there []fleet.Object
	for _, o := range objs {
		if o.Unstructured != nil {
			there = append(there, o)
		}
	}
	rules.AddCRDs(there...)
	hide := health.Hider(secretsOf(there))
	var out []Unhealthy
	for i, o := range objs {
		verdict := rules.Judge(o)
		if entries[i].Kept || verdict.State == health.Missing && entries[i].Completed != "" || verdict.State == health.Ready || verdict.State == health.Unknown {
			continue
		}
		verdict.Reason = hide(verdict.Reason)
		out = append(out, Unhealthy{entries[i].id(), verdict})
	}
	return out, nil
}

// delivered returns the entries of the inventory with, in place of those of
// releases that Helm delivers, their objects. One that Helm does not know stays:
// it is missing.
func (v *Inventory) delivered(ctx context.Context, c *live.Cluster) ([]Entry, error) {
	var out []Entry
	for _, e := range v.Objects {
		if e.ref().GroupVersionKind != helmKind {
			out = append(out, e)
			continue
		}
		state, err := helm.Read(ctx, c, e.Namespace, e.Name)
		if err != nil {
			return nil, err
		}
		if state.Revision == 0 {
			out = append(out, e)
		}
		for _, o := range state.Objects {
			it := Item{ref: live.RefOf(o), Release: e.Release, Stage: e.Stage, object: o}
			if health.DeletesItself(o) {
				it.completed = it.contentDigest() // Helm waited for it
			}
			out = append(out, entryOf(it, ""))
		}
	}
	return out, nil
}

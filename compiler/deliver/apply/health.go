package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// UnhealthyObject is an object that is not ready. Its JSON field names are stable.
type UnhealthyObject struct {
	ID     string           `json:"id"`
	State  kube.HealthState `json:"state"`
	Reason string           `json:"reason"` // a clause, without values of Secrets
}

// String says in one line why the object is not ready.
func (o UnhealthyObject) String() string { return fmt.Sprintf("%s is %s: %s", o.ID, o.State, o.Reason) }

// Health is the health of all objects of an inventory.
type Health struct {
	Unhealthy []UnhealthyObject

	// ReadySince is the latest time at which an object became ready, as far as conditions
	// say so; zero if none does.
	ReadySince time.Time
}

// ObjectHealth returns the health of the objects of the inventory by the rules of the
// cluster, including objects of releases that Helm delivers. Objects without a conclusive
// status count as ready.
func (v *Inventory) ObjectHealth(ctx context.Context, c *cluster.Cluster, of *fleet.Cluster) (h Health, err error) {
	rules, err := kube.CompileHealthRules(of)
	if err != nil {
		return h, err
	}
	entries, err := v.delivered(ctx, c)
	if err != nil {
		return h, err
	}
	objs := make([]fleet.Object, len(entries))
	err = forEach(ctx, len(objs), func(ctx context.Context, i int) (err error) {
		objs[i].Release, objs[i].SecretFields = &fleet.Release{Name: entries[i].Release}, entries[i].secretPaths()
		objs[i].Unstructured, err = c.Object(ctx, entries[i].ref())
		return err
	})
	if err != nil {
		return h, err
	}
	existing := slices.DeleteFunc(slices.Clone(objs), func(o fleet.Object) bool { return o.Unstructured == nil })
	rules.AddCRDs(existing...)
	hide := kube.SecretHider(secretsOf(existing))
	for i, o := range objs {
		if o.Unstructured != nil {
			if t := kube.ReadySince(o.Unstructured); t.After(h.ReadySince) {
				h.ReadySince = t
			}
		}
		verdict := rules.Judge(o)
		mayBeMissing := entries[i].Pending || entries[i].Completed != ""
		if entries[i].Kept || verdict.State == kube.HealthMissing && mayBeMissing || verdict.State == kube.HealthReady || verdict.State == kube.HealthUnknown {
			continue
		}
		h.Unhealthy = append(h.Unhealthy, UnhealthyObject{entries[i].id(), verdict.State, diag.Line(hide(verdict.Reason), diag.MaxText)})
	}
	return h, nil
}

// delivered returns the entries of the inventory, with releases that Helm delivers
// replaced by their objects. A release without a record in Helm's storage stays an
// entry and counts as missing.
func (v *Inventory) delivered(ctx context.Context, c *cluster.Cluster) ([]Entry, error) {
	var out []Entry
	for _, e := range v.Objects {
		if e.ref().GroupVersionKind != helmKind {
			out = append(out, e)
			continue
		}
		state, err := cluster.HelmSecrets.Read(ctx, c, e.Namespace, e.Name)
		if err != nil {
			return nil, err
		}
		if state.Revision == 0 {
			out = append(out, e)
		}
		for _, o := range state.Objects {
			it := Item{ref: cluster.RefOf(o), Release: e.Release, Stage: e.Stage, object: o}
			if kube.DeletesItself(o) {
				it.completedDigest = it.contentDigest()
			}
			out = append(out, entryOf(it, ""))
		}
	}
	return out, nil
}

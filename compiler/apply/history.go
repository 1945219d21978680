package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// recordFormat is the version of how bundles are recorded.
const recordFormat = 1

// A Revision is a bundle that a cluster ran, and how it came to that.
type Revision struct {
	Number   int       `json:"number"` // from 1 on; each is higher than those before it
	Bundle   string    `json:"bundle"` // digest
	Commit   string    `json:"commit,omitempty"`
	Dirty    bool      `json:"dirty,omitempty"`
	Time     time.Time `json:"time"` // when the first apply with this number ended
	By       string    `json:"by"`
	Tool     string    `json:"tool"`
	Rollback int       `json:"rollback,omitempty"` // the revision that was gone back to; 0 for an apply
	Created  int       `json:"created"`            // objects, by the apply that ended
	Changed  int       `json:"changed"`
	Replaced int       `json:"replaced,omitempty"`
	Pruned   int       `json:"pruned"`
	Actions  []string  `json:"actions,omitempty"` // IDs of those of the cluster, sorted; they are not on record

	Times   int       `json:"times,omitempty"`   // how often the bundle was applied; 0 for once
	Applies []Applied `json:"applies,omitempty"` // the last ten of these, the newest at the end; none when there was one
	Folded  []int     `json:"folded,omitempty"`  // numbers of earlier revisions of the bundle, sorted

	// Parts are the names of the Secrets that hold the bundle: those of its
	// head, then of each release, and then of the charts that Helm delivers.
	// Revisions share those that are the same.
	Parts [][]string `json:"parts"`
}

// A bundleHead is the first part of a recorded bundle. The others are lists of
// texts of objects, and charts.
type bundleHead struct {
	Format   int                `json:"format"`
	Stages   []string           `json:"stages"`
	Health   []fleet.HealthRule `json:"health,omitempty"`
	Releases []recordedRelease  `json:"releases"`
	Objects  []int              `json:"objects"`         // of which release each is, in the order in which they apply
	CRDs     []int              `json:"crds,omitempty"`  // which of them are of crds directories of charts that Helm delivers
	Hooks    []recordedHook     `json:"hooks,omitempty"` // that stand beside them
}

// A recordedHook is a hook that stands beside the objects of a bundle.
type recordedHook struct {
	Release int            `json:"release"`
	Object  map[string]any `json:"object"`
}

// A recordedRelease is what of a release is more than its objects, and counts
// when they are applied.
type recordedRelease struct {
	Name      string             `json:"name"`
	Namespace string             `json:"namespace"`
	Stage     string             `json:"stage"`
	Level     int                `json:"level,omitempty"`
	Delivery  fleet.Delivery     `json:"delivery,omitempty"`
	Values    any                `json:"values,omitempty"` // of one that Helm delivers
	Health    []fleet.HealthRule `json:"health,omitempty"`
	Ownership []fleet.Ownership  `json:"ownership,omitempty"`
	Replace   []fleet.Replace    `json:"replace,omitempty"`
}

func (r recordedRelease) release() *fleet.Release {
	return &fleet.Release{Name: r.Name, Namespace: r.Namespace, Stage: r.Stage, Level: r.Level, Delivery: r.Delivery, Health: r.Health, Ownership: r.Ownership, Replace: r.Replace}
}

// recordOf is the inverse of release, without values.
func recordOf(r *fleet.Release) recordedRelease {
	return recordedRelease{Name: r.Name, Namespace: r.Namespace, Stage: r.Stage, Level: r.Level, Delivery: r.Delivery, Health: r.Health, Ownership: r.Ownership, Replace: r.Replace}
}

// checkHistory finds what fleetc does not write.
func checkHistory(history []Revision) error {
	last := 0
	for _, r := range history {
		if r.Number <= last {
			return &brokenError{"its revisions are not in order"}
		}
		last = r.Number
		if r.Bundle == "" || len(r.Parts) == 0 {
			return &brokenError{fmt.Sprintf("revision %d has no bundle", r.Number)}
		}
		for _, name := range slices.Concat(r.Parts...) {
			if !chunkNames.MatchString(name) {
				return &brokenError{fmt.Sprintf("revision %d is in Secret %s, which is not one of fleetc's", r.Number, name)}
			}
		}
	}
	return nil
}

// Current returns the revision that the cluster runs, nil when it runs none: an
// apply has not ended well, or was of a part of a bundle.
func (v *Inventory) Current() *Revision {
	if n := len(v.History); n > 0 && v.Bundle == v.History[n-1].Bundle {
		return &v.History[n-1]
	}
	return nil
}

// Holder returns who applies to a cluster at this moment, empty when nobody does.
func Holder(ctx context.Context, c *live.Cluster) (string, error) {
	return c.Holder(ctx, Namespace, leaseName)
}

// Revision returns the revision of the number, or the one that has the bundle of
// that number by now; for 0, the newest one with another bundle than the cluster
// runs. One that is not there is a fault.
func (v *Inventory) Revision(number int) (Revision, error) {
	for _, r := range slices.Backward(v.History) {
		if r.Number == number || slices.Contains(r.Folded, number) || number == 0 && r.Bundle != v.Bundle {
			return r, nil
		}
	}
	switch n := len(v.History); {
	case n == 0:
		return Revision{}, &diag.Diag{Msg: "the cluster has no history: no whole bundle was applied to it", Hint: "run fleetc apply"}
	case number == 0:
		return Revision{}, &diag.Diag{Msg: "the history has no other bundle than the one that the cluster runs", Hint: "run fleetc history"}
	default:
		return Revision{}, &diag.Diag{
			Msg:  fmt.Sprintf("the history has no revision %d: it has %d to %d", number, v.History[0].Number, v.History[n-1].Number),
			Hint: "run fleetc history",
		}
	}
}

// settle stores the record of a run that has ended well. With it, the whole
// bundle becomes a revision: one write has both.
func (r *runner) settle(ctx context.Context) error {
	if r.Destroy && r.whole() {
		return r.settleDestroyed(ctx)
	}
	number := 0
	if r.whole() {
		revision, err := r.revise(ctx)
		if err != nil {
			return err
		}
		r.record.History, number = remember(r.record.History, revision, r.Bundle.Cluster.History)
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	r.result.Revision = number
	return r.record.sweep(ctx, r.Live, r.lease.Check)
}

// revise stores the bundle, which nothing names until the inventory does, and
// returns what names it.
func (r *runner) revise(ctx context.Context) (Revision, error) {
	revision := Revision{
		Bundle: r.Bundle.Digest, Commit: r.Origin.Commit, Dirty: r.Origin.Dirty, Time: time.Now().UTC().Truncate(time.Second),
		By: r.By, Tool: r.Tool, Rollback: r.Origin.Rollback,
		Created: r.result.Created, Changed: r.result.Changed, Replaced: r.result.Replaced, Pruned: r.result.Pruned,
	}
	there, err := r.store().chunks(ctx)
	if err != nil {
		return Revision{}, err
	}
	has := map[string]bool{}
	for name := range there {
		has[name] = true
	}
	for _, a := range r.Bundle.Cluster.AllActions() {
		revision.Actions = append(revision.Actions, a.ID())
	}
	slices.Sort(revision.Actions)
	head, texts := dissect(r.Bundle, r.Charts)
	for _, part := range append([]any{head}, texts...) {
		packed, err := pack(part)
		if err != nil {
			return Revision{}, err
		}
		if err := r.lease.Check(ctx); err != nil {
			return Revision{}, err
		}
		names, err := r.store().writeChunks(ctx, bundlePrefix, packed, has)
		if err != nil {
			return Revision{}, err
		}
		revision.Parts = append(revision.Parts, names)
	}
	return revision, nil
}

// dissect returns the parts of a bundle: its head, and the texts of each
// release; then the charts of those that Helm delivers.
func dissect(b *fleet.Bundle, charts map[string]*fleet.Chart) (head bundleHead, parts []any) {
	head = bundleHead{Format: recordFormat, Stages: b.Cluster.Stages, Health: b.Cluster.Health, Releases: []recordedRelease{}, Objects: []int{}}
	index, of := map[string]int{}, make([][]string, len(b.Cluster.Releases))
	for i, r := range b.Cluster.Releases {
		index[r.Name] = i
		head.Releases = append(head.Releases, recordOf(r))
		of[i] = []string{}
	}
	for i, o := range b.Objects {
		at := index[o.Release.Name]
		head.Objects = append(head.Objects, at)
		of[at] = append(of[at], b.YAML[i].String())
		if o.CRD && o.Release.Delivery == fleet.ByHelm {
			head.CRDs = append(head.CRDs, i)
		}
	}
	for _, o := range b.Hooks {
		head.Hooks = append(head.Hooks, recordedHook{index[o.Release.Name], o.Object})
	}
	for _, t := range of {
		parts = append(parts, t)
	}
	for i, r := range b.Cluster.Releases {
		if r.Delivery == fleet.ByHelm {
			head.Releases[i].Values = r.Values.Value()
			parts = append(parts, recordedChart{charts[r.Name].Digest, charts[r.Name].Files})
		}
	}
	return head, parts
}

package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// recordFormat is the version of the format of recorded bundles.
const recordFormat = 1

// A Revision is a bundle in the history of a cluster.
type Revision struct {
	Number   int       `json:"number"` // increasing from 1
	Bundle   string    `json:"bundle"` // digest
	Commit   string    `json:"commit,omitempty"`
	Dirty    bool      `json:"dirty,omitempty"`
	Time     time.Time `json:"time"` // end of the first apply with this number
	By       string    `json:"by"`
	Tool     string    `json:"tool"`
	Rollback int       `json:"rollback,omitempty"` // revision that was rolled back to; 0 for an apply
	Created  int       `json:"created"`            // number of objects that the apply created
	Changed  int       `json:"changed"`
	Replaced int       `json:"replaced,omitempty"`
	Pruned   int       `json:"pruned"`
	Actions  []string  `json:"actions,omitempty"` // IDs of the cluster's actions, sorted; their definitions are not recorded

	Times   int           `json:"times,omitempty"`   // how often the bundle was applied; 0 for once
	Applies []ApplyRecord `json:"applies,omitempty"` // the last ten applies, the newest last; empty after the first
	Folded  []int         `json:"folded,omitempty"`  // earlier revision numbers of the same bundle, sorted

	// Parts are the names of the Secrets that store the bundle: its head, then each
	// release, then the charts of releases that Helm delivers. Revisions share
	// Secrets with equal content.
	Parts [][]string `json:"parts"`
}

// A bundleHead is the first part of a recorded bundle. The other parts are the
// objects of each release, as lists of texts, and charts.
type bundleHead struct {
	Format   int                `json:"format"`
	Stages   []string           `json:"stages"`
	Health   []fleet.HealthRule `json:"health,omitempty"`
	Releases []recordedRelease  `json:"releases"`
	Objects  []int              `json:"objects"`         // index of the release of each object, in the order of the apply
	CRDs     []int              `json:"crds,omitempty"`  // indexes of objects in crds directories of charts that Helm delivers
	Hooks    []recordedHook     `json:"hooks,omitempty"` // hooks that are not among the objects

	Secrets map[string]string `json:"secrets,omitempty"` // values of secrets by reference
}

// A recordedHook is a hook that is not among the objects of a bundle.
type recordedHook struct {
	Release int            `json:"release"`
	Object  map[string]any `json:"object"`
}

// A recordedRelease has the settings of a release that an apply needs.
type recordedRelease struct {
	Name      string             `json:"name"`
	Namespace string             `json:"namespace"`
	Stage     string             `json:"stage"`
	Level     int                `json:"level,omitempty"`
	Delivery  fleet.Delivery     `json:"delivery,omitempty"`
	Values    any                `json:"values,omitempty"` // of a release that Helm delivers
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

// checkHistory returns an error for a history that fleetc cannot have written.
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
				return &brokenError{fmt.Sprintf("revision %d is in Secret %s, which fleetc did not write", r.Number, name)}
			}
		}
	}
	return nil
}

// Current returns the revision that the cluster runs. It is nil when the last apply
// failed or was partial.
func (v *Inventory) Current() *Revision {
	if n := len(v.History); n > 0 && v.Bundle == v.History[n-1].Bundle {
		return &v.History[n-1]
	}
	return nil
}

// Holder returns the identity of the apply that is running, empty when there is
// none.
func Holder(ctx context.Context, c *cluster.Cluster) (string, error) {
	return c.Holder(ctx, Namespace, leaseName)
}

// Revision returns the revision with the number, or the newer one of the same
// bundle that replaced it. For 0, it returns the newest revision with a different
// bundle than the cluster runs, or the one to which an unfinished rollback goes back.
func (v *Inventory) Revision(number int) (Revision, error) {
	number = cmp.Or(number, v.Rollback)
	for _, r := range slices.Backward(v.History) {
		if r.Number == number || slices.Contains(r.Folded, number) || number == 0 && r.Bundle != v.Bundle {
			return r, nil
		}
	}
	switch n := len(v.History); {
	case n == 0:
		return Revision{}, &diag.Diag{Code: diag.CodeNoRevision, Msg: "the cluster has no history: no whole bundle was applied to it", Hint: "run fleetc apply"}
	case number == 0:
		return Revision{}, &diag.Diag{Code: diag.CodeNoRevision, Msg: "the history has only the bundle that the cluster runs", Hint: "correct the files of the fleet, and apply them"}
	default:
		return Revision{}, &diag.Diag{
			Code: diag.CodeNoRevision,
			Msg:  fmt.Sprintf("revision %d is not in the history, which has revisions %d to %d", number, v.History[0].Number, v.History[n-1].Number),
			Hint: "run fleetc history",
		}
	}
}

// recordSuccess stores the inventory of a successful run. An apply of the whole
// bundle adds a revision in the same write.
func (r *runner) recordSuccess(ctx context.Context) error {
	if r.Destroy && r.whole() {
		return r.recordDestroyed(ctx)
	}
	number := 0
	if r.whole() {
		revision, err := r.storeRevision(ctx)
		if err != nil {
			return err
		}
		r.record.History, number = addRevision(r.record.History, revision, r.Bundle.Cluster.History)
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	r.result.Revision = number
	return r.record.sweep(ctx, r.Live, r.lease.Check)
}

// storeRevision stores the bundle and returns its revision, which is not yet in the
// inventory.
func (r *runner) storeRevision(ctx context.Context) (Revision, error) {
	revision := Revision{
		Bundle: r.Bundle.Digest, Commit: r.Origin.Commit, Dirty: r.Origin.Dirty, Time: time.Now().UTC().Truncate(time.Second),
		By: r.By, Tool: r.Tool, Rollback: r.Origin.Rollback,
		Created: r.result.Created, Changed: r.result.Changed, Replaced: r.result.Replaced, Pruned: r.result.Pruned,
	}
	existing, err := r.store().chunks(ctx)
	if err != nil {
		return Revision{}, err
	}
	for _, a := range r.Bundle.Cluster.AllActions() {
		revision.Actions = append(revision.Actions, a.ID())
	}
	slices.Sort(revision.Actions)
	head, texts := bundleParts(r.Target)
	for _, part := range append([]any{head}, texts...) {
		packed, err := pack(part)
		if err != nil {
			return Revision{}, err
		}
		if err := r.lease.Check(ctx); err != nil {
			return Revision{}, err
		}
		names, err := r.store().writeChunks(ctx, bundlePrefix, packed, existing)
		if err != nil {
			return Revision{}, err
		}
		revision.Parts = append(revision.Parts, names)
	}
	return revision, nil
}

// bundleParts splits the bundle of a target into its recorded parts: the head, the texts of
// each release, and the charts of releases that Helm delivers.
func bundleParts(t Target) (head bundleHead, parts []any) {
	b := t.Bundle
	head = bundleHead{Format: recordFormat, Stages: b.Cluster.Stages, Health: b.Cluster.Health, Releases: []recordedRelease{}, Objects: []int{}, Secrets: t.Secrets}
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
			parts = append(parts, recordedChart{t.Charts[r.Name].Digest, t.Charts[r.Name].Files})
		}
	}
	return head, parts
}

// Action returns how the revision was created: by an apply or by a rollback.
func (v Revision) Action() string {
	if v.Rollback > 0 {
		return fmt.Sprintf("rollback to %d", v.Rollback)
	}
	return "apply"
}

// A RevisionReport is the JSON form of a revision for users. A Revision itself is encoded as
// the record in the cluster.
type RevisionReport struct {
	Revision int    `json:"revision"`
	Current  bool   `json:"current"`
	Time     string `json:"time"`
	By       string `json:"by"`
	Commit   string `json:"commit,omitempty"`
	Dirty    bool   `json:"dirty"`
	Bundle   string `json:"bundle"`
	Tool     string `json:"tool"`
	What     string `json:"what"` // apply or rollback
	Rollback int    `json:"rollbackTo,omitempty"`
	Created  int    `json:"created"`
	Changed  int    `json:"changed"`
	Pruned   int    `json:"pruned"`
	Replaced int    `json:"replaced"`

	Applied int           `json:"applied"` // number of applies of the bundle
	Applies []ApplyRecord `json:"applies"` // the last ten applies, the newest first
	Folded  []int         `json:"folded"`  // numbers of earlier revisions with the same bundle
}

// Report returns the JSON form of the revision.
func (v Revision) Report(current bool) RevisionReport {
	what, _, _ := strings.Cut(v.Action(), " ")
	applies := v.AllApplies()
	slices.Reverse(applies)
	return RevisionReport{
		Revision: v.Number, Current: current, Time: v.Time.Format(time.RFC3339), By: v.By, Commit: v.Commit, Dirty: v.Dirty, Bundle: v.Bundle,
		Tool: v.Tool, What: what, Rollback: v.Rollback, Created: v.Created, Changed: v.Changed, Pruned: v.Pruned, Replaced: v.Replaced,
		Applied: v.Count(), Applies: applies, Folded: append([]int{}, v.Folded...),
	}
}

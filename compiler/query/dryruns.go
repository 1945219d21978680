package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// DryRunAccess says how to connect to the running clusters that try a change in dry runs.
type DryRunAccess struct {
	cluster.Access
	AllowExec bool // whether secrets may run commands
}

// ChangedReleases are the names of releases with changes, by the ID of their cluster.
type ChangedReleases map[string]map[string]bool

// Add adds the releases of changes.
func (r ChangedReleases) Add(clusterID string, changes []diff.Change) {
	for _, c := range changes {
		if r[clusterID] == nil {
			r[clusterID] = map[string]bool{}
		}
		r[clusterID][c.Release] = true
	}
}

// DryRuns tries the bundles of changed clusters in dry runs, and returns found with a finding
// for each object of a changed release that its cluster refuses, and for each cluster that is
// not reachable. It writes nothing. A finding that two renderings show already is not
// repeated. The faults of a bundle are left to others.
func DryRuns(ctx context.Context, f *compiler.Fleet, changed ChangedReleases, access DryRunAccess, found []diff.Finding) ([]diff.Finding, error) {
	d := dryRuns{changed: changed, found: found}
	var clusters []*fleet.Cluster
	for _, c := range f.Clusters {
		switch {
		case changed[c.ID] == nil:
		case c.KubeContext == "":
			d.add(c.ID, diff.Finding{Reason: diff.NotTried, Severity: diff.Note, Text: "there was no dry run: the cluster has no kubeconfig context", Hint: "set cluster.context"})
		default:
			clusters = append(clusters, c)
		}
	}
	for p, err := range deliver.DryRuns(ctx, f, clusters, access.Access, access.AllowExec) {
		switch {
		case err != nil: // a fault of the bundle
		case p.Err != nil:
			d.add(p.Cluster.ID, diff.Finding{Reason: diff.NotTried, Severity: diff.Note, Text: "the dry run failed: " + p.Err.Error()})
		default:
			d.plan(p.Cluster.ID, p.Plan)
		}
	}
	return diff.GroupFindings(d.found), ctx.Err()
}

// dryRuns collects the findings of plans.
type dryRuns struct {
	changed ChangedReleases
	found   []diff.Finding
}

func (d *dryRuns) add(clusterID string, f diff.Finding) {
	f.Clusters = []string{clusterID}
	d.found = append(d.found, f)
}

// plan adds the findings of a plan.
func (d *dryRuns) plan(id string, p *apply.Plan) {
	for _, it := range p.Items {
		d.item(id, it)
		for _, part := range it.Parts {
			d.item(id, part)
		}
	}
	if len(p.MissingRights) > 0 {
		d.add(id, diff.Finding{
			Reason: diff.NotTried, Severity: diff.Note, Text: "some objects had no dry run, because the user is not allowed to patch or create them",
			Hint: cluster.RightsHint,
		})
	}
}

func (d *dryRuns) item(id string, it apply.Item) {
	if !d.changed[id][it.Release] {
		return
	}
	f := diff.Finding{Severity: diff.Breaks, Object: it.ID, Release: it.Release, Text: "the cluster rejects it: " + it.Reason, Hint: it.Hint}
	switch it.Action {
	case apply.Refused:
		f.Reason = diff.Refused
	case apply.Immutable:
		f.Reason = diff.ImmutableField
	case apply.Conflict:
		f.Reason, f.Text = diff.FieldConflict, "other managers own fields of it:"
		for i, field := range it.Fields {
			if i > 0 {
				f.Text += ","
			}
			f.Text += " " + field.Path + " (" + field.Manager + ")"
		}
	case apply.Prune:
		if it.Cascade.Count() == 0 {
			return
		}
		f.Reason, f.Hint = diff.ObjectDeleted, "make sure that nothing needs them"
		f.Text = fmt.Sprintf("its deletion deletes %d other objects in the cluster", it.Cascade.Count())
	default:
		return
	}
	known := func(k diff.Finding) bool {
		return k.Reason == f.Reason && k.Object == f.Object && slices.Contains(k.Clusters, id)
	}
	if f.Reason != diff.ImmutableField || !slices.ContainsFunc(d.found, known) {
		d.add(id, f)
	}
}

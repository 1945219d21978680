package query

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// against adds the differences from an earlier state of the fleet.
func (m *maker) against(ctx context.Context, c *compiler.Compiler, req ReportRequest) error {
	if req.Against == nil {
		return nil
	}
	old := *req.Against
	old.Clusters = req.Clusters
	found, err := Diff(ctx, c, old)
	if err != nil {
		return err
	}
	m.Against = req.Name
	for _, group := range found.Groups {
		for _, id := range group.Clusters {
			for _, change := range group.Changes {
				list := m.changes(id, change.Release)
				if list == nil {
					continue
				}
				out := ReportChange{Action: string(change.Action), Object: change.ID, Release: change.Release}
				for _, f := range change.Fields {
					if f.Path != "" {
						out.Fields = append(out.Fields, f.Path)
					}
				}
				addChange(list, out)
			}
		}
	}
	for _, whole := range found.Created {
		if c := m.cluster(whole.Cluster); c != nil {
			c.Created = true
		}
	}
	for _, whole := range found.Deleted {
		m.Deleted = append(m.Deleted, whole.Cluster)
	}
	for i := range m.Clusters {
		c := &m.Clusters[i]
		sortChanges(c.Changes)
		for j := range c.Releases {
			sortChanges(c.Releases[j].Changes)
		}
	}
	return nil
}

// changes returns the changes of the cell of a release, or those of the cluster if it has no
// such release; nil without the cluster.
func (m *maker) changes(clusterID, release string) *[]ReportChange {
	if cell := m.cell(clusterID, release); cell != nil {
		return &cell.Changes
	}
	if c := m.cluster(clusterID); c != nil {
		return &c.Changes
	}
	return nil
}

func sortChanges(list []ReportChange) {
	slices.SortFunc(list, func(a, b ReportChange) int {
		return slices.Compare([]string{a.Release, a.Object, a.Action}, []string{b.Release, b.Object, b.Action})
	})
}

// addChange adds a change. Changes of one object are in several groups if its fields change
// differently in other clusters.
func addChange(list *[]ReportChange, change ReportChange) {
	i := slices.IndexFunc(*list, func(other ReportChange) bool {
		return other.Object == change.Object && other.Action == change.Action && other.Release == change.Release
	})
	if i < 0 {
		*list = append(*list, change)
		return
	}
	fields := append((*list)[i].Fields, change.Fields...)
	(*list)[i].Fields = diag.Distinct(fields)
}

// live adds the state of the running clusters. The error holds the faults of clusters that
// could not be checked.
func (m *maker) live(ctx context.Context, c *compiler.Compiler, req ReportRequest) error {
	if req.Live == nil {
		return nil
	}
	check := *req.Live
	check.Clusters = req.Clusters
	found, err := deliver.CheckDrift(ctx, c, check)
	if err != nil {
		return err
	}
	m.Live = true
	for _, one := range found.Clusters {
		c := m.cluster(one.ID)
		if c == nil {
			continue
		}
		state := &ReportLiveState{Behind: one.Behind, Checked: one.Checked}
		if r := one.Running; r != nil {
			state.Revision, state.Commit = r.Revision, r.Commit
		}
		state.Faults = append(state.Faults, one.Faults...)
		c.Live = state
		for _, f := range one.Findings {
			m.addFinding(state, one.ID, f)
		}
	}
	return found.Err()
}

// addFinding adds a finding about an object. The values of its fields stay in the cluster.
func (m *maker) addFinding(state *ReportLiveState, id string, f deliver.DriftFinding) {
	if f.Reason == deliver.DriftUnhealthy {
		state.Unhealthy++
	} else {
		state.Drifted++
	}
	out := ReportLiveFinding{Object: f.ID, Reason: string(f.Reason)}
	for _, field := range f.Fields {
		out.Fields = append(out.Fields, field.Path)
		for _, by := range field.By {
			if name := by.Manager; !slices.Contains(out.By, name) {
				out.By = append(out.By, name)
			}
		}
	}
	if cell := m.cell(id, f.Release); cell != nil {
		cell.Findings = append(cell.Findings, out)
	} else {
		state.Findings = append(state.Findings, out)
	}
}

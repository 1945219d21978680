package edit

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// MarshalJSON encodes the group for the output of a command.
func (g *UpdateGroup) MarshalJSON() ([]byte, error) {
	var faults diag.List
	faults.Add(g.Failed)
	faults.Add(g.Faults)
	return diag.MarshalJSON(struct {
		Name     string              `json:"name"`
		Title    string              `json:"title"`
		Updates  []Update            `json:"updates"`
		Files    []string            `json:"files"`
		Faults   []diag.Fault        `json:"faults"` // new faults of the fleet, and why updates cannot be made
		Values   []ChartValueChanges `json:"values"`
		Notes    []ReleaseNotes      `json:"notes"`
		Findings []diff.Finding      `json:"beforeYouMerge"`
		Rendered diff.Result         `json:"rendered"`
		BodyFile string              `json:"bodyFile,omitempty"`
	}{
		g.Name, g.Title(), g.Updates, append([]string{}, g.Files...), diag.FaultsOf(faults.Err()), append([]ChartValueChanges{}, g.Values...),
		append([]ReleaseNotes{}, g.Notes...), append([]diff.Finding{}, g.Findings...), g.Rendered, g.BodyFile,
	})
}

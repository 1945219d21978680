package updates

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// A GroupReport is a group in JSON.
type GroupReport struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Updates  []Update       `json:"updates"`
	Files    []string       `json:"files"`
	Faults   []diag.Fault   `json:"faults"` // new faults of the fleet, and why updates cannot be made
	Values   []ChartValues  `json:"values"`
	Notes    []Notes        `json:"notes"`
	Findings []diff.Finding `json:"beforeYouMerge"`
	Rendered diff.Result    `json:"rendered"`
}

// Report returns the group for JSON.
func (g *Group) Report() GroupReport {
	var faults diag.List
	faults.Add(g.Failed)
	faults.Add(g.Faults)
	return GroupReport{
		Name: g.Name, Title: g.Title(), Updates: g.Updates, Files: append([]string{}, g.Files...), Faults: diag.FaultsOf(faults.Err()),
		Values: append([]ChartValues{}, g.Values...), Notes: append([]Notes{}, g.Notes...), Findings: append([]diff.Finding{}, g.Findings...), Rendered: g.Rendered,
	}
}

package edit

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// MarshalJSON encodes the changes for the output of a command.
func (u *ChartUpdate) MarshalJSON() ([]byte, error) {
	return diag.MarshalJSON(struct {
		Chart    string         `json:"chart"`
		Version  string         `json:"version"`
		Digest   string         `json:"digest"`
		Written  bool           `json:"written"`
		Files    []string       `json:"files"`
		Moves    []Move         `json:"moves"`
		Faults   []diag.Fault   `json:"faults"`
		Findings []diff.Finding `json:"beforeYouMerge"`
		Rendered diff.Result    `json:"rendered"`
	}{
		u.Chart.Ref.Location(), u.Chart.Version, u.Chart.Ref.Digest, u.Written, append([]string{}, u.Files...), append([]Move{}, u.Moves...),
		diag.FaultsOf(u.Faults), append([]diff.Finding{}, u.Findings...), u.Rendered,
	})
}

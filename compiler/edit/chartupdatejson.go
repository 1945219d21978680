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

// MarshalJSON encodes the move for the output of a command.
func (m Move) MarshalJSON() ([]byte, error) {
	type value struct {
		Path   string `json:"path"`
		Change string `json:"change"`
		Before string `json:"was,omitempty"`
		After  string `json:"is,omitempty"`
	}
	out := struct {
		From     string   `json:"from"`
		To       string   `json:"to"`
		Clusters []string `json:"clusters"`
		Values   []value  `json:"values"`
		Unknown  string   `json:"unknown,omitempty"`
	}{From: m.OldVersion, To: m.NewVersion, Clusters: m.Clusters, Values: []value{}}
	for _, c := range m.Values {
		out.Values = append(out.Values, value{c.Path, string(c.Kind), c.Was, c.Is})
	}
	if m.Unknown != nil {
		out.Unknown = m.Unknown.Error()
	}
	return diag.MarshalJSON(out)
}

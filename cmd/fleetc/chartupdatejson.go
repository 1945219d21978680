package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// An updateReport is a compiler.ChartUpdate in the output of chart update -o
// json.
type updateReport struct {
	Chart    string          `json:"chart"`
	Version  string          `json:"version"`
	Digest   string          `json:"digest"`
	Written  bool            `json:"written"`
	Files    []string        `json:"files"`
	Moves    []updateMove    `json:"moves"`
	Faults   []diag.Fault    `json:"faults"`
	Findings []diff.Finding  `json:"beforeYouMerge"`
	Rendered json.RawMessage `json:"rendered"`
}

type updateMove struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	Clusters []string      `json:"clusters"`
	Values   []valueChange `json:"values"`
	Unknown  string        `json:"unknown,omitempty"`
}

type valueChange struct {
	Path   string `json:"path"`
	Change string `json:"change"`
	Was    string `json:"was,omitempty"`
	Is     string `json:"is,omitempty"`
}

func updateJSON(w io.Writer, u *edit.ChartUpdate, dryRun bool) error {
	out := updateReport{
		Chart: u.Chart.Ref.Location(), Version: u.Chart.Version, Digest: u.Chart.Ref.Digest,
		Written: !dryRun && len(u.Files) > 0, Files: append([]string{}, u.Files...), Moves: []updateMove{}, Faults: diag.FaultsOf(u.Faults),
		Findings: append([]diff.Finding{}, u.Findings...),
	}
	for _, m := range u.Moves {
		l := updateMove{From: m.OldVersion, To: m.NewVersion, Clusters: m.Clusters, Values: []valueChange{}}
		for _, c := range m.Values {
			l.Values = append(l.Values, valueChange{c.Path, string(c.Kind), c.Was, c.Is})
		}
		if m.Unknown != nil {
			l.Unknown = m.Unknown.Error()
		}
		out.Moves = append(out.Moves, l)
	}
	var rendered bytes.Buffer
	if err := diff.WriteJSON(&rendered, u.Rendered); err != nil {
		return err
	}
	out.Rendered = rendered.Bytes()
	return writeJSON(w, out)
}

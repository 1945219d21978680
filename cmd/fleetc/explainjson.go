package main

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An explainedField is an explanation in the output of explain -o json.
type explainedField struct {
	Cluster       string          `json:"cluster"`
	Path          string          `json:"path"`
	State         string          `json:"state"`
	Value         any             `json:"value"`
	Type          string          `json:"type,omitempty"`
	Doc           string          `json:"doc,omitempty"`
	Elsewhere     bool            `json:"elsewhere,omitempty"`
	Faults        []string        `json:"faults"`
	Layers        []explainedStep `json:"layers"`
	Contributions []explainedLine `json:"contributions"`
	Leaves        []explainedLeaf `json:"leaves"`
}

// An explainedStep is the value of a field after a layer.
type explainedStep struct {
	Layer string `json:"layer"`
	Dir   string `json:"dir"`
	State string `json:"state"`
	Value any    `json:"value"`
}

// An explainedLine is a line that contributes to the field.
type explainedLine struct {
	At         string          `json:"at,omitempty"`
	Chart      string          `json:"chart,omitempty"`
	Layer      string          `json:"layer,omitempty"`
	Path       string          `json:"path,omitempty"`
	Kind       string          `json:"kind"`
	Role       string          `json:"role"`
	By         string          `json:"by,omitempty"`
	Expression string          `json:"expression"`
	From       []explainedLine `json:"from,omitempty"`
	More       int             `json:"more,omitempty"`
}

// An explainedLeaf is a value in a map.
type explainedLeaf struct {
	Path   string         `json:"path"`
	State  string         `json:"state"`
	Value  any            `json:"value"`
	Winner *explainedLine `json:"winner"`
}

// explanationJSON converts an explanation to the JSON output.
func explanationJSON(e *fleet.Explanation) explainedField {
	out := explainedField{
		Cluster: e.Cluster, Path: e.Path, State: string(e.State), Value: e.Value, Type: e.Type, Doc: e.Doc, Elsewhere: e.Unselected,
		Faults: append([]string{}, e.Faults...), Layers: []explainedStep{}, Contributions: []explainedLine{}, Leaves: []explainedLeaf{},
	}
	for _, l := range e.Layers {
		out.Layers = append(out.Layers, explainedStep{l.Layer.Name, l.Layer.Dir, string(l.State), l.Value})
	}
	for _, c := range e.Contributions {
		out.Contributions = append(out.Contributions, contributionJSON(c.Path, c))
	}
	for _, l := range e.Leaves {
		leaf := explainedLeaf{Path: l.Path, State: string(l.State), Value: l.Value}
		if l.Effective != nil {
			c := contributionJSON(l.Effective.Path, l.Effective)
			leaf.Winner = &c
		}
		out.Leaves = append(out.Leaves, leaf)
	}
	return out
}

func contributionJSON(path string, c *fleet.Contribution) explainedLine {
	out := explainedLine{
		At: posText(c.At), Chart: c.Chart, Layer: c.Layer, Path: path, Kind: string(c.Kind), Role: string(c.Role),
		By: posText(c.By), Expression: c.Expr, More: c.More,
	}
	for _, s := range c.From {
		out.From = append(out.From, contributionJSON(s.Path, s.Contribution))
	}
	return out
}

// posText returns a position as text, or an empty string when it is unknown.
func posText(p diag.Pos) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

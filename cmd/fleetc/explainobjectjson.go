package main

import (
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An explainedObject is the explanation of an object in the output of explain
// -o json.
type explainedObject struct {
	Cluster   string              `json:"cluster"`
	Object    string              `json:"object"`
	Field     string              `json:"field"`
	Value     any                 `json:"value"`
	Secret    bool                `json:"secret,omitempty"`
	Release   string              `json:"release"`
	ReleaseAt string              `json:"releaseAt"`
	Template  string              `json:"template,omitempty"`
	Lines     []explainedTemplate `json:"lines"`
	At        string              `json:"at,omitempty"`
	Patches   []explainedPatch    `json:"patches"`
	Placed    bool                `json:"placed,omitempty"`
	Random    bool                `json:"random,omitempty"`
	RandomAt  string              `json:"randomAt,omitempty"`
	Written   *explainedField     `json:"written,omitempty"`
	Complete  bool                `json:"complete"`
	Values    []explainedValue    `json:"values"`
}

// An explainedTemplate is a line of a template.
type explainedTemplate struct {
	Template string `json:"template"`
	Line     int    `json:"line"`
	File     string `json:"file,omitempty"`
}

// An explainedPatch is a patch that changed the field.
type explainedPatch struct {
	Name string `json:"name"`
	At   string `json:"at"`
}

// An explainedValue is a value that the field depends on.
type explainedValue struct {
	How string `json:"how"`
	explainedField
}

// json converts the explanation to the JSON output.
func (e *objectExplanation) json() explainedObject {
	out := explainedObject{
		Cluster: e.cluster, Object: e.Object.ID(), Field: fleet.FieldText(e.Field), Value: e.Value, Secret: e.Secret,
		Release: e.Object.Release.Name, ReleaseAt: posText(e.Object.Release.Pos), Template: e.Object.Template,
		Lines: []explainedTemplate{}, Patches: []explainedPatch{}, Placed: e.Placed, Random: e.Nondeterministic || e.Random != nil,
		Complete: e.Complete, Values: []explainedValue{},
	}
	if e.Secret {
		out.Value = nil
	}
	if e.At != e.Object.Release.Pos {
		out.At = posText(e.At)
	}
	if e.Random != nil {
		out.RandomAt = posText(e.Random.Pos)
	}
	if e.written != nil {
		written := explanationJSON(e.written)
		out.Written = &written
	}
	for _, l := range e.Lines {
		out.Lines = append(out.Lines, explainedTemplate{l.Template, l.Line, l.File})
	}
	for _, p := range e.Patches {
		out.Patches = append(out.Patches, explainedPatch{p.Name, posText(p.Pos)})
	}
	for _, v := range e.values {
		value := explainedValue{v.how.String(), explanationJSON(v.Explanation)}
		if v.secret {
			value.Value, value.Layers, value.Contributions, value.Leaves = nil, []explainedStep{}, []explainedLine{}, []explainedLeaf{}
		}
		out.Values = append(out.Values, value)
	}
	return out
}

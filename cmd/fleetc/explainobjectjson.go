package main

import (
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
)

// An explainedObject is the explanation of an object in the output of explain
// -o json.
type explainedObject struct {
	Cluster   string               `json:"cluster"`
	Object    string               `json:"object"`
	Field     string               `json:"field"`
	Value     any                  `json:"value"`
	Secret    bool                 `json:"secret,omitempty"`
	Release   string               `json:"release"`
	ReleaseAt string               `json:"releaseAt"`
	Template  string               `json:"template,omitempty"`
	Lines     []query.TemplateLine `json:"lines"`
	At        string               `json:"at,omitempty"`
	Patches   []explainedPatch     `json:"patches"`
	Placed    bool                 `json:"placed,omitempty"`
	Random    bool                 `json:"random,omitempty"`
	RandomAt  string               `json:"randomAt,omitempty"`
	Written   *fleet.Explanation   `json:"written,omitempty"`
	Complete  bool                 `json:"complete"`
	Values    []explainedValue     `json:"values"`
}

// An explainedPatch is a patch that changed the field.
type explainedPatch struct {
	Name string `json:"name"`
	At   string `json:"at"`
}

// An explainedValue is a value that the field depends on.
type explainedValue struct {
	How string `json:"how"`
	fleet.Explanation
}

// json converts the explanation to the JSON output.
func (e *objectExplanation) json() explainedObject {
	out := explainedObject{
		Cluster: e.cluster, Object: e.Object.ID(), Field: fleet.FieldText(e.Field), Value: e.Value, Secret: e.Secret,
		Release: e.Object.Release.Name, ReleaseAt: e.Object.Release.Pos.String(), Template: e.Object.Template,
		Lines: append([]query.TemplateLine{}, e.Lines...), Patches: []explainedPatch{}, Placed: e.Placed, Written: e.written, Random: e.Nondeterministic || e.Random != nil,
		Complete: e.Complete, Values: []explainedValue{},
	}
	if e.Secret {
		out.Value = nil
	}
	if e.At != e.Object.Release.Pos {
		out.At = e.At.String()
	}
	if e.Random != nil {
		out.RandomAt = e.Random.Pos.String()
	}
	for _, p := range e.Patches {
		out.Patches = append(out.Patches, explainedPatch{p.Name, p.Pos.String()})
	}
	for _, v := range e.values {
		value := explainedValue{v.how.String(), *v.Explanation}
		if v.secret {
			value.Value, value.Layers, value.Contributions, value.Leaves = nil, []fleet.LayerValue{}, []*fleet.Contribution{}, []fleet.Leaf{}
		}
		out.Values = append(out.Values, value)
	}
	return out
}

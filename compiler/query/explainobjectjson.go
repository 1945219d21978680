package query

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// MarshalJSON encodes the explanation for the output of a command, without values of
// Secrets.
func (e *ObjectExplanation) MarshalJSON() ([]byte, error) {
	type patch struct {
		Name string `json:"name"`
		At   string `json:"at"`
	}
	out := struct {
		Cluster   string             `json:"cluster"`
		Object    string             `json:"object"`
		Field     string             `json:"field"`
		Value     any                `json:"value"`
		Secret    bool               `json:"secret,omitempty"`
		Release   string             `json:"release"`
		ReleaseAt string             `json:"releaseAt"`
		Template  string             `json:"template,omitempty"`
		Lines     []TemplateLine     `json:"lines"`
		At        string             `json:"at,omitempty"`
		Patches   []patch            `json:"patches"`
		Placed    bool               `json:"placed,omitempty"`
		Random    bool               `json:"random,omitempty"`
		RandomAt  string             `json:"randomAt,omitempty"`
		Written   *fleet.Explanation `json:"written,omitempty"`
		Complete  bool               `json:"complete"`
		Values    []explainedValue   `json:"values"`
	}{
		Cluster: e.Cluster, Object: e.Object.ID(), Field: fleet.FieldText(e.Field), Secret: e.Secret,
		Release: e.Object.Release.Name, ReleaseAt: e.Object.Release.Pos.String(), Template: e.Object.Template,
		Lines: append([]TemplateLine{}, e.Lines...), Patches: []patch{}, Placed: e.Placed, Random: e.Nondeterministic || e.Random != nil,
		Written: e.Written, Complete: e.Complete, Values: []explainedValue{},
	}
	if !e.Secret {
		out.Value = e.Value
	}
	if e.At != e.Object.Release.Pos {
		out.At = e.At.String()
	}
	if e.Random != nil {
		out.RandomAt = e.Random.Pos.String()
	}
	for _, p := range e.Patches {
		out.Patches = append(out.Patches, patch{p.Name, p.Pos.String()})
	}
	for _, d := range e.Depends {
		out.Values = append(out.Values, d.explained())
	}
	return diag.MarshalJSON(out)
}

// An explainedValue is the JSON form of a value that a field depends on.
type explainedValue struct {
	How string `json:"how"`
	fleet.Explanation
}

// explained returns the JSON form of the value, without the lines and the text of a secret
// one.
func (d *ValueDependency) explained() explainedValue {
	v := explainedValue{d.How.String(), *d.Value}
	if d.Secret {
		v.Value, v.Layers, v.Contributions, v.Leaves = nil, []fleet.LayerValue{}, []*fleet.Contribution{}, []fleet.Leaf{}
	}
	return v
}

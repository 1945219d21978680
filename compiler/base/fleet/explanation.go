package fleet

import "github.com/fleetc/fleetc/compiler/base/diag"

// An Explanation describes the value of a field of a cluster's configuration
// and the lines that determine it.
type Explanation struct {
	Cluster       string          `json:"cluster"` // ID
	Path          string          `json:"path"`    // of the field, in CUE syntax
	State         State           `json:"state"`
	Value         any             `json:"value"`               // decoded JSON; nil unless State is Set or FromChart
	Type          string          `json:"type,omitempty"`      // the type in the chart; empty when unknown
	Doc           string          `json:"doc,omitempty"`       // the documentation in the chart; may be empty
	Unselected    bool            `json:"elsewhere,omitempty"` // whether the cluster does not select the field's release
	Faults        []string        `json:"faults"`              // messages of the field's faults; never nil
	Layers        []LayerValue    `json:"layers"`              // from the root to the cluster, without layers that cannot be evaluated; never nil
	Contributions []*Contribution `json:"contributions"`       // in layer order; lines outside of layers come last; never nil
	Leaves        []Leaf          `json:"leaves"`              // values below a map, sorted by path; empty for other fields
}

// A State says whether a field has a value.
type State string

// The states of a field.
const (
	Set        State = "set"        // set by a layer
	FromChart  State = "chart"      // set by the chart's defaults only
	Unset      State = "unset"      // not set
	Deleted    State = "deleted"    // removed by null
	Conflict   State = "conflict"   // the layers contradict each other
	Incomplete State = "incomplete" // not concrete: it depends on another field, or is a constraint
)

// A LayerValue is the value of a field if a layer were the last one.
type LayerValue struct {
	Layer
	State State `json:"state"`
	Value any   `json:"value"` // decoded JSON
}

// A Contribution is one line that contributes to a field.
type Contribution struct {
	At    diag.Pos
	Chart string // chart and file, in place of At, for a line outside of the repository
	Layer string // the layer of the line, or the first layer that imports it; empty outside of layers
	Path  string // path of the line; empty for the field itself and its defaults
	Expr  string // source text
	Kind  ContributionKind
	Role  Role
	By    diag.Pos // position of the line that overrides it

	// From are the lines that set the references of the expression. More is
	// the number of lines that are not listed.
	From []Source
	More int
}

// A Source is a referenced field with the line that sets it.
type Source struct {
	Path string
	*Contribution
}

// MarshalJSON encodes the line for the output of a command.
func (c *Contribution) MarshalJSON() ([]byte, error) { return Source{c.Path, c}.MarshalJSON() }

// MarshalJSON encodes the line as setting the referenced field.
func (s Source) MarshalJSON() ([]byte, error) {
	return diag.MarshalJSON(struct {
		At    string           `json:"at,omitempty"`
		Chart string           `json:"chart,omitempty"`
		Layer string           `json:"layer,omitempty"`
		Path  string           `json:"path,omitempty"`
		Kind  ContributionKind `json:"kind"`
		Role  Role             `json:"role"`
		By    string           `json:"by,omitempty"`
		Expr  string           `json:"expression"`
		From  []Source         `json:"from,omitempty"`
		More  int              `json:"more,omitempty"`
	}{s.At.String(), s.Chart, s.Layer, s.Path, s.Kind, s.Role, s.By.String(), s.Expr, s.From, s.More})
}

// A ContributionKind classifies a contribution.
type ContributionKind string

// The kinds of contributions.
const (
	LayerDefault ContributionKind = "default"       // defaults: <layer>
	ValuePin     ContributionKind = "pin"           // a concrete value
	CUEDefault   ContributionKind = "cue-default"   // *value | type
	Constraint   ContributionKind = "constraint"    // a constraint on the value
	SchemaType   ContributionKind = "type"          // a constraint of the schema
	ChartDefault ContributionKind = "chart-default" // from the chart's values.yaml
	Condition    ContributionKind = "condition"     // an enclosing if or for
)

// A Role is the effect of a contribution.
type Role string

// The roles of contributions.
const (
	Effective  Role = "wins"      // it is the value
	Agrees     Role = "agrees"    // it equals the effective value
	Overridden Role = "loses"     // a line with precedence overrides it
	Holds      Role = "holds"     // the value satisfies it
	Conflicts  Role = "conflicts" // it contradicts another line
	Waits      Role = "waits"     // its references have no value yet
)

// A Leaf is a value below a map, with its effective line.
type Leaf struct {
	Path      string        `json:"path"`
	State     State         `json:"state"`
	Value     any           `json:"value"`  // decoded JSON
	Effective *Contribution `json:"winner"` // nil when unknown
}

package fleet

import "github.com/fleetc/fleetc/compiler/base/diag"

// An Explanation describes the value of a field of a cluster's configuration
// and the lines that determine it.
type Explanation struct {
	Cluster string // ID
	Path    string // of the field, in CUE syntax
	State   State
	Value   any    // decoded JSON; nil unless State is Set or FromChart
	Type    string // the type in the chart; empty when unknown
	Doc     string // the documentation in the chart; may be empty

	Unselected bool // whether the cluster does not select the field's release

	Layers        []LayerValue    // from the root to the cluster, without layers that cannot be evaluated
	Contributions []*Contribution // in layer order; lines outside of layers come last
	Leaves        []Leaf          // values below a map, sorted by path; nil for other fields
	Faults        []string        // messages of the field's faults
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
	Layer Layer
	State State
	Value any // decoded JSON
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
	Path      string
	State     State
	Value     any           // decoded JSON
	Effective *Contribution // nil when unknown
}

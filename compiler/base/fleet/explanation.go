package fleet

import "github.com/fleetc/fleetc/compiler/base/diag"

// An Explanation says what a field of a cluster's configuration is, and which
// lines made it so.
type Explanation struct {
	Cluster string // ID
	Path    string // of the field, as CUE writes it
	State   State
	Value   any    // as encoding/json decodes it; nil unless State is Set or FromChart
	Type    string // what a chart takes here; empty when that is not known
	Doc     string // what a chart says about the field; may be empty

	Elsewhere bool // whether the field is of a release that the cluster does not get

	Layers        []LayerValue    // from the root to the cluster; as many as could be evaluated
	Contributions []*Contribution // in the order of their layers; what no layer says comes last
	Leaves        []Leaf          // of a map: what it holds, sorted by path; nil of anything else
	Faults        []string        // what is wrong with the field
}

// A State says how far a field has a value.
type State string

// The states of a field.
const (
	Set        State = "set"        // layers give it a value
	FromChart  State = "chart"      // no layer does, and the chart has a default
	Unset      State = "unset"      // nobody does
	Deleted    State = "deleted"    // null removes it
	Conflict   State = "conflict"   // what the layers say contradicts itself
	Incomplete State = "incomplete" // it waits for something, or is a constraint and no value
)

// A LayerValue is what a field would be if a layer were the last one.
type LayerValue struct {
	Layer Layer
	State State
	Value any // as in an Explanation
}

// A Contribution is one line that has a say in a field.
type Contribution struct {
	At    diag.Pos
	Chart string // chart and file, instead of At, of a line that is not in the repository
	Layer string // which says it; of what it imports, the first that does; empty outside of the layers
	Path  string // where it says it; empty when that is the field itself, or the default of it
	Expr  string // as it is written
	Kind  ContributionKind
	Role  Role
	By    diag.Pos // which line it loses to

	// From are the lines that set what the expression refers to; More is how
	// many there are besides.
	From []Source
	More int
}

// A Source is a field that an expression refers to, and the line that set it.
type Source struct {
	Path string
	*Contribution
}

// A ContributionKind says what a contribution is.
type ContributionKind string

// The kinds of contributions.
const (
	LayerDefault ContributionKind = "default"       // defaults: <layer>
	ValuePin     ContributionKind = "pin"           // a concrete value
	CUEDefault   ContributionKind = "cue-default"   // *value | type
	Constraint   ContributionKind = "constraint"    // what a value must be
	SchemaType   ContributionKind = "type"          // a constraint of the schema
	ChartDefault ContributionKind = "chart-default" // of the chart's values.yaml
	Condition    ContributionKind = "condition"     // if and for around what is written
)

// A Role says what became of a contribution.
type Role string

// The roles of contributions.
const (
	Wins      Role = "wins"      // it is the value
	Agrees    Role = "agrees"    // another one wins, which says the same
	Loses     Role = "loses"     // another one says otherwise, and has precedence
	Holds     Role = "holds"     // the value satisfies it
	Conflicts Role = "conflicts" // it contradicts another one
	Waits     Role = "waits"     // what it refers to has no value yet
)

// A Leaf is a value within a map, and the line that won there.
type Leaf struct {
	Path   string
	State  State
	Value  any           // as in an Explanation
	Winner *Contribution // nil when there is none
}

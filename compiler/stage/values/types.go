// Package values derives the types of a chart's values and checks a release's
// values against them.
//
// The types combine three sources: values.yaml (types of the defaults, comments
// as documentation), values.schema.json, and the values that the templates read.
// A map is closed unless the chart prints it as a whole, so that a misspelt key
// is a fault even for charts without a schema. The package writes the types as a
// CUE definition for editors. Its checks, which run on the values that a release
// sends to Helm, are in Go.
//
// The package does not render charts, does not access files, the network or the
// clock, and does not download documents that a schema refers to. It does not
// validate the rendered objects.
//
// It is large because its parts share the kinds, forms and shapes of values:
// read*.go finds how templates use values, schema*.go reads schemas, type*.go
// makes types of both, and check*.go compares values with the types.
package values

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxLevels = 64      // nested maps; deeper values are not checked
	maxTypes  = 100_000 // types of one chart with its dependencies; further values are not checked
)

// A Kind is a set of kinds of values.
type Kind uint8

// The kinds of values, and the set of all.
const (
	Bool Kind = 1 << iota
	Number
	String
	List
	Map
	Null
	Any = Bool | Number | String | List | Map | Null
)

// kindNames are the names of the kinds in messages, in the order of their bits.
var kindNames = [...]string{"bool", "number", "string", "list", "map", "null"}

// Names returns the names of the kinds in the set, in a fixed order.
func (k Kind) Names() []string {
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// A Source is a set of sources of a value's type.
type Source uint8

// The sources of types.
const (
	Defaults  Source = 1 << iota // values.yaml
	Schema                       // values.schema.json
	Templates                    // a template reads the value
	Metadata                     // Chart.yaml: conditions, tags, dependencies
)

// A Type describes the values that a chart accepts at one path. It must not be
// modified and is safe for concurrent use.
type Type struct {
	Kinds   Kind             // possible kinds; null deletes a default and is always possible
	Keys    []string         // for a map: the names of Fields, in the order of the sources
	Fields  map[string]*Type // for a map: the types of its keys
	Elem    *Type            // type of a list's elements, or of an open map's unknown keys; nil for any
	Open    bool             // whether a map accepts unknown keys
	Why     string           // the reason for an open map, as a clause
	Doc     string           // documentation in the chart; lines of bounded number and length
	Default any              // the value in values.yaml, as encoding/json decodes it; nil also when there is none
	Known   Source           // sources that have the value
	Place   string           // position in the first source: values.yaml:12, values.schema.json, a template
	Unread  bool             // no template reads it and no schema names it

	seen     Kind     // kinds of all defaults
	blank    bool     // a default is the empty string
	empty    bool     // a default is a map without keys
	typed    bool     // the schema restricts the kinds
	closed   bool     // the schema forbids unknown keys
	declared bool     // the schema names the keys of a map, and allows others only because it does not forbid them
	missing  bool     // values of a dependency that the chart does not contain
	named    bool     // templates look up keys that other values name
	quoted   bool     // a text that templates print only between quotes, so that a number is fine, too
	picked   bool     // an open map whose keys are the user's names: templates read none by name, but iterate over them or compute them
	root     bool     // the values of a chart or a dependency
	shape    *shape   // shape of its sink in a Kubernetes object; nil when unknown
	imported bool     // a parent chart imports the values below
	form     form     // conditions of its sinks
	enum     []string // sorted texts that it can be; nil for any
	tested   bool     // a template tests whether it is set
	limits   limits   // limits in the schema
	inner    []string // for a list: keys of the default's elements that Elem does not have
	chart    *release // at the root: the chart and its dependencies
}

// Derive returns the type of the values of a chart: a map that combines its
// values.yaml, its schema and its templates, and those of its dependencies. It
// returns a fault when the chart does not load or a schema is invalid.
func Derive(ch *fleet.Chart) (*Type, error) {
	loaded, err := load(ch)
	if err != nil {
		code, msg, hint := fleet.UnloadableChart(err)
		return nil, &diag.Diag{Code: code, Path: ch.Ref.String(), Msg: msg, Hint: hint, Cause: err}
	}
	b := &builder{shapes: newShapes(), schemas: map[*chart.Chart]*schema{}, documents: newDocuments(loaded, ch.Schemas)}
	root, err := b.chart(loaded, "", 0)
	if err != nil {
		return nil, err
	}
	root.chart = newRelease(loaded, b.schemas)
	root.chart.own.find = func() *uses { return usesOf(ch) }
	// Analyse the reads only for the whole chart, because the helpers of a
	// library chart read the values that their callers pass.
	b.complete(root, []*Read{Reads(loaded)}, reach{})
	shareGlobals(root, root.Fields[chartutil.GlobalKey], root.chart.root)
	return root, nil
}

// load loads the chart's files with Helm's loader.
func load(ch *fleet.Chart) (*chart.Chart, error) {
	loaded, err := fleet.LoadChart(ch.Files)
	if err != nil {
		return nil, err
	}
	sortDependencies(loaded)
	return loaded, loaded.Validate()
}

// sortDependencies sorts the dependencies of a chart, because Helm's loader
// returns them in random order.
func sortDependencies(c *chart.Chart) {
	deps := slices.SortedFunc(slices.Values(c.Dependencies()), func(a, b *chart.Chart) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	c.SetDependencies(deps...)
	for _, d := range deps {
		sortDependencies(d)
	}
}

// A builder builds the types of one chart.
type builder struct {
	types   int
	shapes  *shapes
	schemas map[*chart.Chart]*schema // schemas read so far

	documents *documents // documents that schemas can refer to
}

// full counts one more type, and reports whether the chart has too many.
func (b *builder) full() bool {
	b.types++
	return b.types > maxTypes
}

// field returns the type at the key, and creates it when it does not exist.
func (t *Type) field(key string) *Type {
	if f := t.Fields[key]; f != nil {
		return f
	}
	f := &Type{}
	t.set(key, f)
	return f
}

// set adds or replaces the type at the key.
func (t *Type) set(key string, f *Type) {
	if t.Fields == nil {
		t.Fields = map[string]*Type{}
	}
	if t.Fields[key] == nil {
		t.Keys = append(t.Keys, key)
	}
	t.Fields[key] = f
}

// open makes the type accept unknown keys. The first reason counts.
func (t *Type) open(why string) {
	if !t.Open {
		t.Open, t.Why = true, why
	}
}

// know adds a source. The first position counts.
func (t *Type) know(s Source, place string) {
	t.Known |= s
	if t.Place == "" {
		t.Place = place
	}
}

// At returns the type at the path, and whether the path has a type: values below
// an open map or a list may have none.
func (t *Type) At(path ...string) (*Type, bool) {
	for _, key := range path {
		next := t.Fields[key]
		if next == nil {
			return t, false
		}
		t = next
	}
	return t, true
}

// Own returns the value in values.yaml, and whether there is one that is not a map with keys.
func (t *Type) Own() (any, bool) {
	switch {
	case t.Known&Defaults == 0:
		return nil, false
	case t.Default == nil && t.empty:
		return map[string]any{}, true
	}
	return t.Default, t.Default != nil || t.seen == Null
}

// merge adds a dependency's type of the same values to t. The parent's facts
// take precedence, and both defaults are possible.
func (t *Type) merge(o *Type, depth int) {
	t.seen |= o.seen
	t.blank = t.blank || o.blank
	t.empty = t.empty || o.empty
	t.typed = t.typed || o.typed
	t.missing = t.missing || o.missing
	t.imported = t.imported || o.imported
	t.root = t.root || o.root
	if o.typed {
		t.Kinds, t.limits = o.Kinds, o.limits
	}
	if t.Doc == "" {
		t.Doc = o.Doc
	}
	if t.Default == nil {
		t.Default = o.Default
	}
	if o.Known != 0 {
		t.know(o.Known, o.Place)
	}
	if o.Open {
		t.open(o.Why)
	}
	// A schema has only the keys of its chart; the parent's must be valid, too.
	t.closed = t.closed || o.closed
	switch {
	case t.Elem == nil && t.seen&List == 0:
		t.Elem = o.Elem
	case o.Elem == nil:
		t.Elem = nil
	case t.Elem != nil && depth < maxLevels:
		t.Elem.merge(o.Elem, depth+1)
	}
	for _, k := range o.Keys {
		if existing := t.Fields[k]; existing == nil {
			t.set(k, o.Fields[k])
		} else if depth < maxLevels && existing != o.Fields[k] {
			existing.merge(o.Fields[k], depth+1)
		}
	}
}

// sortedNew returns the sorted names that are not yet keys of t.
func (t *Type) sortedNew(names map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(k string) bool { return t.Fields[k] != nil })
}

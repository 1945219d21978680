// Package values derives the types of a chart's values and checks a release's
// values against them.
//
// Three sources are united: the shape of values.yaml (types from the defaults,
// comments as documentation), values.schema.json, and what the templates read.
// A map is closed unless the chart passes it on as a whole, so that a misspelt
// key is a fault also for charts without a schema. The types are written as a
// CUE definition for editors, and check in Go the values that a release sends
// to Helm.
//
// The package renders nothing, reads no file, network or clock, and fetches
// nothing that a schema refers to. It says nothing about the objects that the
// values end in.
package values

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxLevels = 64      // of maps within maps; below it everything is allowed
	maxTypes  = 100_000 // of one chart with its dependencies; beyond it everything is allowed
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

// kindNames are the names of the kinds as messages have them, in the order of
// their bits.
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

// A Source is a set of the places that know a value.
type Source uint8

// The sources of types.
const (
	Defaults  Source = 1 << iota // values.yaml
	Schema                       // values.schema.json
	Templates                    // they read it
	Metadata                     // Chart.yaml: conditions, tags, dependencies
)

// A Type describes the values that a chart takes at one path. It must not be modified, and may be used
// by several goroutines at once.
type Type struct {
	Kinds   Kind             // possible kinds; null deletes a default and is always possible
	Keys    []string         // of a map: the names of Fields, as the sources list them
	Fields  map[string]*Type // of a map
	Elem    *Type            // of a list's elements, or of an open map's further keys; nil for anything
	Open    bool             // whether a map takes further keys
	Why     string           // why it is open, as a clause
	Doc     string           // documentation in the chart; lines of bounded number and length
	Default any              // the value in values.yaml, as encoding/json decodes it; nil also when there is none
	Known   Source           // sources that have it
	Place   string           // where it is known from first: values.yaml:12, values.schema.json, a template
	Unread  bool             // no template reads it and no schema names it

	seen     Kind     // of all defaults
	blank    bool     // a default is the empty string
	empty    bool     // a default is a map without keys
	typed    bool     // the schema says which kinds it may be
	closed   bool     // the schema says that there are no further keys
	missing  bool     // the values of a dependency that the chart does not have
	named    bool     // a template looks up keys that other values name
	asText   bool     // a template asks whether it is a string
	asScalar bool     // a template prints it without further ado
	root     bool     // the values of a chart or a dependency
	shape    *shape   // of the part of a Kubernetes object that it ends in; nil when that is not known
	imported bool     // a parent chart imports what is below
	form     form     // conditions of its sinks
	enum     []string // the texts that it can be, sorted; nil for any
	members  bool     // its elements are maps
	tested   bool     // a template asks whether it is set
	limits   limits   // of the schema
	chart    *release // of the root: the chart and its dependencies
}

// Derive returns the type of the values of a chart: a map, united from its
// values.yaml, its schema and its templates, and those of its dependencies. It
// returns a fault when the chart does not load, or when a schema is none.
func Derive(ch *fleet.Chart) (*Type, error) {
	loaded, err := load(ch)
	if err != nil {
		return nil, &diag.Diag{Path: ch.Ref.String(), Msg: fmt.Sprintf("the chart does not load: %v", err), Cause: err}
	}
	b := &builder{shapes: newShapes(), schemas: map[*chart.Chart]*schema{}, documents: newDocuments(loaded, ch.Schemas), conventions: conventions()}
	root, err := b.chart(loaded, "", 0)
	if err != nil {
		return nil, err
	}
	root.chart = newRelease(loaded, b.schemas)
	root.chart.own.find = func() *uses { return usesOf(ch) }
	// Only the reads of the whole say what templates make of a value: a library
	// chart's helpers read what their callers pass.
	b.complete(root, []*Read{Reads(loaded)}, reach{})
	shareGlobals(root, root.Fields[chartutil.GlobalKey], root.chart.root)
	return root, nil
}

// load returns the chart as Helm's loader makes it of the files.
func load(ch *fleet.Chart) (*chart.Chart, error) {
	files := make([]*loader.BufferedFile, len(ch.Files))
	for i, f := range ch.Files {
		files[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	sortDependencies(loaded)
	return loaded, loaded.Validate()
}

// sortDependencies puts the dependencies of a chart into an order: Helm's loader
// leaves them in the random one of a map.
func sortDependencies(c *chart.Chart) {
	deps := slices.SortedFunc(slices.Values(c.Dependencies()), func(a, b *chart.Chart) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	c.SetDependencies(deps...)
	for _, d := range deps {
		sortDependencies(d)
	}
}

// A builder makes the types of one chart.
type builder struct {
	types   int
	shapes  *shapes
	schemas map[*chart.Chart]*schema // that have been read

	documents *documents // that schemas can refer to

	conventions []convention
}

// full reports whether the chart has as many types as are made, and counts one
// more when not.
func (b *builder) full() bool {
	b.types++
	return b.types > maxTypes
}

// field returns the type below the key, which it makes when there is none.
func (t *Type) field(key string) *Type {
	if f := t.Fields[key]; f != nil {
		return f
	}
	f := &Type{}
	t.set(key, f)
	return f
}

// set adds or replaces the type below the key.
func (t *Type) set(key string, f *Type) {
	if t.Fields == nil {
		t.Fields = map[string]*Type{}
	}
	if t.Fields[key] == nil {
		t.Keys = append(t.Keys, key)
	}
	t.Fields[key] = f
}

// open makes the type one that takes further keys; the first reason counts.
func (t *Type) open(why string) {
	if !t.Open {
		t.Open, t.Why = true, why
	}
}

// know adds a source; the first place counts.
func (t *Type) know(s Source, place string) {
	t.Known |= s
	if t.Place == "" {
		t.Place = place
	}
}

// At returns the type on the path, and whether the types say something about
// it: they do not about what is below an open map or a list.
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

// merge adds to t what a dependency knows about the same values. What the
// parent says comes first, and both defaults are possible.
func (t *Type) merge(o *Type, depth int) {
	t.seen |= o.seen
	t.blank = t.blank || o.blank
	t.empty = t.empty || o.empty
	t.typed = t.typed || o.typed
	t.missing = t.missing || o.missing
	t.imported = t.imported || o.imported
	t.asText = t.asText || o.asText
	t.root = t.root || o.root
	t.asScalar = t.asScalar || o.asScalar
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
	// A schema knows only the keys of its own chart: the parent's must fit too.
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
		if have := t.Fields[k]; have == nil {
			t.set(k, o.Fields[k])
		} else if depth < maxLevels && have != o.Fields[k] {
			have.merge(o.Fields[k], depth+1)
		}
	}
}

// sortedNew returns the names that are no keys of t yet, sorted.
func (t *Type) sortedNew(names map[string]bool) []string {
	var out []string
	for k := range names {
		if t.Fields[k] == nil {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

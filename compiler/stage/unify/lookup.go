package unify

import (
	"cmp"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// lookup returns the field of v at a path of names with dots between them, as in
// cluster.name.
func lookup(v cue.Value, path string) cue.Value {
	var names []cue.Selector
	for name := range strings.SplitSeq(path, ".") {
		names = append(names, cue.Str(name)) // which costs much less than cue.ParsePath
	}
	return v.LookupPath(cue.MakePath(names...))
}

// A namedValue is a field with its name.
type namedValue struct {
	name string
	v    cue.Value
}

// fieldsOf returns the regular fields of a field of v, sorted by name.
func fieldsOf(v cue.Value, field string) []namedValue { return fieldsIn(lookup(v, field)) }

// fieldsIn returns the regular fields of v, sorted by name.
func fieldsIn(v cue.Value) []namedValue {
	it, err := v.Fields()
	if err != nil {
		return nil // absent, or wrong in a way that CUE reports
	}
	var out []namedValue
	for it.Next() {
		out = append(out, namedValue{it.Selector().Unquoted(), it.Value()})
	}
	slices.SortFunc(out, func(a, b namedValue) int { return cmp.Compare(a.name, b.name) })
	return out
}

// A memo holds what was looked up in one value last, and is not to be looked up
// again: the checks of a value all ask for the same.
type memo struct {
	of       cue.Value
	releases []namedValue
	parts    map[string][]cue.Value // of releases, by name
	read     map[string]*readValue  // values of releases, by name
}

// in returns what is known of v; no more of what was known of another value.
func (m *memo) in(v cue.Value) *memo {
	if m.of != v {
		*m = memo{of: v, releases: fieldsOf(v, "releases"), parts: map[string][]cue.Value{}, read: map[string]*readValue{}}
	}
	return m
}

// A readValue is a value with what was read of it.
type readValue struct {
	v       cue.Value
	tree    *fleet.Tree
	pending []cue.Value
}

// values returns the values of a release, as they are read for the first time.
func (m *memo) values(r *reader, name string, release cue.Value) *readValue {
	if m.read[name] == nil {
		v, read := lookup(release, "values"), r.reader()
		m.read[name] = &readValue{v, read.structTree(v), read.pending}
	}
	return m.read[name]
}

// releases calls f for each release of v, in the order of their names.
func (e *evaluation) releases(v cue.Value, f func(name string, release cue.Value)) {
	for _, r := range e.known.in(v).releases {
		f(r.name, r.v)
	}
}

// releaseParts returns the conjuncts of a release of v.
func (e *evaluation) releaseParts(v cue.Value, name string, release cue.Value) []cue.Value {
	m := e.known.in(v)
	if _, ok := m.parts[name]; !ok {
		m.parts[name] = cuediag.Conjuncts(release)
	}
	return m.parts[name]
}

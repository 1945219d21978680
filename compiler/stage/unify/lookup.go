package unify

import (
	"cmp"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// lookup returns the field of v at a dotted path, such as cluster.name.
func lookup(v cue.Value, path string) cue.Value {
	var names []cue.Selector
	for name := range strings.SplitSeq(path, ".") {
		names = append(names, cue.Str(name)) // much cheaper than cue.ParsePath
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
		return nil // absent, or CUE reports an error
	}
	var out []namedValue
	for it.Next() {
		out = append(out, namedValue{it.Selector().Unquoted(), it.Value()})
	}
	slices.SortFunc(out, func(a, b namedValue) int { return cmp.Compare(a.name, b.name) })
	return out
}

// items returns the items of a list. It returns none for a value that is absent or invalid,
// which CUE reports.
func items(v cue.Value) []cue.Value {
	var out []cue.Value
	for it, _ := v.List(); it.Next(); {
		out = append(out, it.Value())
	}
	return out
}

// decodeFields decodes the fields of v that exist. It decodes each separately, so that one fault
// does not hide others.
func (e *evaluation) decodeFields(v cue.Value, fields map[string]any) diag.List {
	var faults diag.List
	for field, into := range fields {
		if f := lookup(v, field); f.Exists() {
			if err := f.Decode(into); err != nil {
				faults.Add(diag.CUEFaults(e.root, err, v).Err())
			}
		}
	}
	return faults
}

// A lookupCache caches lookups in one value, because all checks of a value
// need the same fields.
type lookupCache struct {
	of        cue.Value
	releases  []namedValue
	parts     map[string][]cue.Value    // conjuncts of releases, by name
	byRelease map[string]*releaseValues // values of releases, by name
}

// forValue returns the cache for v. It drops the entries of another value.
func (m *lookupCache) forValue(v cue.Value) *lookupCache {
	if m.of != v {
		*m = lookupCache{of: v, releases: fieldsOf(v, "releases"), parts: map[string][]cue.Value{}, byRelease: map[string]*releaseValues{}}
	}
	return m
}

// releaseValues holds the values of a release and their tree.
type releaseValues struct {
	v       cue.Value
	tree    *fleet.Tree
	pending []cue.Value
}

// values returns the values of a release, converted once.
func (m *lookupCache) values(r *reader, name string, release cue.Value) *releaseValues {
	if m.byRelease[name] == nil {
		v, read := lookup(release, "values"), r.reader()
		m.byRelease[name] = &releaseValues{v, read.structTree(v), read.pending}
	}
	return m.byRelease[name]
}

// releases calls f for each release of v, ordered by name.
func (e *evaluation) releases(v cue.Value, f func(name string, release cue.Value)) {
	for _, r := range e.lookups.forValue(v).releases {
		f(r.name, r.v)
	}
}

// releaseParts returns the conjuncts of a release of v.
func (e *evaluation) releaseParts(v cue.Value, name string, release cue.Value) []cue.Value {
	m := e.lookups.forValue(v)
	if _, ok := m.parts[name]; !ok {
		m.parts[name] = diag.Conjuncts(release)
	}
	return m.parts[name]
}

package importer

import (
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An item is a value of a helmfile and its place.
type item struct {
	value any
	doc   *Document
	path  []string
	above []item // the templates that a release inherits, the nearest last, and the release itself
}

// at returns the position of a field of the item: in the item, or in the templates that it
// inherits.
func (i item) at(field ...string) diag.Pos {
	if i.doc == nil {
		return diag.Pos{}
	}
	i, field = i.origin(field)
	return i.doc.At(slices.Concat(i.path, field)...)
}

// fault returns a fault at a field of the item. path is that of the field for the message.
func (i item) fault(code diag.Code, path, msg, hint string, field ...string) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{i.at(field...)}, Path: path, Msg: msg, Hint: hint}
}

// templateLists are the fields whose elements precede those of another field.
var templateLists = map[string]string{"values": "valuesTemplate", "set": "setTemplate"}

// origin returns the template or release that has a field of a release, and the path of
// the field there.
func (i item) origin(field []string) (item, []string) {
	if len(i.above) == 0 || len(field) == 0 {
		return i, field
	}
	n := -1
	if len(field) > 1 {
		if index, err := strconv.Atoi(field[1]); err == nil {
			n = index
		}
	}
	if n < 0 {
		for _, of := range slices.Backward(i.above) {
			if valueAt(of.value, field[0]) != nil {
				return of, field
			}
		}
		return i.above[len(i.above)-1], field
	}
	for _, key := range []string{templateLists[field[0]], field[0]} {
		for _, of := range i.above {
			length := len(listAt(of.value, key))
			if n < length {
				return of, slices.Concat([]string{key, strconv.Itoa(n)}, field[2:])
			}
			n -= length
		}
	}
	return i.above[len(i.above)-1], field
}

// below returns the elements of a list of the item.
func (i item) below(field string) []item {
	var out []item
	for n, v := range listAt(i.value, field) {
		out = append(out, item{value: v, doc: i.doc, path: append(slices.Clone(i.path), field, strconv.Itoa(n))})
	}
	return out
}

// title names the document of the item for notes.
func (i item) title() string {
	if i.doc == nil {
		return "helmfile"
	}
	return "helmfile " + i.doc.File
}

// The fields of a helmfile that are lists or maps; others are single values.
var (
	listFields = []string{"values", "bases", "helmfiles", "repositories", "releases", "apiVersions", "hooks"}
	mapFields  = []string{"environments", "templates", "helmDefaults", "commonLabels"}
)

// A state is the fields of a helmfile after some of its parts and bases.
type state struct {
	dir    string // to which paths are relative
	file   string // name of the helmfile; empty for a base
	lists  map[string][]item
	maps   map[string]map[string]item
	single map[string]item
	env    environment
}

// newState returns the state of one part.
func (r *helmfileReader) newState(dir string, s *Document, content map[string]any) (*state, error) {
	st := &state{dir: dir, lists: map[string][]item{}, maps: map[string]map[string]item{}, single: map[string]item{}}
	for _, key := range mapFields {
		st.maps[key] = map[string]item{}
	}
	root := item{value: content, doc: s}
	for _, key := range sortedKeys(content) {
		v := content[key]
		switch {
		case v == nil:
		case slices.Contains(listFields, key):
			st.lists[key] = root.below(key)
		case slices.Contains(mapFields, key):
			for name, below := range mapAt(v) {
				st.maps[key][name] = item{value: below, doc: s, path: []string{key, name}}
			}
		default:
			st.single[key] = item{value: v, doc: s, path: []string{key}}
		}
	}
	return st, helmfileTypes.check("helmfile", content, root.at)
}

// text returns a single value that is a string.
func (s *state) text(key string) string { v, _ := s.single[key].value.(string); return v }

// isZero reports whether a value is nil, false, zero or empty: these values do not override
// others in helmfile's own fields.
func isZero(v any) bool {
	return empty(v) || v == "" || v == false || v == 0 || v == 0.0
}

// override merges a later part of the same file into a state: its lists and fields replace
// those of earlier parts.
func (s *state) override(later *state) {
	for key, list := range later.lists {
		if len(list) > 0 {
			s.lists[key] = list
		}
	}
	for key, of := range later.maps {
		for name, i := range of {
			if key != "helmDefaults" || !isZero(i.value) {
				s.maps[key][name] = i
			}
		}
	}
	for key, i := range later.single {
		if !isZero(i.value) {
			s.single[key] = i
		}
	}
}

// fill merges a state into its base: lists are joined, and fields of the base stay.
func (s *state) fill(later *state) {
	for key, list := range later.lists {
		s.lists[key] = slices.Concat(s.lists[key], list)
	}
	for key, of := range later.maps {
		for name, i := range of {
			if existing, ok := s.maps[key][name]; !ok || key != "environments" && isZero(existing.value) {
				s.maps[key][name] = i
			}
		}
	}
	for key, i := range later.single {
		if isZero(s.single[key].value) {
			s.single[key] = i
		}
	}
}

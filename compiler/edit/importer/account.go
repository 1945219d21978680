package importer

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Table says what becomes of the fields of a kind of document, by path: "spec.values"
// is the field with all that is below it. * stands for any key or list index. The text
// says why the field is not carried and what to do; it is empty for a carried field.
type Table map[string]string

// with adds fields below a path, which ends in a dot.
func (t Table) with(path string, fields map[string]string) Table {
	for field, do := range fields {
		t[path+field] = do
	}
	return t
}

// unknownField is the text for fields that are not in the table.
const unknownField = "fleetc import does not know this field: look up its effect, and write it into the release"

// accountFor returns a note for each field of a document that the table does not carry. at
// returns the position of a field.
func accountFor(doc map[string]any, title string, table Table, at func(path ...string) diag.Pos) []Note {
	var notes []Note
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		if len(path) > 0 {
			if text, ok := table.find(path); ok {
				if text != "" {
					notes = append(notes, Note{Pos: at(path...), Doc: title, Field: strings.Join(path, "."), Do: text})
				}
				return
			}
		}
		isField := false // has a text, a number or a boolean
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], append(slices.Clone(path), key))
			}
		case []any:
			for i, e := range v {
				walk(e, append(slices.Clone(path), strconv.Itoa(i)))
			}
		default:
			isField = v != nil
		}
		if isField || empty(v) && !table.hasBelow(path) {
			notes = append(notes, Note{Pos: at(path...), Doc: title, Field: strings.Join(path, "."), Do: unknownField})
		}
	}
	walk(doc, nil)
	return notes
}

// find returns the entry of a path.
func (t Table) find(path []string) (string, bool) {
	if text, ok := t[strings.Join(path, ".")]; ok {
		return text, true
	}
	for _, pattern := range slices.Sorted(maps.Keys(t)) {
		if keys := strings.Split(pattern, "."); len(keys) == len(path) && matches(keys, path) {
			return t[pattern], true
		}
	}
	return "", false
}

// hasBelow reports whether the table has fields below a path.
func (t Table) hasBelow(path []string) bool {
	for pattern := range t {
		if keys := strings.Split(pattern, "."); len(keys) > len(path) && matches(keys[:len(path)], path) {
			return true
		}
	}
	return false
}

// matches reports whether the keys of a pattern match a path.
func matches(keys, path []string) bool {
	for i, key := range keys {
		if key != "*" && key != path[i] {
			return false
		}
	}
	return true
}

// empty reports whether a value is a map or list without content, or null.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// listIndex matches an index of a list in the path of a field.
var listIndex = regexp.MustCompile(`\.[0-9]+\b`)

// groupNotes joins notes with the same kind of document, field and text, sorted by kind
// and field. Their positions are sorted. Indexes of lists that differ become *.
func groupNotes(notes []Note, place func(diag.Pos) string) []ReportNote {
	type key struct{ kind, field, do string }
	groups := map[key][]Note{}
	for _, n := range notes {
		kind, _, _ := strings.Cut(n.Doc, " ")
		k := key{kind, listIndex.ReplaceAllString(n.Field, ".*"), n.Do}
		groups[k] = append(groups[k], n)
	}
	out := []ReportNote{}
	for k, of := range groups {
		note := ReportNote{Document: k.kind, Field: of[0].Field, Do: k.do}
		if slices.ContainsFunc(of, func(n Note) bool { return n.Field != note.Field }) {
			note.Field = k.field
		}
		slices.SortFunc(of, func(a, b Note) int { return a.Pos.Compare(b.Pos) })
		for _, n := range slices.CompactFunc(of, func(a, b Note) bool { return a.Pos == b.Pos }) {
			if n.Pos.IsValid() {
				note.At = append(note.At, place(n.Pos))
			}
		}
		out = append(out, note)
	}
	slices.SortFunc(out, func(a, b ReportNote) int {
		return strings.Compare(a.Document+"\x00"+a.Field+"\x00"+a.Do, b.Document+"\x00"+b.Field+"\x00"+b.Do)
	})
	return out
}

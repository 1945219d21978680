package origin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Subject is an object with its renderer and its values.
type Subject struct {
	Object map[string]any // the rendered object; not modified
	Field  []string       // keys and list indexes; empty for the whole object
	Values map[string]any // as decoded by encoding/json; not modified

	// Lookup returns the examined part of an object, or nil if it is missing.
	// The default is the value at Field.
	Lookup func(o map[string]any) any

	// Render renders the object with changed values. It returns nil if the
	// object is not rendered any more, and its replacement if it has another
	// name. An error says nothing about the values.
	Render func(changes ...Change) (map[string]any, error)

	// Same reports whether a result of Render is still the same object.
	Same func(o map[string]any) bool

	// Reads reports whether rendering the object reads the value at a path; nil
	// if unknown.
	Reads func(path []string) bool

	// First reports whether to try a value first; may be nil.
	First func(path []string) bool

	// Texts returns texts that templates compare with the value of a name; may
	// be nil.
	Texts func(name string) []string

	Most int // maximum number of renderings, 0 for 2000
}

// A Change replaces the value at a path, or removes it if Value is nil.
type Change struct {
	Path  []string
	Value any
}

// Influence is the influence of a value on a field.
type Influence int

// Kinds of influence, the strongest last.
const (
	No      Influence = iota // no influence found
	Exists                   // the existence or the name of the object depends on the value
	Changes                  // the field changes with the value
	Holds                    // the field contains the text of the value
)

// String returns the name in JSON output.
func (h Influence) String() string { return [...]string{"no", "exists", "changes", "holds"}[h] }

// A Dependency is a value that a field depends on.
type Dependency struct {
	Path []string // keys and list indexes
	How  Influence

	// Other is a replacement that shows the influence, nil for none.
	Other any
}

// Dependencies returns the values that the field depends on, sorted by path,
// and whether it tried all candidates. It ends early with the error of ctx.
func (s *Subject) Dependencies(ctx context.Context) (found []Dependency, complete bool, err error) {
	run := s.groupTest(ctx)
	candidates := s.candidates()
	for len(candidates) > 0 {
		// Maps come after their members, which are more specific.
		n := slices.IndexFunc(candidates, func(c candidate) bool {
			return c.isMap != candidates[0].isMap || c.isMap && len(c.path) != len(candidates[0].path)
		})
		if n < 0 {
			n = len(candidates)
		}
		var suspects []*trackedValue
		for _, c := range candidates[:n] {
			if !c.isMap || !slices.ContainsFunc(found, func(d Dependency) bool {
				return len(d.Path) > len(c.path) && slices.Equal(d.Path[:len(c.path)], c.path)
			}) {
				suspects = append(suspects, &trackedValue{candidate: c, others: s.others(c)})
			}
		}
		run.sift(suspects)
		for _, c := range suspects {
			if c.how != No {
				found = append(found, Dependency{c.path, c.how, c.shown})
			}
		}
		candidates = candidates[n:]
	}
	slices.SortFunc(found, func(a, b Dependency) int { return slices.Compare(a.Path, b.Path) })
	return found, run.left > 0, ctx.Err()
}

// Try returns the influence of the value at a path on the field.
func (s *Subject) Try(ctx context.Context, path ...string) Influence {
	v, ok := fleet.Lookup(s.Values, path)
	if !ok {
		return No
	}
	_, isMap := v.(map[string]any)
	one := &trackedValue{candidate: candidate{path, v, isMap}}
	one.others = s.others(one.candidate)
	s.groupTest(ctx).sift([]*trackedValue{one})
	return one.how
}

func (s *Subject) groupTest(ctx context.Context) *groupTest {
	return &groupTest{s, ctx, cmp.Or(s.Most, 2000)}
}

// A candidate is a value that may influence the field.
type candidate struct {
	path  []string
	value any
	isMap bool
}

// candidates returns the scalars and empty lists and maps that are read; maps
// come after their members.
func (s *Subject) candidates() []candidate {
	var out []candidate
	// The values in a list are read with the list, and its maps are not candidates.
	var walk func(v any, path []string, inList bool)
	walk = func(v any, path []string, inList bool) {
		read := inList || len(path) > 0 && (s.Reads == nil || s.Reads(path))
		isMap, hasMembers := false, false
		switch v := v.(type) {
		case map[string]any:
			isMap, hasMembers = !inList, inList && len(v) > 0
			for k, e := range v {
				walk(e, append(path[:len(path):len(path)], k), inList)
			}
		case []any:
			hasMembers = len(v) > 0
			for i, e := range v {
				if read {
					walk(e, append(path[:len(path):len(path)], strconv.Itoa(i)), true)
				}
			}
		}
		if read && !hasMembers {
			out = append(out, candidate{path, v, isMap})
		}
	}
	walk(s.Values, nil, false)
	first := func(c candidate) int {
		switch {
		case c.isMap:
			return 2
		case s.First != nil && s.First(c.path):
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b candidate) int {
		if c := cmp.Compare(first(a), first(b)); c != 0 {
			return c
		}
		if a.isMap && b.isMap && len(a.path) != len(b.path) {
			return len(b.path) - len(a.path)
		}
		return slices.Compare(a.path, b.path)
	})
	return out
}

// Replaced returns a copy of a value with another one at a path. It adds missing maps. A nil
// removes a field, and an element from its list.
func Replaced(in any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	if list, ok := in.([]any); ok {
		out := slices.Clone(list)
		switch i, err := strconv.Atoi(path[0]); {
		case err != nil || i < 0 || i >= len(out):
		case len(path) == 1 && v == nil:
			return slices.Delete(out, i, i+1)
		default:
			out[i] = Replaced(out[i], path[1:], v)
		}
		return out
	}
	m, _ := in.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, m)
	if out[path[0]] = Replaced(m[path[0]], path[1:], v); out[path[0]] == nil {
		delete(out, path[0])
	}
	return out
}

// Compare returns the influence of a value, given the result o of rendering
// with another value, or nil if the object was missing.
func (s *Subject) Compare(o map[string]any, value, other any) Influence {
	if o == nil {
		return Exists
	}
	before, after := s.lookup(s.Object), s.lookup(o)
	if !reflect.DeepEqual(before, after) {
		if len(s.Field) > 0 && holds(before, after, value, other) {
			return Holds
		}
		if s.Same(o) || len(s.Field) > 0 {
			return Changes
		}
	}
	if !s.Same(o) {
		return Exists
	}
	return No
}

func (s *Subject) lookup(o map[string]any) any {
	if s.Lookup != nil {
		return s.Lookup(o)
	}
	v, _ := fleet.Lookup(o, s.Field)
	return v
}

// holds reports whether a field contains the text of a value: the field changes
// only in that text.
func holds(before, after, value, other any) bool {
	a, okA := text(before)
	b, okB := text(after)
	from, okFrom := text(value)
	to, okTo := text(other)
	if !okA || !okB || !okFrom || !okTo || to == "" {
		return false
	}
	swapped := func(a, b string) bool {
		if from != "" && strings.Contains(a, from) && (strings.ReplaceAll(a, from, to) == b || strings.Replace(a, from, to, 1) == b) {
			return true
		}
		return unheard(to) && strings.Contains(b, to) || strings.Contains(to, mark) && strings.Contains(b, mark)
	}
	if swapped(a, b) {
		return true
	}
	x, errA := base64.StdEncoding.DecodeString(a)
	y, errB := base64.StdEncoding.DecodeString(b)
	return errA == nil && errB == nil && len(y) > 0 && swapped(string(x), string(y))
}

// unheard reports whether a text does not occur by chance.
func unheard(text string) bool { return text == mark || text == strconv.Itoa(rare) }

// text returns a scalar as text.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case json.Number:
		return v.String(), true
	case nil:
		return "", true
	}
	return "", false
}

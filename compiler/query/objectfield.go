package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// step is one element of a field path: a key, an index, or [key=value].
type step struct {
	at         string // key or index
	key, value string // of a [key=value]; empty for others
}

// fieldPath is the path of a field in an object.
type fieldPath []step

// keys returns the path as keys and indexes.
func (p fieldPath) keys() []string {
	return diag.Each(p, func(s step) string { return s.at })
}

// lookup returns the field in an object, nil if it does not exist.
func (p fieldPath) lookup(o map[string]any) any {
	at := any(o)
	for _, s := range p {
		key := s.at
		if s.key != "" {
			key = strconv.Itoa(elementWith(at, s.key, s.value))
		}
		at, _ = fleet.Lookup(at, []string{key})
	}
	return at
}

// elementWith returns the index of the first element of a list whose key has a value, -1
// if none has.
func elementWith(list any, key, value string) int {
	elements, _ := list.([]any)
	return slices.IndexFunc(elements, func(e any) bool {
		m, _ := e.(map[string]any)
		return m[key] != nil && fmt.Sprint(m[key]) == value
	})
}

// findField parses the path of a field, as [fleet.ParseField] does, and also accepts
// [name=app] for an element of a list. Empty text is the whole object. It fails if the
// object does not have the field.
func findField(o fleet.Object, text string) (fieldPath, error) {
	var path fieldPath
	for rest := text; rest != ""; {
		plain, key, value, after := cutSelector(rest)
		if plain != "" {
			keys, ok := fleet.ParseField(plain)
			if !ok {
				return nil, noField(o, text)
			}
			for _, k := range keys {
				path = append(path, step{at: k})
			}
			if err := path.exists(o); err != nil {
				return nil, err
			}
		}
		if key != "" {
			list := path.lookup(o.Object)
			i := elementWith(list, key, value)
			if i < 0 {
				return nil, noElement(o, path, list, key, value)
			}
			path = append(path, step{strconv.Itoa(i), key, value})
		}
		var dotted bool
		if rest, dotted = strings.CutPrefix(after, "."); dotted == (rest == "" || rest[0] == '[') && after != "" {
			return nil, noField(o, text)
		}
	}
	return path, nil
}

// nextFields returns completions of a field path: its complete keys with one more key or
// index.
func nextFields(o fleet.Object, text string) []string {
	begin := text[:strings.LastIndexAny(text, ".[")+1]
	path, err := findField(o, strings.TrimRight(begin, ".["))
	if err != nil {
		return nil
	}
	v := any(o.Object)
	if len(path) > 0 {
		v = path.lookup(o.Object)
	}
	begin = strings.TrimRight(begin, ".[")
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			next := fleet.FieldText([]string{key})
			if begin != "" && next[0] != '[' {
				next = "." + next
			}
			out = append(out, begin+next)
		}
	case []any:
		for i := range v {
			out = append(out, begin+"["+strconv.Itoa(i)+"]")
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, text) })
}

// cutSelector cuts a field around its first [key=value].
func cutSelector(text string) (before, key, value, after string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '[' && !quoted:
			inner, rest, closed := strings.Cut(text[i+1:], "]")
			if k, v, ok := strings.Cut(inner, "="); ok && closed && k != "" {
				return text[:i], k, v, rest
			}
		}
	}
	return text, "", "", ""
}

func noField(o fleet.Object, text string) error {
	return &diag.Diag{
		Code: diag.CodeFieldPath,
		Path: o.ID(), Msg: "invalid field path " + strconv.Quote(text),
		Hint: `write it as spec.replicas, spec.ports[0].name, spec.ports[name=http].port or data."a.b"`,
	}
}

// exists returns a fault if the object does not have the field.
func (p fieldPath) exists(o fleet.Object) error {
	field := p.keys()
	for n := range field {
		if _, ok := fleet.Lookup(o.Object, field[:n+1]); ok {
			continue
		}
		if fleet.IsMark(field) {
			return &diag.Diag{Code: diag.CodeNoMatch, Path: o.ID(), Msg: "fleetc itself sets " + fleet.FieldText(field) + " when it writes the object", Hint: "name a field that a layer or a chart sets"}
		}
		hint := ""
		switch at, _ := fleet.Lookup(o.Object, field[:n]); at := at.(type) {
		case map[string]any:
			hint = diag.OneOf(field[n], slices.Sorted(maps.Keys(at)))
		case []any:
			hint = fmt.Sprintf("name one of its %d elements, from [0] on", len(at))
		}
		return &diag.Diag{Code: diag.CodeNoMatch, Path: o.ID(), Msg: "there is no field " + fleet.FieldText(field[:n+1]), Hint: hint}
	}
	return nil
}

// noElement returns the fault for a [key=value] that no element of the list has.
func noElement(o fleet.Object, path fieldPath, list any, key, value string) error {
	var values []string
	elements, _ := list.([]any)
	for _, e := range elements {
		if m, _ := e.(map[string]any); m[key] != nil {
			values = append(values, fmt.Sprint(m[key]))
		}
	}
	return &diag.Diag{
		Code: diag.CodeNoMatch,
		Path: o.ID(), Msg: fmt.Sprintf("%s has no element with %s %s", fleet.FieldText(path.keys()), key, value),
		Hint: diag.OneOf(value, values),
	}
}

package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An Ownership declares who owns fields of a release's objects. JSON field
// names must not change, because it is stored in clusters.
type Ownership struct {
	Name     string      `json:"name"`
	Target   Selector    `json:"target"`
	Optional bool        `json:"optional,omitempty"` // whether it may match nothing
	Fields   []FieldPath `json:"fields"`             // in list order
	Leave    bool        `json:"leave,omitempty"`    // whether others may own the fields; otherwise the release owns them
	Texts    []MatchText `json:"-"`                  // of Target; none when it may match nothing
	Pos      diag.Pos    `json:"-"`                  // position of the entry
}

// A FieldPath is the path of a field, which stands for the field and
// everything below it.
type FieldPath struct {
	Path []Step   `json:"path"`
	Pos  diag.Pos `json:"-"` // position of the path
}

// A Step is one step of a field path: to a key of a map or, when Key is empty,
// to the list elements whose fields have the values.
type Step struct {
	Key    string            `json:"key,omitempty"`
	Fields map[string]string `json:"fields,omitempty"` // of elements; strings, numbers and bools as text
}

// A Replace is a kind whose objects may be recreated.
type Replace struct {
	Kind string   `json:"kind"` // Job, or Job.batch
	Pos  diag.Pos `json:"-"`    // position of the entry
}

// MayReplace reports whether objects such as o may be recreated.
func (r *Release) MayReplace(o Object) bool {
	gk := o.GroupVersionKind().GroupKind()
	return slices.ContainsFunc(r.Replace, func(k Replace) bool { return k.Kind == gk.Kind || k.Kind == gk.String() })
}

// ParseSteps parses a field path in the syntax of plans:
// spec.template.spec.containers[name=app].image. Keys with special characters,
// and values with a comma or bracket, are quoted.
func ParseSteps(text string) (path []Step, ok bool) {
	path = parsePath(text, func(text string) (s Step, rest string, ok bool) {
		if text[0] == '[' {
			s.Fields, rest, ok = parseElement(text[1:])
			return s, rest, ok
		}
		s.Key, rest, ok = ParseWord(text, `.["`)
		return s, rest, ok && s.Key != ""
	})
	return path, len(path) > 0 && path[0].Key != ""
}

// parseElement parses an element selector after its bracket: name=app].
func parseElement(text string) (fields map[string]string, rest string, ok bool) {
	fields = map[string]string{}
	for {
		key, after, ok := ParseWord(text, `=],["`)
		if !ok || key == "" || !strings.HasPrefix(after, "=") {
			return nil, "", false
		}
		value, after, ok := ParseWord(after[1:], `],["`)
		if _, twice := fields[key]; !ok || value == "" || twice || after == "" {
			return nil, "", false
		}
		fields[key] = value
		if after[0] == ']' {
			return fields, after[1:], true
		}
		if after[0] != ',' {
			return nil, "", false
		}
		text = after[1:]
	}
}

// ParseWord parses a quoted text, which may be empty, or a text up to one of the characters.
func ParseWord(text, until string) (word, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
		word, err = strconv.Unquote(quoted)
		return word, text[len(quoted):], err == nil
	}
	end := strings.IndexAny(text, until)
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], end > 0
}

// StepsText formats a path for [ParseSteps].
func StepsText(path []Step) string {
	var b strings.Builder
	word := func(w, special string) {
		if strings.ContainsAny(w, special) {
			w = strconv.Quote(w)
		}
		b.WriteString(w)
	}
	for i, s := range path {
		if s.Key != "" {
			if i > 0 {
				b.WriteByte('.')
			}
			word(s.Key, `."[]/ `)
			continue
		}
		for j, key := range slices.Sorted(maps.Keys(s.Fields)) {
			b.WriteByte("[,"[min(j, 1)])
			word(key, `=],["`)
			b.WriteByte('=')
			word(s.Fields[key], `],["`)
		}
		b.WriteByte(']')
	}
	return b.String()
}

// HasPrefix reports whether a path equals prefix or is below it.
func HasPrefix(path, prefix []Step) bool {
	if len(prefix) > len(path) {
		return false
	}
	for i, s := range prefix {
		if s.Key != path[i].Key || !maps.Equal(s.Fields, path[i].Fields) {
			return false
		}
	}
	return true
}

// Elements returns the values at a path in decoded JSON. A step to list
// elements may match several.
func Elements(v any, path []Step) []any {
	if len(path) == 0 {
		return []any{v}
	}
	if s := path[0]; s.Key != "" {
		m, _ := v.(map[string]any)
		next, ok := m[s.Key]
		if !ok {
			return nil
		}
		return Elements(next, path[1:])
	}
	var out []any
	list, _ := v.([]any)
	for _, element := range list {
		if path[0].Matches(element) {
			out = append(out, Elements(element, path[1:])...)
		}
	}
	return out
}

// Matches reports whether a list element has the values of the step.
func (s Step) Matches(element any) bool {
	m, ok := element.(map[string]any)
	for key, want := range s.Fields {
		v, exists := m[key]
		ok = ok && exists && fmt.Sprint(v) == want
	}
	return ok
}

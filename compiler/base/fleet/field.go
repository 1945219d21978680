package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A FieldError is the cause of a fault of an object's field. Callers use it to
// find the line that set the field.
type FieldError struct {
	Object Object
	Field  []string // keys and list indices
}

// Error implements error.
func (e *FieldError) Error() string { return e.Object.ID() + ": " + FieldText(e.Field) }

// Lookup returns the value of a field in decoded JSON.
func Lookup(v any, field []string) (any, bool) {
	for _, key := range field {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// MapLeaves returns a copy of decoded JSON with each value that is neither a map nor a list
// replaced by the result of replace.
func MapLeaves(v any, replace func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = MapLeaves(e, replace)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		return diag.Each(v, func(e any) any { return MapLeaves(e, replace) })
	}
	return replace(v)
}

// Clone returns a deep copy of decoded JSON.
func Clone(v any) any { return MapLeaves(v, func(v any) any { return v }) }

// MergeValues returns a with the values of b, which replace others than maps, as Helm merges
// files of values.
func MergeValues(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range b {
		below, ok := v.(map[string]any)
		existing, ok2 := out[key].(map[string]any)
		if ok && ok2 {
			out[key] = MergeValues(existing, below)
			continue
		}
		out[key] = v
	}
	return out
}

// AnyLeaf reports whether a value in decoded JSON that is neither a map nor a list matches.
func AnyLeaf(v any, matches func(any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if AnyLeaf(e, matches) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return AnyLeaf(e, matches) })
	}
	return matches(v)
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// PointerKeys returns the keys of a JSON pointer (RFC 6901); none for the document itself.
func PointerKeys(pointer string) []string {
	if pointer == "" {
		return nil
	}
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, key := range keys {
		keys[i] = unescapePointer.Replace(key)
	}
	return keys
}

// ParseField parses the path of an object's field: data.password,
// data."tls.crt" or spec.ports[0].name. It returns the keys and list indices.
func ParseField(text string) (fields []string, ok bool) {
	fields = parsePath(text, func(text string) (key, rest string, ok bool) {
		if text[0] != '[' {
			return ParseWord(text, `.["`)
		}
		key, rest, ok = strings.Cut(text[1:], "]")
		_, err := strconv.ParseUint(key, 10, 16)
		return key, rest, ok && err == nil
	})
	return fields, len(fields) > 0
}

// parsePath parses the steps of a path, with dots before all but the first and those in
// brackets. It returns none if the path is not valid.
func parsePath[S any](text string, parse func(text string) (step S, rest string, ok bool)) (steps []S) {
	for text != "" {
		step, rest, ok := parse(text)
		next, dot := strings.CutPrefix(rest, ".")
		if !ok || dot != (next != "" && next[0] != '[') {
			return nil
		}
		steps, text = append(steps, step), next
	}
	return steps
}

// FieldText formats a path for ParseField. Numbers become indices.
func FieldText(field []string) string {
	var b strings.Builder
	for _, key := range field {
		_, err := strconv.ParseUint(key, 10, 16)
		switch {
		case err == nil:
			b.WriteString("[" + key + "]")
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		if strings.ContainsAny(key, `."[] `) || key == "" {
			key = strconv.Quote(key)
		}
		b.WriteString(key)
	}
	return b.String()
}

// FieldPosition returns the line and column of a field in a YAML document: of
// the value for a scalar, and of the key for other fields.
func FieldPosition(text string, field []string) (line, col int, ok bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return 0, 0, false
	}
	at, place := doc.Content[0], doc.Content[0]
	for _, key := range field {
		if at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		var next *yaml.Node
		switch at.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(at.Content); i += 2 {
				if at.Content[i].Value == key {
					place, next = at.Content[i], at.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(at.Content) {
				next = at.Content[i]
				place = next
			}
		}
		if next == nil {
			return 0, 0, false
		}
		at = next
	}
	if at.Kind == yaml.ScalarNode && at.Line > 0 {
		place = at
	}
	return place.Line, place.Column, true
}

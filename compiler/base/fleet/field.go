package fleet

import (
	"strconv"
	"strings"
)

// A FieldError is behind a fault of one field of an object, so that what set the
// field can be found.
type FieldError struct {
	Object Object
	Field  []string // keys, and indexes of lists
}

// Error implements error.
func (e *FieldError) Error() string { return e.Object.ID() + ": " + FieldText(e.Field) }

// Lookup returns the value of a field in what encoding/json decodes.
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

// ParseField reads the path of a field of an object: data.password,
// data."tls.crt" or spec.ports[0].name. It returns the keys, and the indexes of
// lists.
func ParseField(text string) (fields []string, ok bool) {
	for text != "" {
		switch {
		case text[0] == '"':
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, false
			}
			key, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, false
			}
			fields, text = append(fields, key), text[len(quoted):]
		case text[0] == '[':
			index, rest, found := strings.Cut(text[1:], "]")
			if _, err := strconv.ParseUint(index, 10, 16); err != nil || !found {
				return nil, false
			}
			fields, text = append(fields, index), rest
		default:
			end := strings.IndexAny(text, `.["`)
			if end < 0 {
				end = len(text)
			}
			if end == 0 {
				return nil, false
			}
			fields, text = append(fields, text[:end]), text[end:]
		}
		if rest, dot := strings.CutPrefix(text, "."); dot {
			if text = rest; text == "" || text[0] == '[' {
				return nil, false
			}
		} else if text != "" && text[0] != '[' {
			return nil, false
		}
	}
	return fields, len(fields) > 0
}

// FieldText writes a path as ParseField reads it. Numbers are taken for indexes.
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

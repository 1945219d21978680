package importer

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// This file merges values and sets single ones, as Helm does.

// MergeValues returns a with the values of b, which replace others than maps.
func MergeValues(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range b {
		below, ok := v.(map[string]any)
		have, ok2 := out[key].(map[string]any)
		if ok && ok2 {
			out[key] = MergeValues(have, below)
			continue
		}
		out[key] = v
	}
	return out
}

// SetValue sets the value at a path of keys and list indices in place, as helm --set does.
// Texts with a meaning for --set are an error.
func SetValue(values map[string]any, path, value string, literal bool) error {
	if !literal && strings.ContainsAny(value, `,{}[]\`) {
		return errors.New("the value has characters with a meaning for helm --set")
	}
	return setAt(values, path, setValue(value, literal))
}

// setAt sets the value at a path of keys and list indices in place.
func setAt(values map[string]any, path string, value any) error {
	steps, err := parseValuePath(path)
	if err != nil {
		return err
	}
	var at any = values
	for i, step := range steps {
		last := i == len(steps)-1
		switch in := at.(type) {
		case map[string]any:
			if last {
				in[step] = value
				return nil
			}
			below, ok := in[step]
			if !isContainer(below) || !ok {
				below = map[string]any{}
				in[step] = below
			}
			at = below
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(in) {
				return fmt.Errorf("the path %s names no element of its list", path)
			}
			if last {
				in[n] = value
				return nil
			}
			if !isContainer(in[n]) {
				return fmt.Errorf("the path %s leads through a text or number", path)
			}
			at = in[n]
		}
	}
	return nil
}

// isContainer reports whether a value is a map or a list.
func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// parseValuePath parses a.b[0].c, with a backslash before a dot in a key.
func parseValuePath(path string) ([]string, error) {
	var steps []string
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case c == '.' || c == '[':
			if key.Len() > 0 {
				steps = append(steps, key.String())
			}
			key.Reset()
		case c == ']':
		case c == ',' || c == '=' || c == '{' || c == '}':
			return nil, fmt.Errorf("the path %s has a character with a meaning for helm --set", path)
		default:
			key.WriteByte(c)
		}
	}
	if key.Len() > 0 {
		steps = append(steps, key.String())
	}
	if len(steps) == 0 {
		return nil, errors.New("the path is empty")
	}
	return steps, nil
}

// setValue returns the value that helm --set makes of a text.
func setValue(value string, literal bool) any {
	if literal {
		return value
	}
	for _, quote := range []string{"'", `"`} {
		if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return strings.Trim(value, `'"`)
		}
	}
	switch strings.ToLower(value) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	if value == "0" || value != "" && value[0] != '0' {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	return value
}

// SetList sets the list of texts at a path of keys and list indices in place, as helm --set
// NAME={A,B} does.
func SetList(values map[string]any, path string, texts []string, literal bool) error {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = setValue(text, literal)
	}
	return setAt(values, path, list)
}

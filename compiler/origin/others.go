package origin

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// mark is a text that does not occur by chance, and is valid in most names.
const mark = "x7q"

// rare is a number that does not occur by chance.
const rare = 7301

// maxTexts is the maximum number of compared texts to try.
const maxTexts = 6

// Replacements returns values to try instead of a value, the most telling first. A nil
// removes the value.
func Replacements(value any) []any { return (&Subject{}).others(candidate{value: value}) }

// others returns replacements of a value, those that show most first. A nil
// removes the value.
func (s *Subject) others(c candidate) []any {
	switch v := c.value.(type) {
	case string:
		out := []any{v + mark}
		if n, err := strconv.Atoi(v); err == nil {
			out = []any{strconv.Itoa(n + 1), v + mark}
		}
		switch v {
		case "true":
			out = append(out, "false")
		case "false", "":
			out = append(out, "true")
		}
		if s.Texts != nil {
			texts := s.Texts(c.path[len(c.path)-1])
			for _, t := range texts[:min(len(texts), maxTexts)] {
				if t != v {
					out = append(out, t)
				}
			}
		}
		if v != "" {
			out = append(out, "")
		}
		return append(out, nil)
	case bool:
		return []any{!v, nil}
	case float64:
		return slices.DeleteFunc([]any{v + 1, 0.0, float64(rare), nil}, func(o any) bool { return o == v })
	case int64:
		return slices.DeleteFunc([]any{v + 1, int64(0), int64(rare), nil}, func(o any) bool { return o == v })
	case nil:
		return []any{mark, float64(rare), true, map[string]any{mark: mark}, []any{mark}}
	case []any:
		return []any{[]any{mark}, []any{map[string]any{"name": mark}}, nil}
	case map[string]any:
		more := map[string]any{mark: mark}
		maps.Copy(more, v)
		return []any{more, nil}
	}
	return nil
}

// ManifestPos returns the source position of a field in a manifest below a directory, or
// that of the object if the field is not found. at is the beginning of the object's
// document.
func ManifestPos(dir string, at diag.Pos, field []string) diag.Pos {
	root, err := os.OpenRoot(dir)
	if err != nil || len(field) == 0 || at.Line == 0 {
		return at
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.FromSlash(at.File))
	if err != nil {
		return at
	}
	lines := strings.SplitAfter(string(data), "\n")
	if at.Line > len(lines) || at.Col > 1 {
		return at // an item of a list
	}
	text, _, _ := strings.Cut(strings.Join(lines[at.Line-1:], ""), "\n---")
	line, col, ok := fleet.FieldPosition(text, field)
	if !ok {
		return at
	}
	return diag.Pos{File: at.File, Line: at.Line + line - 1, Col: col}
}

package render

import (
	"fmt"
	"strings"
	"testing"
	"text/template"
)

// TestCompare checks that eq and ne are those of text/template.
func TestCompare(t *testing.T) {
	e := &engine{guard: newGuard(t.Context(), limits{steps: maxSteps, made: maxMade})}
	data := map[string]any{
		"nil": nil, "true": true, "int": 1, "int64": int64(1), "negative": -1, "uint": uint8(1), "max": ^uint64(0), "float": 1.0,
		"complex": complex(1, 0), "text": "1", "map": map[string]any{"a": 1}, "nomap": map[string]any(nil), "list": []any{1},
		"nolist": []string(nil), "struct": struct{ A int }{1}, "other": struct{ A any }{[]int{1}}, "pointer": new(int), "func": e.halt,
		"any": []any{nil, "1", []any{}}, "array": [1]int{1}, "error": fmt.Errorf,
	}
	run := func(text string, funcs template.FuncMap) string {
		var out strings.Builder
		err := template.Must(template.New("a").Funcs(funcs).Parse(text)).Execute(&out, data)
		return fmt.Sprint(out.String(), err)
	}
	var calls []string
	for a := range data {
		for b := range data {
			calls = append(calls, "eq ."+a+" ."+b, "ne ."+a+" ."+b, "eq ."+a+" nil ."+b, "."+a+" | eq ."+b, "eq ."+a+" ."+b+" .int", "eq (index .any 1) ."+b)
		}
	}
	for _, call := range append(calls, "eq .int", "ne .int", "eq", "eq .absent .absent", "eq .absent .int", "eq (index .any 2) .list") {
		text := "{{ " + call + " }}"
		if got, want := run(text, e.compareFuncs()), run(text, nil); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

package validate

import "testing"

func TestWalk(t *testing.T) {
	x := &resourceCheck{compiledSchema: &compiledSchema{}, object: map[string]any{
		"a":     map[string]any{"b": 1, "b.c": 2, "b.c/d": 3, "": 4, "x]y": 5, "l": []any{"p", map[string]any{"q": 6}}},
		"a.b.c": 7,
	}}
	for path, want := range map[string]struct {
		value any
		rest  string
	}{
		"a.b": {1, ""}, "a.b.c": {7, ""}, "a.b.c/d": {3, ""}, "a[b.c]": {2, ""}, "a[x]y]": {5, ""}, "a.b.z": {1, ".z"},
		"a.l[0]": {"p", ""}, "a.l[1].q": {6, ""}, "a.l[1].z": {nil, ".z"}, "a.l[2]": {nil, "[2]"}, "a.l[-1]": {nil, "[-1]"},
		"a.l[x]": {nil, "[x]"}, "q": {nil, "q"}, "": {nil, ""},
	} {
		got := x.walk(path)
		if _, composite := got.value.(map[string]any); got.rest != want.rest || want.value != nil && (composite || got.value != want.value) {
			t.Errorf("%q leads to %v and %q, want %v", path, got.value, got.rest, want)
		}
	}
}

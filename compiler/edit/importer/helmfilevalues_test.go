package importer

import (
	"reflect"
	"testing"
)

func TestSetValue(t *testing.T) {
	for _, test := range []struct {
		path, value string
		literal     bool
		want        map[string]any // nil for an error
	}{
		{"a.b", "1", false, map[string]any{"a": map[string]any{"b": int64(1)}, "list": []any{"x"}}},
		{"a.b", "1", true, map[string]any{"a": map[string]any{"b": "1"}, "list": []any{"x"}}},
		{"tags[0]", "a", false, map[string]any{"tags": []any{"a"}, "list": []any{"x"}}},
		{"list[1]", "y", false, map[string]any{"list": []any{"x", "y"}}},
		{"list[0]", "true", false, map[string]any{"list": []any{true}}},
		{"hosts[0].name", "h", false, map[string]any{"hosts": []any{map[string]any{"name": "h"}}, "list": []any{"x"}}},
		{`a\.b`, "x", false, map[string]any{"a.b": "x", "list": []any{"x"}}},
		{"a", `{x,"y"}\[z]=1`, true, map[string]any{"a": `{x,"y"}\[z]=1`, "list": []any{"x"}}},
		{"a", "", true, map[string]any{"a": "", "list": []any{"x"}}},
		{"a", "x,b=y", false, nil},
		{"a,b", "x", false, nil},
		{"", "x", false, nil},
		{"list[999999]", "x", false, nil},
	} {
		got := map[string]any{"list": []any{"x"}}
		err := setValue(got, test.path, test.value, test.literal)
		if (err == nil) != (test.want != nil) || err == nil && !reflect.DeepEqual(got, test.want) {
			t.Errorf("SetValue(%q, %q, %v): %v, %v, want %v", test.path, test.value, test.literal, got, err, test.want)
		}
	}
}

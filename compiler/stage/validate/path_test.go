package validate

import (
	"strings"
	"testing"
)

func TestWritten(t *testing.T) {
	for _, tt := range []struct {
		path []step
		want string
	}{
		{nil, ""},
		{[]step{{name: "spec"}, {name: "containers"}, {index: 2}, {name: "ports"}, {index: 0}, {name: "containerPort"}}, "spec.containers[2].ports[0].containerPort"},
		{[]step{{name: "metadata"}, {name: "labels"}, inKey("app.kubernetes.io/name")}, `metadata.labels["app.kubernetes.io/name"]`},
		{[]step{{name: "metadata"}, {name: "labels"}, inKey("app")}, "metadata.labels.app"},
		{[]step{{name: "data"}, inKey("")}, `data[""]`},
		{[]step{{name: "data"}, inKey("a\x1b\"b")}, `data["a\x1b\"b"]`},
		{[]step{{name: "properties"}, {name: "$ref"}}, "properties.$ref"},
		{[]step{inKey(strings.Repeat("a", 100))}, `["` + strings.Repeat("a", 60) + `…"]`},
	} {
		if got := written(tt.path); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestNamedItems(t *testing.T) {
	named := func(name any) map[string]any { return map[string]any{"name": name} }
	for _, tt := range []struct {
		path []step
		want string
	}{
		{[]step{{name: "containers"}, {index: 1, item: named("web")}, {name: "image"}}, "containers[1] is web"},
		{[]step{{name: "containers"}, {index: 1, item: named("web")}, {name: "env"}, {index: 0, item: named("A")}, {name: "value"}}, "containers[1] is web, env[0] is A"},
		{[]step{{name: "containers"}, {index: 1, item: named("web")}}, ""},
		{[]step{{name: "containers"}, {index: 1, item: named(3)}, {name: "image"}}, ""},
		{[]step{{name: "args"}, {index: 1, item: "a"}, {name: "x"}}, ""},
	} {
		if got := strings.Join(namedItems(tt.path), ", "); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

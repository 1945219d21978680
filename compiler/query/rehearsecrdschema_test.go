package query

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Schemas that accept less are found, and no others; each names the objects that it
// concerns.
func TestCompareSchemas(t *testing.T) {
	const object = "{spec: {a: x, num: 5, list: [{b: w}], map: {k: {c: z}}, empty: null}}"
	for _, c := range []struct {
		name, before, after string
		want                string // narrowings, separated by "; ", with ! for those that concern the object
	}{
		{"equal", "a: {type: string}", "a: {type: string}", ""},
		{"another description", "a: {type: string, description: a}", "a: {type: string, description: b}", ""},
		{"more fields", "a: {type: string}", "a: {type: string}, b: {type: string}", ""},
		{"removed", "a: {type: string}, z: {type: string}", "", "spec.a is removed!; spec.z is removed"},
		{"another type", "a: {type: string}", "a: {type: integer}", "spec.a has another type (integer, was string)!"},
		{"any type", "a: {type: string}", "a: {x-kubernetes-preserve-unknown-fields: true}", ""},
		{"integer or string", "a: {x-kubernetes-int-or-string: true}", "a: {type: string}", "spec.a has another type (string, was int-or-string)"},
		{"required", "a: {type: object, properties: {b: {type: string}}}", "a: {type: object, required: [b], properties: {b: {type: string}}}", "spec.a.b is required"},
		{
			"required in a list", "list: {type: array, items: {type: object, properties: {b: {type: string}, q: {type: string}}}}",
			"list: {type: array, items: {type: object, required: [q], properties: {b: {type: string}, q: {type: string}}}}", "spec.list[].q is required!",
		},
		{"required with a default", "a: {type: object, properties: {b: {type: string}}}", "a: {type: object, required: [b], properties: {b: {type: string, default: x}}}", ""},
		{"fewer values", "a: {type: string, enum: [x, w]}", "a: {type: string, enum: [w]}", `spec.a no longer accepts "x"!`},
		{"fewer values that nothing has", "a: {type: string, enum: [x, w]}", "a: {type: string, enum: [x]}", `spec.a no longer accepts "w"`},
		{"more values", "a: {type: string, enum: [x]}", "a: {type: string, enum: [x, w]}", ""},
		{"any value to an enum", "a: {type: string}", "a: {type: string, enum: [x]}", "spec.a has a new limit (enum)"},
		{"any value to an enum without the value", "a: {type: string}", "a: {type: string, enum: [w]}", "spec.a has a new limit (enum)!"},
		{"lower maximum", "num: {type: integer, maximum: 9}", "num: {type: integer, maximum: 8}", "spec.num has a new limit (maximum)"},
		{"maximum below the value", "num: {type: integer, maximum: 9}", "num: {type: integer, maximum: 4}", "spec.num has a new limit (maximum)!"},
		{"exclusive maximum", "num: {type: integer}", "num: {type: integer, maximum: 5, exclusiveMaximum: true}", "spec.num has a new limit (maximum)!"},
		{"higher maximum", "num: {type: integer, maximum: 8}", "num: {type: integer, maximum: 9}", ""},
		{"higher minimum", "num: {type: integer, minimum: 1}", "num: {type: integer, minimum: 2}", "spec.num has a new limit (minimum)"},
		{"length", "a: {type: string}", "a: {type: string, minLength: 2}", "spec.a has a new limit (minLength)!"},
		{"number of elements", "list: {type: array, items: {type: object}}", "list: {type: array, maxItems: 1, items: {type: object}}", "spec.list has a new limit (maxItems)"},
		{"lower minimum", "num: {type: integer, minimum: 2}", "num: {type: integer}", ""},
		{"pattern", "a: {type: string}", "a: {type: string, pattern: a}", "spec.a has a new limit (pattern)!"},
		{"pattern that the value matches", "a: {type: string, pattern: a}", "a: {type: string, pattern: '^[a-z]$'}", "spec.a has a new limit (pattern)"},
		{"format", "a: {type: string}", "a: {type: string, format: ipv4}", "spec.a has a new limit (format)!"},
		{"format of more numbers", "num: {type: integer, format: int32}", "num: {type: integer, format: int64}", ""},
		{"format of fewer numbers", "num: {type: integer, format: int64}", "num: {type: integer, format: int32}", "spec.num has a new limit (format)"},
		{"all numbers", "num: {type: integer}", "num: {type: number}", ""},
		{"integer or string instead of a string", "a: {type: string}", "a: {x-kubernetes-int-or-string: true}", ""},
		{"integers of a number", "num: {type: number}", "num: {type: integer}", "spec.num has another type (integer, was number)"},
		{"string of any", "a: {x-kubernetes-preserve-unknown-fields: true}", "a: {type: string}", "spec.a has another type (string, was any)"},
		{
			"listed fields of any", "map: {x-kubernetes-preserve-unknown-fields: true}", "map: {type: object, properties: {a: {type: object}}}",
			"spec.map has another type (object, was any); spec.map no longer accepts unknown fields!",
		},
		{"integer or string instead of a map", "map: {type: object}", "map: {x-kubernetes-int-or-string: true}", "spec.map has another type (int-or-string, was object)!"},
		{"below a list", "list: {type: array, items: {type: object, properties: {b: {type: string}}}}", "list: {type: array, items: {type: object}}", "spec.list[].b is removed!"},
		{
			"below a map", "map: {type: object, additionalProperties: {type: object, properties: {c: {type: string}, d: {type: string}}}}",
			"map: {type: object, additionalProperties: {type: object}}", "spec.map.*.c is removed!; spec.map.*.d is removed",
		},
		{"open to closed", "map: {type: object, x-kubernetes-preserve-unknown-fields: true}", "map: {type: object}", "spec.map no longer accepts unknown fields!"},
		{"any key to listed ones", "map: {type: object, additionalProperties: {type: object}}", "map: {type: object, properties: {a: {type: object}}}", "spec.map no longer accepts unknown fields!"},
		{"any key to the ones of the object", "map: {type: object, additionalProperties: {type: object}}", "map: {type: object, properties: {k: {type: object}}}", "spec.map no longer accepts unknown fields"},
		{"alternatives", "map: {type: object}", "map: {type: object, oneOf: [{required: [a]}, {required: [b]}]}", "spec.map has a new limit (oneOf)!"},
		{"alternatives that the value has", "map: {type: object}", "map: {type: object, oneOf: [{required: [k]}, {required: [b]}]}", "spec.map has a new limit (oneOf)"},
		{"closed to open", "map: {type: object, properties: {k: {type: object}}}", "map: {type: object, x-kubernetes-preserve-unknown-fields: true}", ""},
		{"no null", "empty: {type: string, nullable: true}", "empty: {type: string}", "spec.empty no longer accepts null!"},
	} {
		read := func(text string) map[string]any {
			out := map[string]any{}
			data, err := yaml.YAMLToJSON([]byte(text))
			if err != nil || json.Unmarshal(data, &out) != nil {
				t.Fatal(c.name, err)
			}
			return out
		}
		schemaOf := func(spec string) map[string]any {
			return read("{type: object, properties: {spec: {type: object, properties: {" + spec + "}}}}")
		}
		var got []string
		for _, n := range compareSchemas(schemaOf(c.before), schemaOf(c.after)) {
			text := n.String()
			if n.concerns(read(object)) {
				text += "!"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
	status := map[string]any{"type": "object", "properties": map[string]any{"status": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{}}}}}
	if got := compareSchemas(status, map[string]any{"type": "object", "required": []any{"status"}}); len(got) > 0 {
		t.Errorf("the status is compared: %v", got)
	}
}

package values

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemaDialects has every spelling of $schema in charts.
func TestSchemaDialects(t *testing.T) {
	for _, spelt := range []string{
		"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft-04/schema#",
		"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema#/",
		"https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft/2019-09/schema#", "https://json-schema.org/draft/2020-12/schema",
		"https://json-schema.org/draft/2020-12/schema#", "http://json-schema.org/schema#", "https://json-schema.org/schema", "http://example.com/none", "",
	} {
		s, err := parseSchema([]byte(`{"$schema":"`+spelt+`","$id":"https://example.com/values","properties":{"a":{"$schema":"`+spelt+`","type":"integer"}}}`), nil, "")
		if err != nil {
			t.Errorf("%q: %v", spelt, err)
			continue
		}
		if compiled(t, s).Validate(map[string]any{"a": "x"}) == nil || compiled(t, s).Validate(map[string]any{"a": 1.0}) != nil {
			t.Errorf("%q: not checked", spelt)
		}
	}
}

func TestSchemaReferences(t *testing.T) {
	for schema, refuses := range map[string]bool{
		`{"properties":{"a":{"$ref":"#/definitions/i"}},"definitions":{"i":{"type":"integer"}}}`:                                                           true,
		`{"$id":"https://x.example/v.json","properties":{"a":{"$ref":"https://x.example/v.json#/definitions/i"}},"definitions":{"i":{"type":"integer"}}}`:  true,
		`{"properties":{"a":{"$ref":"https://x.example/other.json"}}}`:                                                                                     false,
		`{"properties":{"a":{"$ref":"https://x.example/other.json#/definitions/i","type":"integer"}},"$schema":"http://json-schema.org/draft-07/schema#"}`: false,
		`{"properties":{"a":{"$ref":"https://x.example/other.json#/$defs/i","type":"integer"}},"$schema":"https://json-schema.org/draft/2020-12/schema"}`:  true,
		`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`:                                                                                               false,
		`{"properties":{"a":{"$ref":"other.json"}}}`:                                                                                                       false,
		`{"properties":{"$ref":{"type":"string"},"$schema":{"type":"string"}}}`:                                                                            false,
		`{"properties":{"a":{"enum":[{"$ref":"https://x.example/y"}, "z"]}}}`:                                                                              true,
		`{"$defs":{"a":{"$anchor":"i","type":"integer"}},"properties":{"a":{"$ref":"#i"}}}`:                                                                true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"i":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/i"}}}`:                   true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"i":{"type":"integer"}},"definitions":{},"properties":{"a":{"$ref":"#/$defs/i"}}}`:  true,
		`true`: false,
		"\ufeff{\"properties\":{\"a\":{\"type\":\"integer\"}}}": true,
	} {
		s, err := parseSchema([]byte(schema), nil, "")
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if got := compiled(t, s).Validate(map[string]any{"a": "x"}) != nil; got != refuses {
			t.Errorf("%s: refuses %v, want %v", schema, got, refuses)
		}
	}
}

func TestNoSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                                    "unexpected EOF",
		`{"type":"map"}`:                       "at /type",
		`{"properties":{"a":{"$ref":"#/no"}}}`: "no",
		`{"pattern":"("}`:                      "pattern",
		`[]`:                                   "",
		`{"multipleOf":1e-90000000}`:           "the exponent of the number 1e-90000000 is too large",
		strings.Repeat(`{"items":`, 9000) + "{}" + strings.Repeat("}", 9000): "nested more than 500 levels deep",
	} {
		ch := fleetChart(map[string]string{"values.schema.json": schema})
		_, err := Derive(ch)
		if err == nil {
			t.Errorf("%s is a schema", schema)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, "the schema of chart app is not a valid JSON Schema") || !strings.Contains(msg, want) || strings.Contains(msg, "file://") {
			t.Errorf("%s: %s", schema, msg)
		}
	}
}

func compiled(t *testing.T, s *schema) *jsonschema.Schema {
	t.Helper()
	v, err := s.validator()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSchemaWork(t *testing.T) {
	// doubling returns definitions that each use the previous one twice.
	doubling := func(levels int, use string) string {
		var defs strings.Builder
		defs.WriteString(`"d0": {"type": "object"}`)
		for i := range levels {
			fmt.Fprintf(&defs, `, "d%d": %s`, i+1, strings.ReplaceAll(use, "REF", fmt.Sprintf(`{"$ref": "#/definitions/d%d"}`, i)))
		}
		return fmt.Sprintf(`{"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "#/definitions/d%d"}], "definitions": {%s}}`, levels, &defs)
	}
	deep := map[string]any{}
	list := []any{}
	for range 40 {
		deep, list = map[string]any{"a": deep}, []any{list}
	}
	for name, test := range map[string]struct {
		schema string
		values any
		want   bool
	}{
		"all of":       {doubling(30, `{"allOf": [REF, REF]}`), map[string]any{}, true},
		"any of":       {doubling(30, `{"anyOf": [REF, REF]}`), map[string]any{}, true},
		"one of":       {doubling(30, `{"oneOf": [REF, {"not": REF}]}`), map[string]any{}, true},
		"if":           {doubling(30, `{"if": REF, "then": REF}`), map[string]any{}, true},
		"dependencies": {doubling(30, `{"dependencies": {"a": REF}, "allOf": [REF]}`), map[string]any{"a": 1}, true},
		"properties":   {doubling(30, `{"properties": {"a": REF}, "patternProperties": {"a": REF}}`), deep, true},
		"names":        {doubling(30, `{"allOf": [{"additionalProperties": REF}, {"properties": {"a": REF}}]}`), deep, true},
		"items":        {doubling(30, `{"allOf": [{"items": REF}, {"contains": REF}]}`), list, true},
		"keys":         {strings.Replace(doubling(30, `{"allOf": [REF, REF]}`), `"allOf": [{"$ref": "#/definitions/d30"}]`, `"propertyNames": {"$ref": "#/definitions/d30"}`, 1), map[string]any{"a": 1}, true},
		"no such key":  {doubling(30, `{"properties": {"a": REF}, "patternProperties": {"a": REF}}`), map[string]any{"b": deep}, false},
		"few":          {doubling(10, `{"allOf": [REF, REF]}`), map[string]any{}, false},
		"once":         {doubling(1000, `{"allOf": [REF]}`), deep, false},
	} {
		s, err := parseSchema([]byte(test.schema), nil, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		validator, err := s.validator()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := tooMuchWork(validator, test.values); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestSchemaPanic checks that a panic of the schema library is an error.
func TestSchemaPanic(t *testing.T) {
	s, err := parseSchema([]byte(`{"properties":{"n":{"minimum":1}}}`), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(compiled(t, s), map[string]any{"n": json.Number("1e-90000000")}); !errors.Is(err, errUnsupported) {
		t.Error(err)
	}
}

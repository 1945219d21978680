package query

import (
	"encoding/json"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// accepts reports whether a schema takes a value. It checks only the given keywords of the
// schema, so that fields below the value do not matter.
func accepts(schema map[string]any, value any, keywords ...string) bool {
	part := map[string]any{}
	for _, key := range keywords {
		if v, ok := schema[key]; ok {
			part[key] = v
		}
	}
	if _, ok := part["type"]; ok || typeOf(schema) == intOrString {
		part["nullable"] = schema["nullable"]
		if typeOf(schema) == intOrString {
			delete(part, "type")
			part["anyOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
		}
	}
	text, err := json.Marshal(part)
	if err != nil || strings.Contains(string(text), `"$ref"`) {
		return false // a CRD that the API server refuses
	}
	s := &spec.Schema{}
	if json.Unmarshal(text, s) != nil {
		return false
	}
	return !validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value).HasErrors()
}

package validate

import (
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// A place is the end of a path in an object.
type place struct {
	value   any                  // deepest value on the path
	schemas []*schema.Structural // schemas from the root to the value; nil where there is none
	rest    string               // rest of the path below the value
}

// schema returns the schema of the value, or nil.
func (p place) schema() *schema.Structural { return p.schemas[len(p.schemas)-1] }

// walk follows a path in the notation of Kubernetes: spec.ports[0].name. Keys
// with dots make a path ambiguous; the longest existing key is used. A leading
// bracket can also contain a key.
func (x *resourceCheck) walk(path string) place {
	p := place{value: x.object, schemas: []*schema.Structural{x.structural}, rest: path}
	for p.rest != "" && p.step() {
	}
	return p
}

// step descends one level and reports whether it could.
func (p *place) step() bool {
	s := p.schema()
	switch v := p.value.(type) {
	case map[string]any:
		key, rest, ok := cutKey(v, p.rest)
		if !ok {
			return false
		}
		p.value, p.rest = v[key], rest
		p.schemas = append(p.schemas, below(s, key))
		return true
	case []any:
		text, rest, ok := strings.Cut(strings.TrimPrefix(p.rest, "["), "]")
		i, err := strconv.Atoi(text)
		if !ok || err != nil || i < 0 || i >= len(v) {
			return false
		}
		p.value, p.rest = v[i], rest
		var items *schema.Structural
		if s != nil {
			items = s.Items
		}
		p.schemas = append(p.schemas, items)
		return true
	}
	return false
}

// cutKey cuts the longest existing key of a map off the front of a path.
func cutKey(m map[string]any, path string) (key, rest string, ok bool) {
	ends := ".["
	inner, bracket := strings.CutPrefix(path, "[")
	if bracket {
		path, ends = inner, "]"
	} else {
		path = strings.TrimPrefix(path, ".")
		if _, ok := m[path]; ok {
			return path, "", true
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		if !strings.ContainsRune(ends, rune(path[i])) {
			continue
		}
		if _, ok := m[path[:i]]; ok {
			return path[:i], strings.TrimPrefix(path[i:], "]"), true
		}
	}
	return "", "", false
}

// below returns the schema of a key of a map.
func below(s *schema.Structural, key string) *schema.Structural {
	if s == nil {
		return nil
	}
	if p, ok := s.Properties[key]; ok {
		return &p
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// validations returns the rules of a schema, including those in allOf.
func validations(s *schema.Structural) []apiextensionsv1.ValidationRule {
	if s == nil {
		return nil
	}
	out := []apiextensionsv1.ValidationRule(s.XValidations)
	if s.ValueValidation != nil {
		for _, sub := range s.ValueValidation.AllOf {
			out = append(out[:len(out):len(out)], sub.XValidations...)
		}
	}
	return out
}

package values

import (
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxWork is the maximum number of schemas that a validator may apply to the
// values of a chart. A schema counts once per reference to it. Large public
// charts need less than a hundredth.
const maxWork = 1_000_000

// A schemaWork counts the schemas that a validator would apply to values,
// without applying them. Definitions that refer twice to another one double the
// number at each level.
type schemaWork struct {
	known map[schemaUse]int
}

// A schemaUse is the application of a schema to the value at a path.
type schemaUse struct {
	schema *jsonschema.Schema
	path   string
}

// tooMuchWork reports whether a validator would apply more than maxWork schemas.
func tooMuchWork(s *jsonschema.Schema, values any) bool {
	w := schemaWork{map[schemaUse]int{}}
	return w.count(s, values, "") > maxWork
}

// validate returns the error of the values, or errUnsupported when the library panics.
func validate(s *jsonschema.Schema, values any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errUnsupported
		}
	}()
	return s.Validate(values)
}

// count returns the number of schemas applied for a schema at a value. Above
// maxWork, the result is inexact but still above maxWork.
func (w schemaWork) count(s *jsonschema.Schema, v any, path string) int {
	if s == nil {
		return 0
	}
	use := schemaUse{s, path}
	if n, ok := w.known[use]; ok {
		return n
	}
	if len(w.known) > maxWork {
		return maxWork + 1
	}
	w.known[use] = 1 // for a schema that applies itself, which the validator rejects
	n := 1
	add := func(s *jsonschema.Schema, v any, path string) {
		if n <= maxWork {
			n += w.count(s, v, path)
		}
	}
	for _, other := range combined(s) {
		add(other, v, path)
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			add(s.PropertyNames, k, path+"/"+strconv.Quote(k)+" as a name")
			for _, other := range ofProperty(s, k) {
				add(other, e, path+"/"+strconv.Quote(k))
			}
		}
	case []any:
		for i, e := range v {
			for _, other := range ofItem(s, i) {
				add(other, e, path+"/"+strconv.Itoa(i))
			}
		}
	}
	w.known[use] = n
	return n
}

// combined returns the schemas that a schema applies to the same value.
func combined(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		out = append(out, list...)
	}
	for _, other := range s.DependentSchemas {
		out = append(out, other)
	}
	for _, other := range s.Dependencies {
		out = append(out, schemaOf(other))
	}
	return out
}

// ofProperty returns the schemas that a schema applies to a value of a map.
func ofProperty(s *jsonschema.Schema, key string) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Properties[key], s.UnevaluatedProperties}
	named := out[0] != nil
	for pattern, other := range s.PatternProperties {
		if pattern.MatchString(key) {
			named, out = true, append(out, other)
		}
	}
	if !named {
		out = append(out, schemaOf(s.AdditionalProperties))
	}
	return out
}

// ofItem returns the schemas that a schema applies to an element of a list.
func ofItem(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Contains, s.UnevaluatedItems, s.Items2020, schemaOf(s.Items), schemaOf(s.AdditionalItems)}
	first, _ := s.Items.([]*jsonschema.Schema)
	for _, list := range [][]*jsonschema.Schema{first, s.PrefixItems} {
		if i < len(list) {
			out = append(out, list[i])
		}
	}
	return out
}

// schemaOf returns x if it is a schema, else nil.
func schemaOf(x any) *jsonschema.Schema {
	s, _ := x.(*jsonschema.Schema)
	return s
}

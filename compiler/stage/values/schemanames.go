package values

import (
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// keyNames validates the keys of a map with the schema of propertyNames. The library does so,
// too, but the location in its error can be that of another value.
type keyNames struct{ schema *jsonschema.Schema }

// A refusedKey is the error of keyNames for one key.
type refusedKey struct {
	kind.PropertyNames
	why string
}

func (k *refusedKey) LocalizedString(*message.Printer) string { return k.why }

// Validate adds an error for each key that the schema does not accept.
func (n keyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	m, _ := v.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if invalid, ok := n.schema.Validate(key).(*jsonschema.ValidationError); ok {
			why := diag.Each(leaves(invalid), func(e *jsonschema.ValidationError) string { return printed(e.ErrorKind) })
			ctx.AddError(&refusedKey{kind.PropertyNames{Property: key}, strings.Join(why, "; ")})
		}
	}
}

// withoutRepeatedKeys returns the errors without those of the library for keys that keyNames
// refuses.
func withoutRepeatedKeys(all []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	refused := map[string]bool{}
	for _, e := range all {
		if k, ok := e.ErrorKind.(*refusedKey); ok {
			refused[k.Property] = true
		}
	}
	return diag.Filter(all, func(e *jsonschema.ValidationError) bool {
		k, ok := e.ErrorKind.(*kind.PropertyNames)
		return !ok || !refused[k.Property]
	})
}

// checkNames adds keyNames to a schema and to all schemas that it applies.
func checkNames(root *jsonschema.Schema) {
	seen := map[*jsonschema.Schema]bool{nil: true}
	for rest := []*jsonschema.Schema{root}; len(rest) > 0; {
		s := rest[len(rest)-1]
		if rest = rest[:len(rest)-1]; seen[s] {
			continue
		}
		seen[s] = true
		if s.PropertyNames != nil {
			s.Extensions = append(s.Extensions, keyNames{s.PropertyNames})
		}
		rest = append(rest, combined(s)...)
		rest = slices.AppendSeq(rest, maps.Values(s.Properties))
		rest = slices.AppendSeq(rest, maps.Values(s.PatternProperties))
		rest = append(rest, schemaOf(s.AdditionalProperties), s.UnevaluatedProperties)
		first, _ := s.Items.([]*jsonschema.Schema)
		for i := range max(1, len(first), len(s.PrefixItems)) {
			rest = append(rest, ofItem(s, i)...)
		}
	}
}

package values

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxFacets is the maximum number of subschemas read per schema. A referenced
// subschema counts once per reference.
const maxFacets = 50_000

// A facet holds the constraints of a schema on one value, without those that
// only a validator can check. It never rejects a value that the schema accepts.
type facet struct {
	kinds  Kind
	typed  bool // the schema restricts the kinds
	order  []string
	fields map[string]*facet
	elem   *facet // facet of a list's elements; nil for any
	rest   *facet // facet of unknown keys; nil for any
	open   bool   // the schema explicitly allows unknown keys
	closed bool   // the schema forbids unknown keys
	doc    string
	limits limits
}

// A facetReader converts a schema to facets.
type facetReader struct {
	schema *schema
	made   int
	refs   []string // references being followed
}

// root returns the facet of the values as a whole.
func (s *schema) root() *facet {
	r := &facetReader{schema: s}
	return r.facet(s.doc, 0)
}

// typeKinds maps JSON Schema types to kinds.
var typeKinds = map[string]Kind{
	"boolean": Bool, "integer": Number, "number": Number, "string": String,
	"array": List, "object": Map, "null": Null,
}

func (r *facetReader) facet(x any, depth int) *facet {
	f := &facet{kinds: Any}
	m, ok := x.(map[string]any)
	r.made++
	if !ok || depth > maxLevels || r.made > maxFacets {
		return f
	}
	if ref, ok := m["$ref"].(string); ok {
		f = r.follow(ref, depth)
		if r.schema.old {
			return f
		}
		f = conjoin(r.plain(m, depth), f)
	} else {
		f = r.plain(m, depth)
	}
	for _, e := range listOf(m["allOf"]) {
		f = conjoin(f, r.facet(e, depth+1))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		var alternatives *facet
		for _, e := range listOf(m[key]) {
			g := r.facet(e, depth+1)
			if alternatives == nil {
				alternatives = g
			} else {
				alternatives = disjoin(alternatives, g)
			}
		}
		f = conjoin(f, alternatives)
	}
	// Conditional schemas still name keys.
	for _, key := range []string{"if", "then", "else"} {
		f = naming(f, r, m[key], depth)
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		by, _ := m[key].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(by)) {
			f = naming(f, r, by[k], depth)
		}
	}
	return f
}

// naming adds the keys that a conditional schema names.
func naming(f *facet, r *facetReader, x any, depth int) *facet {
	if _, ok := x.(map[string]any); !ok {
		return f
	}
	return conjoin(f, disjoin(r.facet(x, depth+1), &facet{kinds: Any}))
}

func (r *facetReader) follow(ref string, depth int) *facet {
	if slices.Contains(r.refs, ref) {
		return &facet{kinds: Any, open: true}
	}
	r.refs = append(r.refs, ref)
	defer func() { r.refs = r.refs[:len(r.refs)-1] }()
	return r.facet(r.schema.at(ref), depth+1)
}

// plain returns the facet of a schema without its references and combinations.
func (r *facetReader) plain(m map[string]any, depth int) *facet {
	f := &facet{kinds: Any, fields: map[string]*facet{}}
	if names := typesOf(m["type"]); names != nil {
		f.typed, f.kinds = true, 0
		for _, n := range names {
			f.kinds |= typeKinds[n]
		}
		f.limits.integer = slices.Contains(names, "integer") && !slices.Contains(names, "number")
	}
	if enum, ok := m["enum"].([]any); ok {
		f.oneOf(enum)
	}
	if c, ok := m["const"]; ok {
		f.oneOf([]any{c})
	}
	f.bounds(m)
	if p, ok := m["pattern"].(string); ok && len(p) < 1000 {
		if _, err := regexp.Compile(p); err == nil {
			f.limits.pattern = p
		}
	}
	f.doc, _ = m["description"].(string)
	if title, ok := m["title"].(string); ok && f.doc == "" && strings.Contains(title, " ") {
		f.doc = title
	}
	f.doc = tidy(f.doc)
	props, _ := m["properties"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		f.order = append(f.order, k)
		f.fields[k] = r.facet(props[k], depth+1)
	}
	r.further(f, m, depth)
	if items, ok := m["items"].(map[string]any); ok && m["prefixItems"] == nil {
		f.elem = r.facet(items, depth+1)
	}
	return f
}

// further reads the schema's keywords for unknown keys.
func (r *facetReader) further(f *facet, m map[string]any, depth int) {
	_, patterns := m["patternProperties"].(map[string]any)
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		switch more := m[key].(type) {
		case bool:
			f.open = f.open || more
			// unevaluatedProperties also depends on the combined schemas.
			f.closed = f.closed || !more && !patterns && key == "additionalProperties"
		case map[string]any:
			f.open = true
			if !patterns && key == "additionalProperties" {
				f.rest = r.facet(more, depth+1)
			}
		}
	}
	f.open = f.open || patterns
}

// conjoin returns the facet of values that meet both facets; nil means any.
func conjoin(a, b *facet) *facet {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	out := &facet{
		kinds: a.kinds & b.kinds, typed: a.typed || b.typed, order: union(a.order, b.order), fields: map[string]*facet{},
		open: a.open || b.open, closed: a.closed || b.closed, doc: cmp.Or(a.doc, b.doc),
		elem: conjoin(a.elem, b.elem), rest: conjoin(a.rest, b.rest), limits: a.limits.and(b.limits),
	}
	for _, k := range out.order {
		out.fields[k] = conjoin(a.fields[k], b.fields[k])
	}
	return out
}

// disjoin returns the facet of values that meet at least one of the facets; nil means
// any.
func disjoin(a, b *facet) *facet {
	if a == nil || b == nil {
		return nil
	}
	out := &facet{kinds: a.kinds | b.kinds, typed: a.typed && b.typed, fields: map[string]*facet{}, doc: a.doc}
	out.limits = a.or(b)
	switch {
	case a.kinds&List == 0:
		out.elem = b.elem
	case b.kinds&List == 0:
		out.elem = a.elem
	default:
		out.elem = disjoin(a.elem, b.elem)
	}
	// A side that excludes maps does not constrain keys.
	switch {
	case a.kinds&Map == 0:
		out.order, out.fields, out.open, out.closed, out.rest = b.order, b.fields, b.open, b.closed, b.rest
		return out
	case b.kinds&Map == 0:
		out.order, out.fields, out.open, out.closed, out.rest = a.order, a.fields, a.open, a.closed, a.rest
		return out
	}
	out.open = a.open || b.open
	out.closed = a.closed && b.closed
	out.rest = disjoin(a.rest, b.rest)
	out.order = union(a.order, b.order)
	for _, k := range out.order {
		f, g := a.fields[k], b.fields[k]
		switch {
		case f == nil && a.closed:
			out.fields[k] = g
		case g == nil && b.closed:
			out.fields[k] = f
		case f == nil || g == nil:
			out.fields[k] = disjoin(cmp.Or(f, g), &facet{kinds: Any})
		default:
			out.fields[k] = disjoin(f, g)
		}
	}
	return out
}

// applySchema adds the constraints of a schema to t.
func (b *builder) applySchema(t *Type, f *facet, place string, depth int) {
	t.know(Schema, place)
	if f.typed {
		t.typed, t.Kinds, t.limits = true, f.kinds, f.limits
	}
	if t.Doc == "" {
		t.Doc = f.doc
	}
	t.closed, t.declared = f.closed, len(f.order) > 0 && !f.open
	if f.open && depth > 0 {
		// A schema that is open at the top merely omits the keyword that closes
		// it.
		t.open("values.schema.json allows further keys")
	}
	for _, k := range f.order {
		if b.full() || depth >= maxLevels {
			t.open("the schema has too many values to be typed")
			return
		}
		b.applySchema(t.field(k), f.fields[k], place, depth+1)
	}
	switch {
	case f.elem != nil && f.kinds&List != 0:
		t.Elem = &Type{}
		b.applySchema(t.Elem, f.elem, place, depth+1)
	case f.rest != nil && t.Kinds&List == 0 && depth < maxLevels:
		t.Elem = &Type{}
		b.applySchema(t.Elem, f.rest, place, depth+1)
	}
}

// union returns the names of both lists, in order.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, k := range b {
		if !slices.Contains(a, k) {
			out = append(out, k)
		}
	}
	return out
}

func listOf(x any) []any {
	l, _ := x.([]any)
	return l
}

func typesOf(x any) []string {
	switch x := x.(type) {
	case string:
		return []string{x}
	case []any:
		return append([]string{}, stringsOf(x)...)
	}
	return nil
}

// unescape decodes a segment of a JSON pointer in a URL to its key.
func unescape(part string) string {
	if s, err := url.PathUnescape(part); err == nil {
		part = s
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
}

package values

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A bundler bundles a schema of several documents into one: it copies the
// schemas that it refers to in other documents into its definitions.
type bundler struct {
	documents *documents
	doc       *jsonDocument // the chart's schema
	old       bool          // the bundle's dialect ignores keywords next to $ref
	defs      map[string]any
	names     map[reference]string // names of the definitions
	left      []reference          // references still to copy
	missing   map[string]bool      // missing documents
	copied    int
}

// A reference is a position in a document.
type reference struct {
	doc      *jsonDocument
	fragment string
}

// bundle copies into the schema, which is decoded from JSON, the parts of other
// documents that it refers to. name is the path of the schema. It returns the
// sorted names of the missing documents, and the sources of the copies by the names
// of their definitions.
func (d *documents) bundle(name string, root map[string]any) (missing []string, sources map[string]string) {
	b := &bundler{
		documents: d, doc: &jsonDocument{root: root, path: name, url: idOf(root)},
		defs: map[string]any{}, names: map[reference]string{}, missing: map[string]bool{},
	}
	b.dialect(root)
	walkSchemas(root, 0, func(m map[string]any, _ int) { b.localize(m, b.doc, true) })
	for len(b.left) > 0 && b.copied < maxCopied {
		next := b.left[0]
		b.left = b.left[1:]
		b.defs[b.names[next]] = b.copy(next.doc.at(next.fragment), next.doc, 0)
	}
	for _, next := range b.left {
		b.defs[b.names[next]] = true
		b.missing[next.doc.name()] = true
	}
	if len(b.defs) > 0 {
		place := "$defs"
		if b.old {
			place = "definitions"
		}
		all, _ := root[place].(map[string]any)
		if all == nil {
			all = map[string]any{}
			root[place] = all
		}
		maps.Copy(all, b.defs)
	}
	sources = map[string]string{}
	for from, name := range b.names {
		sources[name] = from.doc.name() + "#" + from.fragment
	}
	return slices.Sorted(maps.Keys(b.missing)), sources
}

func (doc *jsonDocument) name() string {
	if doc.url != "" {
		return doc.url
	}
	return doc.path
}

// dialect determines the dialect of the bundle. A schema that consists only of a
// reference has the dialect of the document that it refers to.
func (b *bundler) dialect(root map[string]any) {
	doc := b.doc
	for range maxLevels {
		m, _ := doc.root.(map[string]any)
		if spelt, ok := m["$schema"].(string); ok {
			root["$schema"], b.old = spelt, isOld(spelt)
			return
		}
		ref, _ := m["$ref"].(string)
		base, _, _ := strings.Cut(ref, "#")
		if base == "" {
			return
		}
		if doc, _ = b.documents.find(doc, base); doc == nil {
			return
		}
	}
}

// dialectOf returns the URL of the dialect that $schema names: the last one for unknown
// names.
func dialectOf(spelt string) string {
	i := slices.IndexFunc(dialects, func(d struct{ contains, url string }) bool { return strings.Contains(spelt, d.contains) })
	return dialects[i].url
}

// isOld reports whether $schema names a dialect that ignores keywords next to
// $ref.
func isOld(spelt string) bool { return strings.Contains(dialectOf(spelt), "draft-0") }

// localize makes the references of a schema in the document local.
func (b *bundler) localize(m map[string]any, doc *jsonDocument, own bool) {
	for _, key := range refKeys {
		if ref, ok := m[key].(string); ok {
			m[key] = b.local(ref, doc, own)
		}
	}
}

var refKeys = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// local returns a reference to a definition of the bundle. It schedules new ones
// for copying. References within the chart's own document are unchanged.
func (b *bundler) local(ref string, doc *jsonDocument, own bool) string {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" && base != doc.url {
		found, name := b.documents.find(doc, base)
		if found == nil {
			b.missing[name] = true
			return ref // the normaliser drops it
		}
		doc, own = found, false
	}
	if doc.path != "" && doc.path == b.doc.path {
		own, doc = true, b.doc
	}
	if own && (fragment == "" || strings.HasPrefix(fragment, "/")) {
		return "#" + fragment
	}
	at := reference{doc, fragment}
	name, ok := b.names[at]
	if !ok {
		if doc.at(fragment) == nil || len(b.names) >= maxReferences {
			b.missing[doc.name()+"#"+fragment] = true
			return "unknown:" + ref
		}
		name = "fleetc:" + strconv.Itoa(len(b.names))
		b.names[at] = name
		b.left = append(b.left, at)
	}
	if b.old {
		return "#/definitions/" + name
	}
	return "#/$defs/" + name
}

// identity lists the keywords that identify a schema. Copies omit them.
var identity = []string{"$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor"}

// copy returns a copy of a document's schema with references into the bundle.
func (b *bundler) copy(x any, doc *jsonDocument, depth int) any {
	x = b.clone(x, depth)
	old := b.old
	if root, ok := doc.root.(map[string]any); ok {
		if spelt, ok := root["$schema"].(string); ok {
			old = isOld(spelt)
		}
	}
	walkSchemas(x, 0, func(m map[string]any, _ int) {
		for _, key := range identity {
			if _, ok := m[key].(string); ok {
				delete(m, key)
			}
		}
		if ref, ok := m["$ref"].(string); ok && old != b.old {
			b.adapt(m, ref, old)
		}
		b.localize(m, doc, false)
	})
	return x
}

// adapt rewrites a reference so that it means the same in the bundle's dialect
// as in its own.
func (b *bundler) adapt(m map[string]any, ref string, old bool) {
	beside := maps.Clone(m)
	delete(beside, "$ref")
	if len(beside) == 0 {
		return
	}
	clear(m)
	if old {
		m["$ref"] = ref
		return
	}
	m["allOf"] = []any{map[string]any{"$ref": ref}, beside}
}

// clone returns a deep copy. Parts beyond the limits become a schema that allows
// everything.
func (b *bundler) clone(x any, depth int) any {
	if b.copied++; depth > maxLevels*4 || b.copied > maxCopied {
		b.missing["parts beyond the limits of "+b.doc.name()] = true
		return true
	}
	switch x := x.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out[k] = b.clone(x[k], depth+1)
		}
		return out
	case []any:
		return diag.Each(x, func(e any) any { return b.clone(e, depth+1) })
	}
	return x
}

// walkSchemas calls f for x and the schemas within with their depth, outermost first,
// in a fixed order. Values of unknown keywords count as schemas, too, because references
// can point to them.
func walkSchemas(x any, depth int, f func(m map[string]any, depth int)) {
	if depth > maxLevels*4 {
		return
	}
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			walkSchemas(e, depth+1, f)
		}
	case map[string]any:
		f(x, depth)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			named, isMap := x[k].(map[string]any)
			switch {
			case slices.Contains(data, k):
			case isMap && slices.Contains(insideMap, k):
				for _, name := range slices.Sorted(maps.Keys(named)) {
					walkSchemas(named[name], depth+2, f)
				}
			default:
				walkSchemas(x[k], depth+1, f)
			}
		}
	}
}

// insideMap lists the keywords whose value is a map of schemas by name.
var insideMap = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}

// data lists the keywords whose values contain no schemas.
var data = []string{"enum", "const", "default", "examples"}

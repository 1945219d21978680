package values

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A bundler makes a schema of several documents one that stands on its own:
// what it refers to in other documents is copied into its definitions.
type bundler struct {
	documents *documents
	doc       *jsonDocument // of the chart
	old       bool          // the whole is in a dialect in which $ref hides what stands beside it
	defs      map[string]any
	names     map[reference]string // of the definitions
	left      []reference          // that are not copied yet
	missing   map[string]bool      // documents that are not there
	copied    int
}

// A reference is a place in a document.
type reference struct {
	doc      *jsonDocument
	fragment string
}

// bundle adds to the schema at the path, which is decoded from JSON, what it
// refers to in other documents. It returns the names of those that are not
// there, sorted.
func (d *documents) bundle(name string, root map[string]any) []string {
	b := &bundler{
		documents: d, doc: &jsonDocument{root: root, path: name, url: idOf(root)},
		defs: map[string]any{}, names: map[reference]string{}, missing: map[string]bool{},
	}
	b.dialect(root)
	b.rewrite(root, b.doc)
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
	return slices.Sorted(maps.Keys(b.missing))
}

func (doc *jsonDocument) name() string {
	if doc.url != "" {
		return doc.url
	}
	return doc.path
}

// dialect finds out of which dialect the whole is: a schema that says nothing
// and is only a reference is of that of the document that it refers to.
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

// isOld reports whether $schema names a dialect in which $ref hides what stands
// beside it.
func isOld(spelt string) bool {
	for _, d := range dialects {
		if strings.Contains(spelt, d.contains) {
			return strings.Contains(d.url, "draft-0")
		}
	}
	return false
}

// rewrite makes the references of the chart's own document local.
func (b *bundler) rewrite(x any, doc *jsonDocument) {
	walkSchemas(x, 0, func(m map[string]any) {
		for _, key := range refKeys {
			if ref, ok := m[key].(string); ok {
				m[key] = b.local(ref, doc, true)
			}
		}
	})
}

var refKeys = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// local returns the reference to a definition of the bundle, which is copied
// when it is a new one. References within the chart's own document stay.
func (b *bundler) local(ref string, doc *jsonDocument, own bool) string {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" && base != doc.url {
		found, name := b.documents.find(doc, base)
		if found == nil {
			b.missing[name] = true
			return ref // which the normaliser drops
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

// identity are the keywords that name a schema, which a copy does not have.
var identity = []string{"$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor"}

// copy returns a schema of a document with references into the bundle.
func (b *bundler) copy(x any, doc *jsonDocument, depth int) any {
	x = b.clone(x, depth)
	old := b.old
	if root, ok := doc.root.(map[string]any); ok {
		if spelt, ok := root["$schema"].(string); ok {
			old = isOld(spelt)
		}
	}
	walkSchemas(x, 0, func(m map[string]any) {
		for _, key := range identity {
			if _, ok := m[key].(string); ok {
				delete(m, key)
			}
		}
		if ref, ok := m["$ref"].(string); ok && old != b.old {
			b.adapt(m, ref, old)
		}
		for _, key := range refKeys {
			if ref, ok := m[key].(string); ok {
				m[key] = b.local(ref, doc, false)
			}
		}
	})
	return x
}

// adapt gives a reference the meaning of its own dialect in that of the bundle.
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

// clone returns a deep copy; of what is too much, one that allows everything.
func (b *bundler) clone(x any, depth int) any {
	if b.copied++; depth > maxLevels*4 || b.copied > maxCopied {
		b.missing["more than is read of "+b.doc.name()] = true
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
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = b.clone(e, depth+1)
		}
		return out
	}
	return x
}

// walkSchemas calls f for x and the schemas within, outermost first, in a fixed
// order. What is below a key that is not a keyword counts as a schema, too:
// documents keep schemas there to refer to.
func walkSchemas(x any, depth int, f func(map[string]any)) {
	if depth > maxLevels*4 {
		return
	}
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			walkSchemas(e, depth+1, f)
		}
	case map[string]any:
		f(x)
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

// data are the keywords below which there is no schema.
var data = []string{"enum", "const", "default", "examples"}

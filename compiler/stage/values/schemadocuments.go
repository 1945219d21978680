package values

import (
	"bytes"
	"cmp"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Limits for the parts of other documents in one schema.
const (
	maxReferences = 10_000  // distinct references
	maxCopied     = 500_000 // copied JSON values
)

// schemaFile is the file name of a chart's schema.
const schemaFile = "values.schema.json"

// documents are the JSON documents that the schemas of a chart can refer to: the
// files of the chart and its dependencies, and the documents pinned with the
// chart.
type documents struct {
	files  map[string][]byte        // by path, including the directories of the dependencies
	pinned map[string][]byte        // by URL
	parsed map[string]*jsonDocument // by path or URL; nil for an invalid document
	ids    map[string]string        // paths of files by their $id; nil until computed
}

// A jsonDocument is parsed JSON with its names.
type jsonDocument struct {
	url  string // absolute, without a fragment; empty for none
	path string // path of a file; empty for a pinned document
	root any
}

// newDocuments returns the documents of a chart with its dependencies.
func newDocuments(c *chart.Chart, pinned []fleet.File) *documents {
	d := &documents{files: map[string][]byte{}, pinned: map[string][]byte{}, parsed: map[string]*jsonDocument{}}
	d.add(c, "", 0)
	for _, f := range pinned {
		d.pinned[f.Name] = f.Data
	}
	return d
}

func (d *documents) add(c *chart.Chart, dir string, depth int) {
	for _, f := range c.Raw {
		if name := dir + f.Name; d.files[name] == nil {
			d.files[name] = f.Data
		}
	}
	if depth >= maxLevels {
		return
	}
	for _, dep := range c.Dependencies() {
		d.add(dep, dir+"charts/"+dep.Name()+"/", depth+1)
	}
}

// parse returns the document with the name. It parses each document once.
func (d *documents) parse(name string, data []byte) *jsonDocument {
	doc, ok := d.parsed[name]
	if ok {
		return doc
	}
	if root, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))); err == nil {
		doc = &jsonDocument{root: root}
	}
	d.parsed[name] = doc
	return doc
}

// file returns the file at the path; nil when it does not exist or is not JSON.
func (d *documents) file(name string) *jsonDocument {
	data, ok := d.files[name]
	if !ok {
		return nil
	}
	doc := d.parse(name, data)
	if doc != nil {
		doc.path, doc.url = name, idOf(doc.root)
	}
	return doc
}

// idOf returns the absolute URL in the document's $id.
func idOf(root any) string {
	m, _ := root.(map[string]any)
	for _, key := range []string{"$id", "id"} {
		if id, ok := m[key].(string); ok {
			if u, err := url.Parse(id); err == nil && u.IsAbs() {
				u.Fragment = ""
				return u.String()
			}
		}
	}
	return ""
}

// find returns the document that ref, a reference in base without a fragment,
// points to: a file next to base, a file with this $id, or a pinned document.
// name is the URL or path of the lookup.
func (d *documents) find(base *jsonDocument, ref string) (doc *jsonDocument, name string) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, ref
	}
	if !u.IsAbs() && base.path != "" && u.Host == "" && u.Path != "" {
		name = path.Join(path.Dir(base.path), u.Path)
		if doc = d.file(name); doc != nil {
			return doc, name
		}
	}
	if b, err := url.Parse(base.url); err == nil && base.url != "" {
		u = b.ResolveReference(u)
	}
	if !u.IsAbs() {
		return nil, name
	}
	name = u.String()
	if file, ok := d.byID()[name]; ok {
		return d.file(file), name
	}
	if data, ok := d.pinned[name]; ok {
		if doc = d.parse(name, data); doc != nil {
			doc.url = name
		}
	}
	return doc, name
}

// byID returns the paths of the files that have an $id, by $id. For equal ones,
// the outermost file counts, then the first.
func (d *documents) byID() map[string]string {
	if d.ids != nil {
		return d.ids
	}
	d.ids = map[string]string{}
	names := slices.Collect(maps.Keys(d.files))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	for _, name := range names {
		if path.Ext(name) != ".json" || !bytes.Contains(d.files[name], []byte(`id"`)) {
			continue
		}
		if doc := d.file(name); doc != nil && doc.url != "" && d.ids[doc.url] == "" {
			d.ids[doc.url] = name
		}
	}
	return d.ids
}

// at returns the value at a JSON pointer, or the schema with an anchor; nil when there is none.
func (doc *jsonDocument) at(fragment string) any {
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		return pointed(doc.root, fragment)
	}
	var found any
	walkSchemas(doc.root, 0, func(m map[string]any, _ int) {
		if found == nil && (m["$anchor"] == fragment || m["$id"] == "#"+fragment || m["id"] == "#"+fragment) {
			found = m
		}
	})
	return found
}

// pointed returns the value at a JSON pointer; nil when there is none.
func pointed(x any, pointer string) any {
	if pointer == "" {
		return x
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = unescape(part)
		switch y := x.(type) {
		case map[string]any:
			x = y[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(y) {
				return nil
			}
			x = y[i]
		default:
			return nil
		}
	}
	return x
}

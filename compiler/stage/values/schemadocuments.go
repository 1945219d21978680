package values

import (
	"bytes"
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

// Limits of what one schema refers to in other documents.
const (
	maxReferences = 10_000  // different places that are referred to
	maxCopied     = 500_000 // JSON values that are copied from there
)

// schemaFile is the name of a chart's schema.
const schemaFile = "values.schema.json"

// documents are the JSON documents that the schemas of a chart can refer to:
// the files of the chart and of its dependencies, and those that are pinned with
// the chart.
type documents struct {
	files  map[string][]byte        // by path, with the directories of the dependencies before it
	pinned map[string][]byte        // by URL
	parsed map[string]*jsonDocument // by path or URL; nil for one that is not JSON
	ids    map[string]string        // paths of files by their $id; nil when they are not read yet
}

// A jsonDocument is parsed JSON with the names under which it was found.
type jsonDocument struct {
	url  string // absolute, without a fragment; empty when it has none
	path string // of a file; empty for one that is pinned
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

// parse returns the document of the given name, parsed once.
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

// file returns the file at the path; nil when there is none or it is not JSON.
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

// idOf returns the absolute URL that a document says it has.
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

// find returns the document that base refers to by ref, which has no fragment:
// a file beside it, a file with this $id, or one that is pinned. The name is
// the URL or the path under which it was looked for.
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

// byID returns the paths of the files that have an $id, by that. Of several
// with the same one, the outermost and then the first counts.
func (d *documents) byID() map[string]string {
	if d.ids != nil {
		return d.ids
	}
	d.ids = map[string]string{}
	names := slices.Collect(maps.Keys(d.files))
	slices.SortFunc(names, func(a, b string) int {
		if n := strings.Count(a, "/") - strings.Count(b, "/"); n != 0 {
			return n
		}
		return strings.Compare(a, b)
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

// at returns the value at a JSON pointer, or with an anchor; nil when there is
// none.
func (doc *jsonDocument) at(fragment string) any {
	x := doc.root
	if fragment == "" {
		return x
	}
	if !strings.HasPrefix(fragment, "/") {
		return anchored(x, fragment, 0)
	}
	for part := range strings.SplitSeq(fragment[1:], "/") {
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

// anchored returns the schema with the anchor.
func anchored(x any, name string, depth int) any {
	if depth > maxLevels*4 {
		return nil
	}
	switch x := x.(type) {
	case map[string]any:
		if x["$anchor"] == name || x["$id"] == "#"+name || x["id"] == "#"+name {
			return x
		}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if found := anchored(x[k], name, depth+1); found != nil {
				return found
			}
		}
	case []any:
		for _, e := range x {
			if found := anchored(e, name, depth+1); found != nil {
				return found
			}
		}
	}
	return nil
}

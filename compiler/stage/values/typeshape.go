package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// internalDefaults is the key of the defaults in Istio's charts. Their templates
// merge profiles between these defaults and the user's values, which are next to
// the key.
const internalDefaults = "_internal_defaults_do_not_set"

// chart returns the type of a chart's values, without the templates' reads. dir
// is the prefix of file names; it ends in a slash or is empty.
func (b *builder) chart(c *chart.Chart, dir string, depth int) (*Type, error) {
	t := b.ownValues(c, dir)
	if inner := t.Fields[internalDefaults]; inner != nil && inner.seen == Map {
		t.merge(inner.clone(0), 0)
	}
	if c.Schema != nil {
		s, err := b.schema(c, dir)
		if err != nil {
			return nil, &diag.Diag{
				Code: diag.CodeSchemaDocument, Path: dir + "values.schema.json",
				Msg:   fmt.Sprintf("the schema of chart %s is not a valid JSON Schema: %v", c.Name(), err),
				Hint:  fleet.SchemaHint,
				Cause: err,
			}
		}
		b.applySchema(t, s.root(), dir+"values.schema.json", 0)
	}
	t.seen |= Map
	t.root = true
	if depth >= maxLevels {
		return t, nil
	}
	return t, b.dependencies(t, c, dir, depth)
}

// schema returns the chart's schema. It reads the schema once, even if the chart
// has several aliases.
func (b *builder) schema(c *chart.Chart, dir string) (*schema, error) {
	if s := b.schemas[c]; s != nil {
		return s, nil
	}
	s, err := parseSchema(c.Schema, b.documents, dir+schemaFile)
	b.schemas[c] = s
	return s, err
}

// ownValues returns the type of the chart's values.yaml. The kinds are those
// that Helm sees; order, lines and comments are those of the file.
func (b *builder) ownValues(c *chart.Chart, dir string) *Type {
	t := &Type{}
	text := comments{place: dir + chartutil.ValuesfileName}
	var root yaml.Node
	for _, f := range c.Raw {
		if f.Name == chartutil.ValuesfileName {
			if err := yaml.Unmarshal(f.Data, &root); err != nil {
				// Helm parses some files that this parser rejects. Their values
				// have no comments and lines.
				root = yaml.Node{}
			}
			text.read(f.Data)
		}
	}
	node := &root
	if len(root.Content) > 0 {
		node = root.Content[0]
	}
	b.shape(t, c.Values, node, &text, "", 0)
	return t
}

// shape adds the type of a default to t. The node may be nil or of another kind,
// because of YAML merges and aliases.
func (b *builder) shape(t *Type, value any, node *yaml.Node, text *comments, path string, depth int) {
	for range maxLevels {
		if node == nil || node.Kind != yaml.AliasNode {
			break
		}
		node = node.Alias
	}
	t.Default = value
	place := text.place
	if node != nil && node.Line > 0 {
		place = fmt.Sprintf("%s:%d", text.place, node.Line)
	}
	t.know(Defaults, place)
	t.seen |= kindOf(value)
	switch v := value.(type) {
	case string:
		t.blank = v == ""
	case []any:
		b.elements(t, v, node, text, depth)
	case map[string]any:
		t.Default = nil
		t.empty = len(v) == 0
		b.fields(t, v, node, text, path, depth)
	}
}

// fields adds the types of a map's keys.
func (b *builder) fields(t *Type, m map[string]any, node *yaml.Node, text *comments, path string, depth int) {
	if depth >= maxLevels {
		t.open("it is too deep to be typed")
		return
	}
	keys, nodes := ordered(m, node)
	for _, k := range keys {
		if b.full() {
			t.open("the chart has too many values to be typed")
			return
		}
		below := k
		if path != "" {
			below = path + "." + k
		}
		f := &Type{}
		pair := nodes[k]
		b.shape(f, m[k], pair.value, text, below, depth+1)
		if pair.key != nil {
			f.Place = fmt.Sprintf("%s:%d", text.place, pair.key.Line)
			f.Doc = text.doc(pair, below)
		}
		t.set(k, f)
	}
}

// A pair is a key of a YAML map with its value; nil when the file has none.
type pair struct{ key, value *yaml.Node }

// ordered returns the keys of the map in the order of the file, followed by
// those that YAML merges add.
func ordered(m map[string]any, node *yaml.Node) ([]string, map[string]pair) {
	nodes := map[string]pair{}
	var keys []string
	if node != nil && node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			k := node.Content[i].Value
			if _, ok := m[k]; !ok {
				continue
			}
			if _, again := nodes[k]; !again {
				keys = append(keys, k)
			}
			nodes[k] = pair{node.Content[i], node.Content[i+1]}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if _, ok := nodes[k]; !ok {
			keys = append(keys, k)
		}
	}
	return keys, nodes
}

// elements sets the type of a list's elements, if all are maps whose common keys
// have the same kinds. Otherwise, the elements can be anything.
func (b *builder) elements(t *Type, list []any, node *yaml.Node, text *comments, depth int) {
	if len(list) == 0 || depth >= maxLevels {
		return
	}
	elem := &Type{}
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok || len(m) == 0 {
			return
		}
		var n *yaml.Node
		if node != nil && node.Kind == yaml.SequenceNode && i < len(node.Content) {
			n = node.Content[i]
		}
		one := &Type{}
		b.shape(one, m, n, text, "", depth+1)
		if !agree(elem, one) {
			return
		}
		elem.merge(one, 0)
	}
	elem.walk(func(t *Type) { t.Default = nil })
	t.Elem = elem
}

// agree reports whether all common keys have values of the same kinds.
func agree(a, b *Type) bool {
	for k, f := range b.Fields {
		if g := a.Fields[k]; g != nil && (g.seen != f.seen || !agree(g, f)) {
			return false
		}
	}
	return true
}

// walk calls f for t and all types below it.
func (t *Type) walk(f func(*Type)) {
	f(t)
	for _, k := range t.Keys {
		t.Fields[k].walk(f)
	}
	if t.Elem != nil {
		t.Elem.walk(f)
	}
}

// kindOf returns the kind of a value that encoding/json decoded.
func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case string:
		return String
	case []any:
		return List
	case map[string]any:
		return Map
	}
	return Number
}

// dependencies adds the types of the dependencies' values to t, below their
// names, and the values that conditions, tags and imports use.
func (b *builder) dependencies(t *Type, c *chart.Chart, dir string, depth int) error {
	for _, d := range subcharts(c) {
		if d.chart == nil {
			f := t.field(d.name)
			f.missing, f.seen = true, Map
			f.know(Metadata, dir+"Chart.yaml")
			t.field(chartutil.GlobalKey).missing = true
			continue
		}
		sub, err := b.chart(d.chart, dir+"charts/"+d.chart.Name()+"/", depth+1)
		if err != nil {
			return err
		}
		sub.know(Metadata, dir+"Chart.yaml")
		if sub.Doc == "" {
			sub.Doc = tidy(fmt.Sprintf("Values of the dependency %s %s.", d.chart.Name(), d.chart.Metadata.Version))
		}
		// A dependency shares the global map of its parent.
		if g := sub.Fields[chartutil.GlobalKey]; g != nil {
			t.field(chartutil.GlobalKey).merge(g, 0)
			sub.set(chartutil.GlobalKey, &Type{seen: Map})
		}
		t.field(d.name).merge(sub, 0)
		t.field(d.name).seen = Map
		if d.declared != nil {
			imports(t, t.field(d.name), d.declared)
		}
	}
	for _, d := range c.Metadata.Dependencies {
		if d != nil {
			switches(t, d, dir+"Chart.yaml")
		}
	}
	g := t.field(chartutil.GlobalKey)
	g.seen |= Map
	g.root = true
	g.know(Metadata, dir+"Chart.yaml")
	return nil
}

// switches adds the values that enable and disable a dependency.
func switches(t *Type, d *chart.Dependency, place string) {
	for cond := range strings.SplitSeq(d.Condition, ",") {
		keys := strings.Split(strings.TrimSpace(cond), ".")
		if slices.Contains(keys, "") || len(keys) > maxLevels {
			continue
		}
		f := t
		for _, k := range keys[:len(keys)-1] {
			f = f.field(k)
			f.seen |= Map
			f.know(Metadata, place)
		}
		f = f.field(keys[len(keys)-1])
		f.know(Metadata, place)
		f.seen |= Bool
		if f.Doc == "" {
			f.Doc = tidy("Whether the dependency " + d.Name + " is part of the release.")
		}
	}
	for _, tag := range d.Tags {
		tags := t.field("tags")
		tags.seen |= Map
		tags.know(Metadata, place)
		f := tags.field(tag)
		f.know(Metadata, place)
		f.seen |= Bool
	}
}

// imports adds the values that the chart imports from a dependency, whose type
// is sub, to t.
func imports(t, sub *Type, d *chart.Dependency) {
	for _, iv := range d.ImportValues {
		child, parent := "", "."
		switch iv := iv.(type) {
		case string:
			child = "exports." + iv
		case map[string]any:
			child, parent = fmt.Sprint(iv["child"]), fmt.Sprint(iv["parent"])
		}
		from, ok := sub.At(strings.Split(child, ".")...)
		if !ok {
			continue
		}
		from.imported = true
		to := t
		if parent != "." {
			for k := range strings.SplitSeq(parent, ".") {
				to = to.field(k)
				to.seen |= Map
				to.know(Metadata, sub.Place)
			}
		}
		to.merge(from.clone(0), 0)
	}
}

// clone returns a deep copy of the type, for a dependency's values that a parent
// has under another name.
func (t *Type) clone(depth int) *Type {
	out := *t
	out.imported, out.Fields, out.Keys = false, nil, nil
	if depth >= maxLevels {
		return &out
	}
	for _, k := range t.Keys {
		out.set(k, t.Fields[k].clone(depth+1))
	}
	if t.Elem != nil {
		out.Elem = t.Elem.clone(depth + 1)
	}
	return &out
}

// shareGlobals sets the global values of all dependencies to those of the root,
// which they share.
func shareGlobals(t, global *Type, n *node) {
	for _, d := range n.deps {
		sub := t.Fields[d.name]
		if sub == nil || global == nil {
			continue
		}
		if g := sub.Fields[chartutil.GlobalKey]; g != nil && g != global {
			global.join(g, 0)
			sub.Fields[chartutil.GlobalKey] = global
		}
		shareGlobals(sub, global, d)
	}
}

// join adds the keys that a dependency reads in the same map to t. Values that a
// dependency reads count as read.
func (t *Type) join(o *Type, depth int) {
	t.Unread = t.Unread && o.Unread
	if o.Open && len(o.Keys) > 0 {
		t.open(o.Why)
	}
	for _, k := range o.Keys {
		if existing := t.Fields[k]; existing == nil {
			t.set(k, o.Fields[k])
		} else if depth < maxLevels {
			existing.join(o.Fields[k], depth+1)
		}
	}
	if len(t.Keys) > 0 && t.Why == unknownKeys {
		t.Open, t.Why = false, ""
	}
}

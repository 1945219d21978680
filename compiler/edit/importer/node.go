package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Node is a map, a list or a scalar with the comments of its source.
type Node struct {
	IsMap   bool
	Fields  []Field // of a map, in the order of the source
	IsList  bool
	List    []*Node
	Scalar  any      // nil, bool, string or json.Number of other nodes
	Parts   []string // of a string with references: texts at even indexes, facts at odd ones
	Integer *int64   // of helm --set, which templates see as int64; nil for others
	Comment string   // lines above the node, without markers

	Line, Col int    // of the key or element in the source; 0 when unknown
	File      string // absolute path of the source; empty for that of the release
}

// A Field is a field of a map.
type Field struct {
	Key   string
	Value *Node
}

// nodeOf converts decoded JSON. The order of keys and the comments are those of source,
// which may be nil; keys without a place in it follow sorted.
func nodeOf(v any, source *yaml.Node) *Node {
	n := &Node{}
	switch v := v.(type) {
	case map[string]any:
		n.IsMap = true
		for _, key := range sortedKeys(v) {
			n.Fields = append(n.Fields, Field{key, nodeOf(v[key], nil)})
		}
	case []any:
		n.IsList = true
		for _, e := range v {
			n.List = append(n.List, nodeOf(e, nil))
		}
	case float64, int64, int, json.Number:
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(fmt.Sprint(v))
		}
		n.Scalar = json.Number(text)
	default:
		n.Scalar = v
	}
	n.arrange(source, func(at *yaml.Node) diag.Pos { return diag.Pos{Line: at.Line, Col: at.Column} })
	return n
}

// arrange puts the fields that a source has first, in its order, with its comments and
// positions. Fields that have a position keep it and the comment.
func (n *Node) arrange(source *yaml.Node, place func(*yaml.Node) diag.Pos) {
	for source != nil && source.Kind == yaml.AliasNode {
		source = source.Alias
	}
	switch {
	case source == nil:
	case n.IsList && source.Kind == yaml.SequenceNode && len(source.Content) == len(n.List):
		for i, e := range n.List {
			e.Comment = commentOf(source.Content[i], source.Content[i])
			e.arrange(source.Content[i], place)
		}
	case n.IsMap && source.Kind == yaml.MappingNode:
		others := make(map[string]*Node, len(n.Fields))
		for _, f := range n.Fields {
			others[f.Key] = f.Value
		}
		var first []Field
		for i := 0; i+1 < len(source.Content); i += 2 {
			key, value := source.Content[i], source.Content[i+1]
			below := others[key.Value]
			if below == nil {
				continue
			}
			delete(others, key.Value)
			first = append(first, Field{key.Value, below})
			isNew := below.Line == 0
			if isNew {
				p := place(key)
				below.Comment, below.File, below.Line, below.Col = commentOf(key, value), p.File, p.Line, p.Col
			}
			if isNew || below.IsMap {
				below.arrange(value, place)
			}
		}
		n.Fields = append(first, slices.DeleteFunc(n.Fields, func(f Field) bool { return others[f.Key] == nil })...)
	}
}

// commentOf returns the comments of a key and its value as lines, without those for
// editors of YAML and those that SOPS encrypted.
func commentOf(key, value *yaml.Node) string {
	var lines []string
	for _, text := range []string{key.HeadComment, key.LineComment, value.LineComment} {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
			if line != "" && !strings.HasPrefix(line, "yaml-language-server:") && !strings.HasPrefix(line, "ENC[") && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// mapNode returns a map with the fields in their order.
func mapNode(fields ...Field) *Node { return &Node{IsMap: true, Fields: fields} }

// textNode returns a string.
func textNode(s string) *Node { return &Node{Scalar: s} }

// textNodes returns a list of strings.
func textNodes(all []string) *Node {
	n := &Node{IsList: true}
	for _, s := range all {
		n.List = append(n.List, textNode(s))
	}
	return n
}

// Get returns the field of a map, nil when there is none.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Text returns the string at a path of keys, empty when there is none.
func (n *Node) Text(keys ...string) string {
	for _, key := range keys {
		n = n.Get(key)
	}
	if n == nil {
		return ""
	}
	text, _ := n.Scalar.(string)
	return text
}

// Set adds a field to a map, or replaces it.
func (n *Node) Set(key string, value *Node) {
	for i, f := range n.Fields {
		if f.Key == key {
			n.Fields[i].Value = value
			return
		}
	}
	n.Fields = append(n.Fields, Field{key, value})
}

// setFilled adds a map to a map, unless it is nil or empty.
func (n *Node) setFilled(key string, value *Node) {
	if value != nil && len(value.Fields) > 0 {
		n.Set(key, value)
	}
}

// Value returns the node as decoded JSON with float64 numbers, but for those of helm --set. It has
// no references.
func (n *Node) Value() any { return n.decoded(false) }

// Native returns the node as decoded JSON of Kubernetes: integers are int64.
func (n *Node) Native() any { return n.decoded(true) }

func (n *Node) decoded(native bool) any {
	switch {
	case n == nil:
		return nil
	case n.IsMap:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Key] = f.Value.decoded(native)
		}
		return m
	case n.IsList:
		return diag.Each(n.List, func(e *Node) any { return e.decoded(native) })
	}
	num, ok := n.Scalar.(json.Number)
	switch {
	case n.Integer != nil:
		return *n.Integer
	case !ok:
		return n.Scalar
	}
	if i, err := num.Int64(); native && err == nil {
		return i
	}
	if f, err := num.Float64(); err == nil {
		return f
	}
	return num.String()
}

// Equal reports whether two nodes have the same data; comments and the order of keys do
// not matter.
func (n *Node) Equal(o *Node) bool {
	if n.IsMap != o.IsMap || n.IsList != o.IsList || len(n.Fields) != len(o.Fields) || len(n.List) != len(o.List) {
		return false
	}
	for _, f := range n.Fields {
		other := o.Get(f.Key)
		if other == nil || !f.Value.Equal(other) {
			return false
		}
	}
	for i, e := range n.List {
		if !e.Equal(o.List[i]) {
			return false
		}
	}
	return n.Scalar == o.Scalar && slices.Equal(n.Parts, o.Parts)
}

// hasReference reports whether the node or a node below it refers to a fact.
func (n *Node) hasReference() bool {
	return n.Parts != nil ||
		slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Value.hasReference() }) ||
		slices.ContainsFunc(n.List, (*Node).hasReference)
}

// Functions for decoded documents: each returns the value at a path of keys, or a zero
// value where there is none of this type.

// valueAt returns the value at a path of keys of a document; nil when there is none.
func valueAt(doc any, keys ...string) any { v, _ := fleet.Lookup(doc, keys); return v }

// textAt returns the string at a path of keys of a document.
func textAt(doc any, keys ...string) string { s, _ := valueAt(doc, keys...).(string); return s }

// listAt returns the list at a path of keys of a document.
func listAt(doc any, keys ...string) []any { l, _ := valueAt(doc, keys...).([]any); return l }

// isTrueAt reports whether true is at a path of keys of a document.
func isTrueAt(doc any, keys ...string) bool { b, _ := valueAt(doc, keys...).(bool); return b }

// mapAt returns the map at a path of keys of a document.
func mapAt(doc any, keys ...string) map[string]any {
	m, _ := valueAt(doc, keys...).(map[string]any)
	return m
}

// mapLeaves returns a copy of decoded JSON with each value that is neither a map nor a list
// replaced by the result of f, in the order of paths. path is that of v.
func mapLeaves(v any, path []string, f func(path []string, leaf any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			out[key] = mapLeaves(v[key], append(slices.Clone(path), key), f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = mapLeaves(e, append(slices.Clone(path), fmt.Sprint(i)), f)
		}
		return out
	}
	return f(path, v)
}

// copyMap returns a copy of a decoded map that shares nothing with it.
func copyMap(m map[string]any) map[string]any {
	out, _ := fleet.Clone(m).(map[string]any)
	return out
}

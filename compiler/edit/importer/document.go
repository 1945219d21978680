package importer

import (
	"path"
	"path/filepath"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Document is a YAML document of the imported repository, for positions and comments.
type Document struct {
	File       string // slash-separated, relative to the repository
	Kind, Name string
	Node       *yaml.Node // nil for a document without content

	dir   string // of the repository, slash-separated
	lines []int  // line in the file of each line of a rendered document; nil for others
}

// readDocuments returns the documents of a file of a repository up to the first that does
// not parse, and the error of that one.
func readDocuments(dir, file string, data []byte) (docs []*Document, err error) {
	for node, err := range fleet.YAMLDocuments(data) {
		if err != nil {
			return docs, err
		}
		if len(node.Content) == 0 {
			continue
		}
		d := &Document{dir: filepath.ToSlash(dir), File: file, Node: node.Content[0]}
		d.Kind = scalar(childNode(d.Node, "kind"))
		d.Name = scalar(childNode(d.Node, "metadata", "name"))
		docs = append(docs, d)
	}
	return docs, nil
}

// At returns the position of a field, or of the deepest part of its path that exists.
func (d *Document) At(field ...string) diag.Pos {
	if d.Node == nil {
		return diag.Pos{File: path.Join(d.dir, d.File), Line: 1, Col: 1}
	}
	at, n := d.Node, d.Node
	for _, key := range field {
		name, value := child(n, key)
		if value == nil {
			break
		}
		at, n = name, value
	}
	return d.position(at)
}

// position returns the position of a node of the document.
func (d *Document) position(n *yaml.Node) diag.Pos {
	return diag.Pos{File: path.Join(d.dir, d.File), Line: sourceLine(d.lines, n.Line), Col: n.Column}
}

// sourceLine returns the line in the file of a rendered line.
func sourceLine(lines []int, line int) int {
	if line >= 1 && line <= len(lines) {
		return lines[line-1]
	}
	return line
}

// child returns the key and the value of a field of a map, or an element of a list as both;
// nil when there is none.
func child(n *yaml.Node, key string) (name, value *yaml.Node) {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				name, value = n.Content[i], n.Content[i+1]
			}
		}
	}
	return name, value
}

// childNode returns the value at a path of keys and indices, nil when there is none.
func childNode(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		_, n = child(n, key)
	}
	return n
}

// scalar returns the text of a scalar, empty for other nodes.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

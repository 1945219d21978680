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
	Node       *yaml.Node
}

// readDocuments returns the documents of a file up to the first that does not parse.
func readDocuments(file string, data []byte) []*Document {
	var docs []*Document
	for node, err := range fleet.YAMLDocuments(data) {
		if err != nil || len(node.Content) == 0 {
			continue
		}
		d := &Document{File: file, Node: node.Content[0]}
		d.Kind = scalar(childNode(d.Node, "kind"))
		d.Name = scalar(childNode(d.Node, "metadata", "name"))
		docs = append(docs, d)
	}
	return docs
}

// At returns the position of a field, or of the deepest part of its path that exists. dir
// is the absolute path of the repository.
func (d *Document) At(dir string, field []string) diag.Pos {
	n := d.Node
	pos := diag.Pos{File: path.Join(filepath.ToSlash(dir), d.File), Line: n.Line, Col: n.Column}
	for _, key := range field {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == key {
					pos.Line, pos.Col = n.Content[i].Line, n.Content[i].Column
					next = n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(key); err == nil && i < len(n.Content) {
				next = n.Content[i]
				pos.Line, pos.Col = next.Line, next.Column
			}
		}
		if next == nil {
			return pos
		}
		n = next
	}
	return pos
}

// childNode returns the value at a path of keys, nil when there is none.
func childNode(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		for n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
			}
		}
		n = next
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

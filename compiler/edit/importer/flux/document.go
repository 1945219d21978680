package flux

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A document is a YAML document of the repository, for positions and comments.
type document struct {
	file       string // relative to the repository
	kind, name string
	node       *yaml.Node
}

// parsed returns the documents of a file; none when it does not parse, which the build
// reports.
func (r *repository) parsed(file string) []*document {
	docs, ok := r.files[file]
	if ok {
		return docs
	}
	data, err := os.ReadFile(filepath.Join(r.work, filepath.FromSlash(file)))
	if err != nil {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		if decoder.Decode(&node) != nil || len(node.Content) == 0 {
			break
		}
		d := &document{file: file, node: node.Content[0]}
		d.kind = scalar(child(d.node, "kind"))
		d.name = scalar(child(child(d.node, "metadata"), "name"))
		docs = append(docs, d)
	}
	r.files[file] = docs
	return docs
}

// lines returns the number of lines of a file.
func (r *repository) lines(file string) int {
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(file)))
	if err != nil {
		return 0
	}
	return bytes.Count(data, []byte("\n"))
}

// find returns the document of an object in a file: by kind and name, or the only one of
// its kind.
func (r *repository) find(file, kind, name string) *document {
	var same []*document
	for _, d := range r.parsed(file) {
		if d.kind == kind && d.name == name {
			return d
		}
		if d.kind == kind {
			same = append(same, d)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return nil
}

// at returns the position of a field, or of the deepest part of its path that exists.
func (d *document) at(dir string, field []string) diag.Pos {
	n := d.node
	pos := diag.Pos{File: path.Join(filepath.ToSlash(dir), d.file), Line: n.Line, Col: n.Column}
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

// child returns the value of a key, nil when there is none.
func child(n *yaml.Node, keys ...string) *yaml.Node {
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

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// source returns the YAML of a field of an object; nil when it is unknown.
func (o *object) source(keys ...string) *yaml.Node {
	if o.doc == nil {
		return nil
	}
	return child(o.doc.node, keys...)
}

// originAnnotation is the annotation by which kustomize names the file of an object.
const originAnnotation = "config.kubernetes.io/origin"

// takeOrigin removes the origin of an object and returns its file, relative to dir; empty
// when there is none.
func takeOrigin(content map[string]any, dir string) string {
	annotations := mapping(content, "metadata", "annotations")
	origin, _ := annotations[originAnnotation].(string)
	delete(annotations, originAnnotation)
	if annotations != nil && len(annotations) == 0 {
		delete(mapping(content, "metadata"), "annotations")
	}
	for line := range strings.Lines(origin) {
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "path: "); ok {
			return path.Join(dir, file)
		}
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "configuredIn: "); ok {
			return path.Join(dir, file)
		}
	}
	return ""
}

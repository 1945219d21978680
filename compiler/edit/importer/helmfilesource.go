package importer

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A mergedSource is the YAML of values from several files: it has the order of keys, the
// comments and the positions.
type mergedSource struct {
	node   *yaml.Node
	places map[*yaml.Node]diag.Pos // of keys
}

// add merges the YAML of later values.
func (m *mergedSource) add(s *Document, n *yaml.Node) {
	if n != nil {
		m.node = m.merge(s, m.node, n)
	}
}

// merge returns a copy of b, over a if both are maps.
func (m *mergedSource) merge(s *Document, a, b *yaml.Node) *yaml.Node {
	for b.Kind == yaml.AliasNode {
		b = b.Alias
	}
	if b.Kind != yaml.MappingNode {
		return b
	}
	out := *b
	out.Content = nil
	if a != nil && a.Kind == yaml.MappingNode {
		out.Content = slices.Clone(a.Content)
	}
	for i := 0; i+1 < len(b.Content); i += 2 {
		key := *b.Content[i]
		m.places[&key] = s.position(&key)
		at := -1
		for j := 0; j+1 < len(out.Content); j += 2 {
			if out.Content[j].Value == key.Value {
				at = j
			}
		}
		if at < 0 {
			out.Content = append(out.Content, &key, m.merge(s, nil, b.Content[i+1]))
			continue
		}
		out.Content[at], out.Content[at+1] = &key, m.merge(s, out.Content[at+1], b.Content[i+1])
	}
	return &out
}

// locate sets the positions of fields. Positions below lists are unknown.
func (m *mergedSource) locate(n *Node, source *yaml.Node) {
	if source == nil || source.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(source.Content); i += 2 {
		below := n.Get(source.Content[i].Value)
		if below == nil {
			continue
		}
		p := m.places[source.Content[i]]
		below.File, below.Line, below.Col = p.File, p.Line, p.Col
		m.locate(below, source.Content[i+1])
	}
}

package kustomize

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxExpanded = 64 << 20 // approximate bytes of a file with expanded aliases
	perNode     = 16       // bytes that a node counts, besides its text
	maxNested   = 4        // nesting of YAML in strings that is measured
)

// smallExpanded reports whether the YAML stays small when kustomize expands its
// aliases, including YAML in strings, such as patches. Invalid YAML is small.
func smallExpanded(data []byte) bool { return within(data, maxNested) }

func within(data []byte, nested int) bool {
	if !bytes.ContainsRune(data, '&') || !bytes.ContainsRune(data, '*') {
		return true
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	total := 0
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); err != nil {
			return true
		}
		e := expansion{sizes: map[*yaml.Node]int{}, nested: nested}
		if total += e.size(&doc); total > maxExpanded {
			return false
		}
	}
}

// An expansion measures a document.
type expansion struct {
	sizes  map[*yaml.Node]int // sizes of nodes with an anchor; -1 during the measurement
	nested int
}

// size returns the size of the expanded node, or more than the limit.
func (e *expansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		switch size, ok := e.sizes[n]; {
		case ok && size < 0:
			return maxExpanded + 1 // it contains itself
		case ok:
			return size
		}
		e.sizes[n] = -1
	}
	size := perNode + len(n.Value)
	if n.Kind == yaml.ScalarNode && e.nested > 0 && strings.Contains(n.Value, "*") && !within([]byte(n.Value), e.nested-1) {
		size = maxExpanded + 1
	}
	for _, c := range n.Content {
		if size = min(size+e.size(c), maxExpanded+1); size > maxExpanded {
			break
		}
	}
	if n.Anchor != "" {
		e.sizes[n] = size
	}
	return size
}

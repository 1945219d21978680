package kustomize

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxExpanded = 64 << 20 // bytes of a file when its aliases are replaced, about
	perNode     = 16       // bytes that a node counts for, beside its text
	maxNested   = 4        // how deep texts in texts are looked at
)

// smallExpanded reports whether the YAML stays small when its aliases are replaced
// by what they stand for, as kustomize does, also in texts that are themselves
// YAML, such as patches. What does not parse is small.
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
	sizes  map[*yaml.Node]int // of nodes that have an anchor; -1 while one is measured
	nested int
}

// size returns how large the node becomes, or more than is allowed.
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

package fleet

import "go.yaml.in/yaml/v3"

const (
	// MaxExpandedYAML limits the size of YAML with expanded aliases, in approximate bytes.
	MaxExpandedYAML = 64 << 20

	perNode = 16 // bytes that a node counts, besides its text
)

// ExpandedYAMLSize returns the approximate size of a node with expanded aliases, or more than
// [MaxExpandedYAML]. isTooLarge reports whether the text of a scalar exceeds the limit, for
// example because the text is YAML; it may be nil.
func ExpandedYAMLSize(root *yaml.Node, isTooLarge func(text string) bool) int {
	e := expansion{map[*yaml.Node]int{}, isTooLarge}
	return e.size(root)
}

// An expansion measures a document.
type expansion struct {
	sizes      map[*yaml.Node]int // sizes of nodes with an anchor; -1 during the measurement
	isTooLarge func(text string) bool
}

func (e expansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		switch size, ok := e.sizes[n]; {
		case ok && size < 0:
			return MaxExpandedYAML + 1 // it contains itself
		case ok:
			return size
		}
		e.sizes[n] = -1
	}
	size := perNode + len(n.Value)
	if n.Kind == yaml.ScalarNode && e.isTooLarge != nil && e.isTooLarge(n.Value) {
		size = MaxExpandedYAML + 1
	}
	for _, c := range n.Content {
		if size = min(size+e.size(c), MaxExpandedYAML+1); size > MaxExpandedYAML {
			break
		}
	}
	if n.Anchor != "" {
		e.sizes[n] = size
	}
	return size
}

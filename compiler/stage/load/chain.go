package load

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Chain holds one cluster with the instances of its layers.
type Chain struct {
	Root    string // absolute path of the CUE module's root
	Cluster        // with the instance of all layers

	// Prefixes holds, for each layer, the instance of that layer and those
	// above it; nil if CUE cannot load it without the layers below.
	Prefixes []*build.Instance
}

// LoadChain reads the one cluster that the pattern selects, see
// [fleet.MatchCluster], in the fleet of dir, with the edits applied. The error
// contains the faults of its layers, not those of other directories. A pattern
// that selects no or several clusters is a fault.
func LoadChain(dir, pattern string, edits Edits) (*Chain, error) {
	s, err := open(dir, edits)
	if err != nil {
		return nil, err
	}
	root, tree := s.root, s.tree
	f := &Fleet{Root: root, source: s, files: map[string]*fileFacts{}}
	leaves, err := selectLeaves(tree.leaves(), []string{pattern})
	if err != nil {
		return nil, err
	}
	if len(leaves) > 1 {
		return nil, &diag.Diag{
			Code: diag.CodeSeveralMatches,
			Msg:  fmt.Sprintf("%s selects %d clusters, and only one can be explained at a time", pattern, len(leaves)),
			Hint: "write one of " + strings.Join(diag.Each(leaves, idOf), ", "),
		}
	}
	dirs := diag.Each(tree.layers(leaves[0]), func(l fleet.Layer) string { return l.Dir })
	instances := loadInstances(root, s.withEdits(edits), dirs)
	rebaseEmbeds(root, instances)
	reader, err := newFactReader(root)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	l := f.newLeaf(leaves[0], instances[len(instances)-1], reader)
	if l.err == nil {
		l.err = f.CheckEmbedded(l.cluster)
	}
	if l.err != nil {
		return nil, diag.In(idOf(leaves[0]), l.err)
	}
	for i, in := range instances {
		if in.Err != nil {
			instances[i] = nil
		}
	}
	return &Chain{Root: root, Cluster: l.cluster, Prefixes: instances}, nil
}

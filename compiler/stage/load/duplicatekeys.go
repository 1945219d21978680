package load

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"cuelang.org/go/cue/ast"
	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// CheckEmbedded returns a fault for each file of YAML or JSON that a cluster embeds and that
// has a key twice: CUE unifies the values, and Helm takes the last one. To find them, it
// parses the files, each once for all clusters; [Load] does not, because unchanged clusters
// are not evaluated.
func (f *Fleet) CheckEmbedded(c Cluster) error {
	var faults diag.List
	for _, in := range append(c.Instance.Dependencies(), c.Instance) {
		for _, file := range in.Files {
			faults = append(faults, f.files[file.Filename].duplicateKeys()...)
		}
	}
	return faults.Err()
}

// duplicateKeys returns a function that returns a fault for each file that a CUE file embeds
// and that has a key twice.
func (r *factReader) duplicateKeys(file *ast.File, embeds []diag.EmbeddedFile) func() diag.List {
	root, top := r.root, r.top
	return sync.OnceValue(func() (faults diag.List) {
		tree, err := os.OpenRoot(top)
		if err != nil {
			return nil
		}
		defer tree.Close()
		for _, e := range embeds {
			name, err := filepath.Rel(top, filepath.Join(root, filepath.FromSlash(e.Name)))
			if err != nil || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(e.Name)) {
				continue
			}
			data, err := git.ReadFile(tree, filepath.ToSlash(name), maxSource)
			var n yaml.Node
			if err != nil || yaml.Unmarshal(data, &n) != nil {
				continue // CUE reports errors
			}
			if first, again := duplicateKey(&n); again != nil {
				pos := diag.Pos{File: e.Name, Line: again.Line, Col: again.Column}
				if !filepath.IsLocal(filepath.FromSlash(e.Name)) { // of another module
					pos.File = path.Join(path.Dir(diag.CUEPos(root, file.Pos()).File), e.As)
				}
				faults.Add(&diag.Diag{
					Code: diag.CodeEmbeddedFile, At: []diag.Pos{pos},
					Msg:  fmt.Sprintf("the key %s occurs twice, first in line %d", diag.Visible(again.Value, diag.MaxText), first.Line),
					Hint: "keep one of them",
				})
			}
		}
		return faults
	})
}

// duplicateKey returns the places of a key that a map has twice; nil for none.
func duplicateKey(n *yaml.Node) (first, again *yaml.Node) {
	keys := map[string]*yaml.Node{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if keys[c.Value] != nil {
				return keys[c.Value], c
			}
			keys[c.Value] = c
		}
		if first, again = duplicateKey(c); again != nil {
			return first, again
		}
	}
	return nil, nil
}

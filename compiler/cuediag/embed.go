package cuediag

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/inject/embed"

	"github.com/fleetc/fleetc/compiler/diag"
)

// An Embed is a file that a file of CUE embeds.
type Embed struct {
	Name string   // relative to the fleet's root, slash-separated
	As   string   // as CUE has it in positions: relative to the file that embeds it
	Pos  diag.Pos // of the attribute
}

// Embeds returns the files that a file of the fleet with the given root embeds,
// none for a file outside of it. The error is a fault at an @embed that finds
// nothing.
func Embeds(root string, file *ast.File) ([]Embed, error) {
	name, err := filepath.Rel(root, file.Filename)
	if err != nil || !filepath.IsLocal(name) {
		return nil, nil
	}
	name = filepath.ToSlash(name)
	embeds, cerr := embed.EmbeddedPaths(name, file)
	if cerr != nil {
		return nil, Faults(root, cerr, cue.Value{}).Err()
	}
	var out []Embed
	tree := os.DirFS(root)
	for _, e := range embeds {
		found, err := e.FindAll(tree)
		if err != nil {
			return nil, Faults(root, err, cue.Value{}).Err()
		}
		for _, f := range found {
			// A glob may name directories, which CUE passes over.
			if info, err := fs.Stat(tree, f); err == nil && !info.IsDir() {
				out = append(out, Embed{f, strings.TrimPrefix(f, path.Dir(name)+"/"), Pos(root, e.Attribute.Pos)})
			}
		}
	}
	return out, nil
}

package edit

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A layer is a layer of the fleet with the values that it sets.
type layer struct {
	load.LayerFiles
	files    []*sourceFile
	above    *layer // nil for the root
	below    []*layer
	settings *setting
}

// A sourceFile is a file of a layer.
type sourceFile struct {
	name   string // relative to the fleet's root
	text   []byte
	parsed *ast.File
	isLink bool // whether it is a symbolic link; such a file is not changed
}

// A tree is all layers of a fleet.
type tree struct {
	root   string // absolute path of the fleet
	layers []*layer
	texts  map[string][]byte // of all files, by name
}

// readTree reads the layers of the fleet of a compiler.
func readTree(c *compiler.Compiler) (*tree, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	dirs, err := load.Layers(root)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, texts: map[string][]byte{}}
	for _, d := range dirs {
		l := &layer{LayerFiles: d, settings: &setting{}}
		for _, other := range t.layers {
			if strings.HasPrefix(d.Dir, other.Dir+"/") {
				l.above = other // the last one is the nearest
			}
		}
		if l.above != nil {
			l.above.below = append(l.above.below, l)
		}
		t.layers = append(t.layers, l)
		for _, name := range d.Files {
			file, err := t.readFile(name)
			if err != nil {
				return nil, err
			}
			l.files, t.texts[name] = append(l.files, file), file.text
			l.read(file)
		}
	}
	return t, nil
}

// readFile reads a file of a layer.
func (t *tree) readFile(name string) (*sourceFile, error) {
	abs := filepath.Join(t.root, filepath.FromSlash(name))
	info, err := os.Lstat(abs)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(abs)
	if err != nil {
		return nil, err
	}
	parsed, err := t.parse(name, text)
	return &sourceFile{name: name, text: text, parsed: parsed, isLink: info.Mode()&fs.ModeSymlink != 0}, err
}

// parse parses the text of a file.
func (t *tree) parse(name string, text []byte) (*ast.File, error) {
	parsed, err := load.ParseFile(filepath.Join(t.root, filepath.FromSlash(name)), text, parser.ParseComments)
	if err != nil {
		return nil, diag.CUEFaults(t.root, err, cue.Value{}).Err()
	}
	return parsed, nil
}

// id returns the path of the layer below environments, root for the topmost.
func (l *layer) id() string {
	_, id, ok := strings.Cut(l.Dir, "/")
	if !ok {
		return l.Name
	}
	return id
}

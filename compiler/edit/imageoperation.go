package edit

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An operation is one change of a file. Operations are comparable.
type operation struct {
	kind          operationKind
	at            diag.Pos // of the text; only the file for kustomizations and Jsonnet
	path          string   // of the value, for people
	keys          string   // of the value in a layer, joined by NUL, or the key beside
	layer         string   // name of the layer
	layerDir      string
	before, after string
}

type operationKind int

// The kinds of operations, in the order in which they are applied at one position.
const (
	setBeside    operationKind = iota // adds a field beside a literal
	replaceText                       // replaces a text in a literal of a CUE file
	replaceYAML                       // replaces a text in a scalar of a YAML file
	setKustomize                      // sets the tag of an image of a kustomization
	replaceOnce                       // replaces a text that is in a file once
	setInLayer                        // sets a default in a layer
)

// A LineEdit is a change of a line of the fleet.
type LineEdit struct {
	diag.Pos        // before the update; only the file for an added field
	Path     string `json:"path,omitempty"`   // in the configuration
	Before   string `json:"before,omitempty"` // empty for an added field
	After    string `json:"after"`
}

// applyOperations applies operations to the files of the fleet. Later lines come first, so that
// positions stay valid.
func applyOperations(root string, operations []operation) (load.Edits, []LineEdit, error) {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	defer tree.Close()
	operations = slices.Clone(operations)
	for i := range operations {
		at := &operations[i].at
		if file, err := linkTarget(tree, filepath.FromSlash(at.File)); err == nil && at.Line > 0 {
			at.File = filepath.ToSlash(file) // clusters may share it
		}
	}
	slices.SortStableFunc(operations, func(a, b operation) int {
		return cmp.Or(cmp.Compare(boolInt(a.kind == setInLayer), boolInt(b.kind == setInLayer)), cmp.Compare(a.at.File, b.at.File),
			cmp.Compare(b.at.Line, a.at.Line), cmp.Compare(b.at.Col, a.at.Col), cmp.Compare(a.kind, b.kind), cmp.Compare(a.layerDir, b.layerDir), cmp.Compare(a.path, b.path))
	})
	edits := load.Edits{}
	var lines []LineEdit
	var faults diag.List
	for i, o := range operations {
		if i > 0 && o.kind == operations[i-1].kind && o.at == operations[i-1].at && o.at.Line > 0 && o.keys == operations[i-1].keys {
			if o.after != operations[i-1].after {
				faults.Add(&diag.Diag{
					Code: diag.CodeCannotEdit,
					At:   []diag.Pos{o.at}, Path: o.path, Msg: fmt.Sprintf("this line sets the image for clusters with different policies: %s and %s", o.after, operations[i-1].after),
					Hint: "name a layer with --in",
				})
			}
			continue
		}
		line, err := o.apply(root, edits)
		if err != nil {
			faults.Add(err)
			continue
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b LineEdit) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Path, b.Path), cmp.Compare(a.After, b.After))
	})
	return edits, lines, faults.Err()
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// apply applies one operation.
func (o operation) apply(root string, edits load.Edits) (LineEdit, error) {
	line := LineEdit{Pos: o.at, Path: o.path, Before: o.before, After: o.after}
	var err error
	switch o.kind {
	case setBeside:
		line.Line, line.Col = 0, 0
		err = load.SetBeside(root, o.at, o.keys, o.after, edits)
	case replaceText:
		err = load.ReplaceText(root, o.at, o.before, o.after, edits)
	case replaceYAML:
		err = editYAML(root, o, edits)
	case setKustomize:
		line, err = editKustomization(root, o, edits)
	case replaceOnce:
		line, err = editOnce(root, o, edits)
	case setInLayer:
		layer := fleet.Layer{Name: o.layer, Dir: o.layerDir}
		line.Line, line.Col, line.Before = 0, 0, ""
		line.File, err = load.SetText(root, layer, strings.Split(o.keys, "\x00"), o.after, edits)
	}
	return line, err
}

// isYAML reports whether a file is YAML or JSON.
func isYAML(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file))
}

package origin

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ManifestPos returns the source position of a field in a manifest below a directory, or
// that of the object if the field is not found. at is the beginning of the object's
// document.
func ManifestPos(dir string, at diag.Pos, field []string) diag.Pos {
	root, err := os.OpenRoot(dir)
	if err != nil || len(field) == 0 || at.Line == 0 {
		return at
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.FromSlash(at.File))
	if err != nil {
		return at
	}
	lines := strings.SplitAfter(string(data), "\n")
	if at.Line > len(lines) || at.Col > 1 {
		return at // an item of a list
	}
	text, _, _ := strings.Cut(strings.Join(lines[at.Line-1:], ""), "\n---")
	line, col, ok := fleet.FieldPosition(text, field)
	if !ok {
		return at
	}
	return diag.Pos{File: at.File, Line: at.Line + line - 1, Col: col}
}

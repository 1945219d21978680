package edit

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

const (
	extension = ".cue"
	modules   = "cue.mod" // CUE's own directory in the root of a module
)

// cueFiles returns the CUE files of the module at root, sorted, slash-separated
// and relative to it. A special file is a fault. As in cue fmt, it skips cue.mod, nested modules, and
// directories whose names begin with . or _; it does not follow symbolic
// links.
func cueFiles(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != root && passedOver(file, e.Name()):
			return filepath.SkipDir
		case e.IsDir() || e.Type() == fs.ModeSymlink || filepath.Ext(file) != extension:
			return nil
		}
		name, err := filepath.Rel(root, file)
		out = append(out, filepath.ToSlash(name))
		return cmp.Or(err, load.CheckRegular(filepath.ToSlash(name), e.Type()))
	})
	return out, err
}

func passedOver(dir, name string) bool {
	if name == modules || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, modules))
	return err == nil
}

// isCUE reports whether a file, relative to its module's root and
// slash-separated, is a user's CUE file: it has the extension, and is not in
// cue.mod.
func isCUE(file string) bool {
	return strings.HasSuffix(file, extension) && !strings.HasPrefix(file, modules+"/")
}

// FormatSource formats a text. All lines get the end of the first one, LF or CRLF, which Git for
// Windows writes. If the text does not parse, the error contains faults of the file, an absolute
// path, relative to root.
func FormatSource(root, file string, text []byte) ([]byte, error) {
	parsed, err := load.ParseFile(file, text, parser.ParseComments)
	if err != nil {
		return nil, diag.CUEFaults(root, err, cue.Value{}).Err()
	}
	formatted, err := format.Node(parsed)
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		formatted = bytes.ReplaceAll(formatted, []byte("\n"), []byte("\r\n"))
	}
	return formatted, err
}

// formatEdits formats the CUE files of edits that were formatted before. The others stay byte
// for byte.
func formatEdits(root string, before, edits map[string][]byte) error {
	for name, text := range edits {
		if filepath.Ext(name) != extension {
			continue
		}
		file := filepath.Join(root, filepath.FromSlash(name))
		if formatted, err := FormatSource(root, file, before[name]); err != nil || !bytes.Equal(formatted, before[name]) {
			continue
		}
		formatted, err := FormatSource(root, file, text)
		if err != nil {
			return err
		}
		edits[name] = formatted
	}
	return nil
}

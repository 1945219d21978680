package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxFile limits the size of a file that is read, in bytes.
const maxFile = 8 << 20

// errOutside is the error for a path that is outside of the repository.
var errOutside = errors.New("the path is outside of the repository")

// place returns a path below a directory of the repository, relative to the repository.
func (r *helmfileReader) place(base, name string) (string, error) {
	if filepath.IsAbs(filepath.FromSlash(name)) {
		rel, err := filepath.Rel(r.dir, filepath.FromSlash(name))
		if err != nil || !filepath.IsLocal(rel) {
			return "", errOutside
		}
		return filepath.ToSlash(rel), nil
	}
	out := path.Join(base, name)
	if !filepath.IsLocal(filepath.FromSlash(out)) {
		return "", errOutside
	}
	return out, nil
}

// read returns the content of a file of the repository.
func (r *helmfileReader) read(name string) ([]byte, error) {
	info, err := r.tree.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the repository has no file %s", name)
	case err != nil:
		return nil, errOutside
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return r.tree.ReadFile(filepath.FromSlash(name))
}

// isFile reports whether a file of the repository exists.
func (r *helmfileReader) isFile(name string) bool {
	info, err := r.tree.Stat(filepath.FromSlash(name))
	return err == nil && !info.IsDir()
}

// isDir reports whether a directory of the repository exists.
func (r *helmfileReader) isDir(name string) bool {
	info, err := r.tree.Stat(filepath.FromSlash(name))
	return err == nil && info.IsDir()
}

// glob returns the files and directories of the repository that match a pattern, sorted.
func (r *helmfileReader) glob(pattern string) ([]string, error) {
	out, err := fs.Glob(r.tree.FS(), pattern)
	slices.Sort(out)
	return out, err
}

// parse returns the content of rendered YAML. lines has the line in the file of each
// rendered line.
func (r *helmfileReader) parse(file string, data []byte, lines []int) (*Document, map[string]any, error) {
	s := &Document{dir: filepath.ToSlash(r.dir), File: file, lines: lines}
	var doc yaml.Node
	content := map[string]any{}
	err := yaml.Unmarshal(data, &doc)
	if err == nil && len(doc.Content) > 0 && doc.Content[0].Tag != "!!null" {
		s.Node = doc.Content[0]
		err = s.Node.Decode(&content)
	}
	if err != nil {
		line, text := yamlLine(err)
		return nil, nil, &diag.Diag{
			Code: diag.CodeImportInvalid, At: []diag.Pos{r.pos(file, max(sourceLine(lines, line), 1), 1)},
			Msg:  "not valid YAML: " + text,
			Hint: "correct the file; a file with templates is called .gotmpl",
		}
	}
	plain, _ := plainValue(content).(map[string]any)
	return s, plain, nil
}

// yamlLine returns the line of an error of the YAML parser, and its text without it.
func yamlLine(err error) (int, string) {
	text := yamlReason(err)
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
	}
	return line, text
}

// plainValue returns a decoded value with strings as keys of all maps.
func plainValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[key] = plainValue(below)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[fmt.Sprint(key)] = plainValue(below)
		}
		return out
	case []any:
		return diag.Each(v, plainValue)
	}
	return v
}

// plainMap returns a copy of a decoded map, with its values converted by plainValue.
func plainMap(m map[string]any) map[string]any {
	out, _ := plainValue(m).(map[string]any)
	return out
}

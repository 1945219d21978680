package lsp

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// chartFile returns the path of a file of a chart. If the chart is an archive or not in the
// repository, it writes a read-only copy of the file below the cache directory.
func (c *checker) chartFile(ch *fleet.Chart, name string) (string, error) {
	i := slices.IndexFunc(ch.Files, func(f fleet.File) bool { return f.Name == name })
	if i < 0 {
		return "", fmt.Errorf("%s has no file %s", ch.Ref, name)
	}
	if ch.Ref.Path != "" {
		file := c.path(path.Join(ch.Ref.Path, name))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	dir := c.s.Compiler(c.root).CacheDir()
	if dir == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("no place to write %s", name)
	}
	// The digest keeps versions of a chart apart.
	digest := strings.TrimPrefix(ch.Digest, "sha256:")
	if digest == "" || !filepath.IsLocal(digest) {
		return "", fmt.Errorf("%s has no digest", ch.Ref)
	}
	file := filepath.Join(dir, "editor", digest, filepath.FromSlash(name))
	return file, writeReadOnly(file, ch.Files[i].Data)
}

// writeReadOnly writes a file unless it exists with the same content.
func writeReadOnly(file string, data []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return nil
	}
	const dirMode, fileMode = 0o755, 0o444
	if err := os.MkdirAll(filepath.Dir(file), dirMode); err != nil {
		return err
	}
	return fleet.Replacement{File: file, Temp: ".new-" + rand.Text(), Mode: fileMode}.Write(data)
}

// chartLocation returns the location of a line in a file of a chart. The line has the format
// of types and traces, such as values.yaml:12.
func (c *checker) chartLocation(ch *fleet.Chart, at string) (location, bool) {
	name, lineText, _ := strings.Cut(at, ":")
	line, _ := strconv.Atoi(lineText)
	file, err := c.chartFile(ch, name)
	if err != nil {
		return location{}, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return location{}, false
	}
	return location{uriOf(file), rangeOf(string(text), line, 0)}, true
}

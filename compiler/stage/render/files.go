package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	"helm.sh/helm/v3/pkg/chart"
)

// files holds the files of a chart that its templates read as .Files: all
// files that are not templates, by name. Templates range over it and call its
// methods, which Helm documents.
type files map[string][]byte

func filesOf(all []*chart.File) files {
	out := make(files, len(all))
	for _, f := range all {
		out[f.Name] = f.Data
	}
	return out
}

// GetBytes returns a file; it is empty when the file does not exist.
func (f files) GetBytes(name string) []byte {
	if data := f[name]; data != nil {
		return data
	}
	return []byte{}
}

// Get returns a file as text.
func (f files) Get(name string) string { return string(f[name]) }

// Glob returns the files whose names match the pattern, and all files for an
// invalid pattern. The number of wildcards is limited, because the matching
// time grows fast with it.
func (f files) Glob(pattern string) (files, error) {
	if strings.Count(pattern, "*")+strings.Count(pattern, "{")+strings.Count(pattern, ",") > 32 || len(pattern) > 1024 {
		return nil, errors.New("the pattern has too many wildcards")
	}
	g, err := glob.Compile(pattern, '/')
	if err != nil {
		g = glob.MustCompile("**")
	}
	out := files{}
	for name, data := range f {
		if g.Match(name) {
			out[name] = data
		}
	}
	return out, nil
}

// AsConfig returns the files as the data of a ConfigMap, in YAML, by base
// name. The last of several files with the same base name is used.
func (f files) AsConfig() string {
	return f.yaml(func(data []byte) string { return string(data) })
}

// AsSecrets returns the files as the data of a Secret.
func (f files) AsSecrets() string { return f.yaml(base64.StdEncoding.EncodeToString) }

func (f files) yaml(encode func([]byte) string) string {
	if f == nil {
		return ""
	}
	out := make(map[string]string, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		out[path.Base(name)] = encode(f[name])
	}
	return toYAML(out)
}

// Lines returns the lines of a file.
func (f files) Lines(name string) []string {
	data := f[name]
	if len(data) == 0 {
		return []string{}
	}
	return strings.Split(string(bytes.TrimSuffix(data, []byte("\n"))), "\n")
}

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

// files are the files of a chart that its templates can read, as .Files: those
// that are no templates, by their names. Templates go over it as over any map,
// and call its methods, which are those that Helm documents.
type files map[string][]byte

func filesOf(all []*chart.File) files {
	out := make(files, len(all))
	for _, f := range all {
		out[f.Name] = f.Data
	}
	return out
}

// GetBytes returns a file, which is empty when there is none.
func (f files) GetBytes(name string) []byte {
	if data := f[name]; data != nil {
		return data
	}
	return []byte{}
}

// Get returns a file as text.
func (f files) Get(name string) string { return string(f[name]) }

// Glob returns the files whose names match the pattern; all files when it is
// none. How long matching takes grows fast with the number of wildcards, so
// there may be only a few.
func (f files) Glob(pattern string) (files, error) {
	if strings.Count(pattern, "*")+strings.Count(pattern, "{")+strings.Count(pattern, ",") > 32 || len(pattern) > 1024 {
		return nil, errors.New("a pattern with so many wildcards is not looked for")
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

// AsConfig returns the files as the data of a ConfigMap, in YAML, under the
// last elements of their names. Of several with the same, the last counts.
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

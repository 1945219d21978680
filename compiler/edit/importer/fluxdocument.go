package importer

import (
	"bytes"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parsed returns the documents of a file; none when it does not parse, which the build
// reports.
func (r *fluxReader) parsed(file string) []*Document {
	docs, ok := r.files[file]
	if ok {
		return docs
	}
	data, err := r.read(file)
	if err != nil {
		return nil
	}
	docs, _ = readDocuments(r.Dir, file, data)
	r.files[file] = docs
	r.model.Documents += len(docs)
	r.model.Lines += bytes.Count(data, []byte("\n"))
	return docs
}

// find returns the document of an object in a file: by kind and name, or the only one of
// its kind.
func (r *fluxReader) find(file, kind, name string) *Document {
	var same []*Document
	for _, d := range r.parsed(file) {
		if d.Kind == kind && d.Name == name {
			return d
		}
		if d.Kind == kind {
			same = append(same, d)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return nil
}

// source returns the YAML of a field of an object; nil when it is unknown.
func (o *fluxObject) source(keys ...string) *yaml.Node {
	if o.doc == nil {
		return nil
	}
	return childNode(o.doc.Node, keys...)
}

// originAnnotation is the annotation by which kustomize names the file of an object.
const originAnnotation = "config.kubernetes.io/origin"

// takeOrigin removes the origin of an object and returns its file, relative to dir; empty
// when there is none.
func takeOrigin(content map[string]any, dir string) string {
	annotations := mapAt(content, "metadata", "annotations")
	origin, _ := annotations[originAnnotation].(string)
	delete(annotations, originAnnotation)
	if annotations != nil && len(annotations) == 0 {
		delete(mapAt(content, "metadata"), "annotations")
	}
	for line := range strings.Lines(origin) {
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "path: "); ok {
			return path.Join(dir, file)
		}
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "configuredIn: "); ok {
			return path.Join(dir, file)
		}
	}
	return ""
}

package importer

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// overlayDir is the directory in the copy for the fields of an Application's kustomize
// source.
const overlayDir = "fleetc-import-overlay"

// kustomize adds the objects that kustomize builds. The fields of the source are an
// overlay over the directory. mayMiss says that patches may match nothing.
func (r *argoReader) kustomize(s *appSource, dir string, out *Release, mayMiss bool) error {
	content := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []any{"../" + dir}}
	spec := mapAt(s.spec, "kustomize")
	for _, key := range []string{"namePrefix", "nameSuffix", "namespace", "replicas", "patches", "commonAnnotations"} {
		if v := spec[key]; v != nil {
			content[key] = v
		}
	}
	if labels := mapAt(spec, "commonLabels"); labels != nil {
		isSelected := !isTrueAt(spec, "labelWithoutSelector")
		content["labels"] = []any{map[string]any{"pairs": labels, "includeSelectors": isSelected, "includeTemplates": isSelected || isTrueAt(spec, "labelIncludeTemplates")}}
	}
	for _, c := range listAt(spec, "components") {
		name, _ := c.(string)
		to := path.Join(dir, name)
		if !filepath.IsLocal(filepath.FromSlash(to)) {
			return r.fault(diag.CodeImportFile, s.app, s.at("kustomize", "components"), "the component "+name+" is outside of the repository", "write a path relative to "+dir)
		}
		content["components"] = append(listAt(content, "components"), "../"+to)
	}
	for _, v := range listAt(spec, "images") {
		image, _ := v.(string)
		content["images"] = append(listAt(content, "images"), imageOf(image))
	}
	overlay := filepath.Join(r.Work, overlayDir)
	if err := os.MkdirAll(overlay, 0o755); err != nil {
		return err
	}
	if err := writeYAML(filepath.Join(overlay, kustomizationFiles[0]), content); err != nil {
		return err
	}
	built, err := r.opts.ProveWith.Build(r.ctx, r.Work, overlayDir, r.fetch.Get)
	if mayMiss {
		built.Unmatched = nil
	}
	if err = errors.Join(err, built.Unmatched.Err(), os.RemoveAll(overlay)); err != nil {
		return diag.Moved(err, func(p diag.Pos) diag.Pos {
			if strings.HasPrefix(p.File, overlayDir+"/") {
				return r.at(s.app, s.field) // the overlay has the fields of the source
			}
			return r.Position(p)
		})
	}
	out.Unproven = cmp.Or(out.Unproven, built.Differs)
	r.setObjects(out, renderedNodes(built.Objects))
	return nil
}

// imageOf returns an entry of images for NAME=NEW:TAG, NAME:TAG or NAME@DIGEST.
func imageOf(text string) map[string]any {
	name, replacement, ok := strings.Cut(text, "=")
	if !ok {
		replacement = text
	}
	out := map[string]any{}
	base := replacement
	if before, digest, ok := strings.Cut(base, "@"); ok {
		base, out["digest"] = before, digest
	} else if i := strings.LastIndex(base, ":"); i > strings.LastIndex(base, "/") {
		base, out["newTag"] = base[:i], base[i+1:]
	}
	out["newName"] = base
	out["name"] = name
	if !ok {
		out["name"] = base
	}
	return out
}

// setObjects sets the objects of a release. Applications and ApplicationSets do not exist in
// the fleet: their documents are imported themselves.
func (r *argoReader) setObjects(out *Release, nodes []*Node) {
	out.SetObjects(slices.DeleteFunc(nodes, func(o *Node) bool { return isArgo(o.Text("apiVersion"), o.Text("kind")) }))
}

// manifests adds the objects of files of manifests.
func (r *argoReader) manifests(files []string, out *Release) error {
	var nodes []*Node
	for _, file := range files {
		data, err := r.read(file)
		if err != nil {
			return err
		}
		for node, err := range fleet.YAMLDocuments(data) {
			if err != nil {
				return &diag.Diag{
					Code: diag.CodeImportInvalid, At: []diag.Pos{{File: path.Join(filepath.ToSlash(r.Dir), file)}},
					Msg:  "not valid YAML: " + yamlReason(err),
					Hint: "correct the file, or leave it out with directory.exclude",
				}
			}
			o, err := objectOf(node)
			if err != nil {
				return &diag.Diag{
					Code: diag.CodeImportInvalid, At: []diag.Pos{{File: path.Join(filepath.ToSlash(r.Dir), file), Line: node.Line, Col: node.Column}},
					Msg:  yamlReason(err),
					Hint: "write a Kubernetes object, or leave the file out with directory.exclude",
				}
			}
			if o != nil {
				nodes = append(nodes, nodeOf(o.Object, node.Content[0]))
			}
		}
	}
	r.setObjects(out, nodes)
	return nil
}

// manifestFiles returns the manifests of a directory, sorted, that directory.include and
// exclude select.
func (r *argoReader) manifestFiles(s *appSource, dir string) ([]string, error) {
	include, exclude := textAt(s.spec, "directory", "include"), textAt(s.spec, "directory", "exclude")
	var out []string
	err := walkBelow(filepath.Join(r.Work, filepath.FromSlash(dir)), func(name string, e fs.DirEntry) error {
		if e.IsDir() {
			if !isTrueAt(s.spec, "directory", "recurse") {
				return filepath.SkipDir
			}
			return nil
		}
		isManifest := isYAML(name) || path.Ext(name) == ".json" || path.Ext(name) == ".jsonnet"
		if !isManifest || exclude != "" && matchesGlob(exclude, name) || include != "" && !matchesGlob(include, name) {
			return nil
		}
		if data, err := r.read(path.Join(dir, name)); err != nil || bytes.Contains(data, []byte("+argocd:skip-file-rendering")) {
			return err
		}
		out = append(out, path.Join(dir, name))
		return nil
	})
	slices.Sort(out)
	return out, err
}

// matchesGlob reports whether a path matches a pattern of Argo CD, whose * also matches slashes.
func matchesGlob(pattern, name string) bool {
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(name)
}

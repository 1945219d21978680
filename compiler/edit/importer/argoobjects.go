package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gobwas/glob"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
)

// kustomize adds the objects that kustomize builds with the fields of the source, which replace
// those of the kustomization, as in Argo CD. The file is restored, since others may build on it.
// mayMiss says that patches may match nothing.
func (r *argoReader) kustomize(s *appSource, dir string, out *Release, mayMiss bool) error {
	name := r.Kustomization(dir)
	file := filepath.Join(r.Work, filepath.FromSlash(name))
	before, err := r.read(name)
	if err != nil {
		return err
	}
	build := func(text []byte) (Build, error) {
		if err := edit.ReplaceCopied(file, text); err != nil {
			return Build{}, err
		}
		built, err := r.opts.ProveWith.Build(r.ctx, r.Work, dir, r.fetch.Get)
		if mayMiss {
			built.Unmatched = nil
		}
		return built, errors.Join(err, built.Unmatched.Err(), edit.ReplaceCopied(file, before))
	}
	edited, err := r.editKustomization(s, dir, out, before)
	if err != nil {
		return err
	}
	built, err := build(edited)
	if err != nil {
		if _, own := build(before); own != nil {
			return diag.Moved(own, r.Position)
		}
		return diag.Moved(err, func(p diag.Pos) diag.Pos {
			if p.File == name {
				return r.at(s.app, s.field) // only the fields of the source are invalid
			}
			return r.Position(p)
		})
	}
	out.Unproven = cmp.Or(out.Unproven, built.Differs)
	r.setObjects(s, out, renderedNodes(built.Objects))
	return nil
}

// editKustomization returns a kustomization with the fields of a source, as kustomize edit
// changes it.
func (r *argoReader) editKustomization(s *appSource, dir string, out *Release, text []byte) ([]byte, error) {
	var content map[string]any
	spec := mapAt(s.spec, "kustomize")
	if err := yaml.Unmarshal(text, &content); err != nil || content["buildMetadata"] == nil && (content == nil || len(spec) == 0) {
		return text, nil //nolint:nilerr // the build reports invalid YAML
	}
	delete(content, "buildMetadata") // the report says what to do
	for _, key := range []string{"namePrefix", "nameSuffix", "namespace"} {
		if v := textAt(spec, key); v != "" {
			content[key] = v
		}
	}
	expanded := func(key string) map[string]any {
		texts, _ := mapLeaves(mapAt(spec, key), s.at("kustomize", key), func(field []string, v any) any {
			return r.expandVariables(s, out, fmt.Sprint(v), field)
		}).(map[string]any)
		return texts
	}
	labels, annotations := expanded("commonLabels"), mapAt(spec, "commonAnnotations")
	if isTrueAt(spec, "commonAnnotationsEnvsubst") {
		annotations = expanded("commonAnnotations")
	}
	if len(labels) > 0 && isTrueAt(spec, "labelWithoutSelector") {
		content["labels"] = append(listAt(content, "labels"), map[string]any{"pairs": labels, "includeTemplates": isTrueAt(spec, "labelIncludeTemplates")})
		labels = nil
	}
	for key, more := range map[string]map[string]any{"commonLabels": labels, "commonAnnotations": annotations} {
		if len(more) > 0 {
			content[key] = fleet.MergeValues(mapAt(content, key), more)
		}
	}
	content["patches"] = slices.Concat(listAt(content, "patches"), listAt(spec, "patches"))
	for _, c := range listAt(spec, "components") {
		name, _ := c.(string)
		if !filepath.IsLocal(filepath.FromSlash(path.Join(dir, name))) {
			return nil, r.fault(diag.CodeImportFile, s.app, s.at("kustomize", "components"), "the component "+name+" is outside of the repository", "write a path relative to "+dir)
		}
		content["components"] = append(listAt(content, "components"), name)
	}
	var images, replicas []any
	for i, v := range listAt(spec, "images") {
		image, _ := v.(string)
		images = append(images, imageOf(r.expandVariables(s, out, image, s.at("kustomize", "images", fmt.Sprint(i)))))
	}
	for _, v := range listAt(spec, "replicas") {
		if n, err := strconv.Atoi(textAt(v, "count")); err == nil {
			v = map[string]any{"name": textAt(v, "name"), "count": n}
		}
		replicas = append(replicas, v)
	}
	setByName(content, "images", images)
	setByName(content, "replicas", replicas)
	return yaml.Marshal(content)
}

// setByName adds entries to a list of a kustomization. They replace those with the same name; a
// field that is * keeps its value.
func setByName(content map[string]any, key string, entries []any) {
	all, list := map[string]any{}, []any{}
	for _, v := range slices.Concat(listAt(content, key), entries) {
		name := textAt(v, "name")
		for field, value := range mapAt(v) {
			if value == "*" {
				mapAt(v)[field] = textAt(all[name], field)
			}
		}
		all[name] = v
	}
	for _, name := range sortedKeys(all) {
		list = append(list, all[name])
	}
	if len(entries) > 0 {
		content[key] = list
	}
}

// imageOf returns an entry of images for NAME=NEW:TAG, NAME:TAG or NAME@DIGEST.
func imageOf(text string) map[string]any {
	name, base, isRenamed := strings.Cut(text, "=")
	if !isRenamed {
		base = name
	}
	out := map[string]any{}
	if before, digest, ok := strings.Cut(base, "@"); ok {
		base, out["digest"] = before, digest
	} else if i := strings.LastIndex(base, ":"); i > strings.LastIndex(base, "/") {
		base, out["newTag"] = base[:i], base[i+1:]
	}
	if out["name"] = base; isRenamed {
		out["name"], out["newName"] = name, base
	}
	return out
}

// setObjects sets the objects of a release. Applications and ApplicationSets do not exist in
// the fleet: their documents are imported themselves. Nor do hooks that no sync runs.
func (r *argoReader) setObjects(s *appSource, out *Release, nodes []*Node) {
	nodes = listItems(nodes)
	before := len(nodes)
	out.SetObjects(slices.DeleteFunc(nodes, func(o *Node) bool {
		title := o.Text("kind") + " " + o.Text("metadata", "name")
		if isArgo(o.Text("apiVersion"), o.Text("kind")) {
			r.checkMade(s, title, o)
			return true
		}
		hook, _, isApplied := hookOf(func(key string) string { return o.Text("metadata", "annotations", key) })
		if !isApplied {
			r.note(s.app, s.at("path"), withoutSync(title, hook))
		}
		return !isApplied
	}))
	s.app.makesOthers = s.app.makesOthers || len(out.Objects) < before
}

// checkMade marks an Application whose spec differs from that of the documents with its name.
func (r *argoReader) checkMade(s *appSource, title string, made *Node) {
	spec, _ := made.Value().(map[string]any)
	want, _ := json.Marshal(spec["spec"])
	for _, d := range r.docs {
		if d.Kind+" "+d.Name != title {
			continue
		}
		content, err := contentOf(d.Node)
		if got, _ := json.Marshal(content["spec"]); err == nil && bytes.Equal(got, want) {
			return
		}
	}
	r.changed[title] = s.app.title() + " makes it otherwise than its document"
	r.note(s.app, s.at("path"), "it makes "+title+" otherwise than its document, which is imported: write the result into the document")
}

// manifests adds the objects of files of manifests.
func (r *argoReader) manifests(s *appSource, files []string, out *Release) error {
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
	r.setObjects(s, out, nodes)
	return nil
}

// manifestFiles returns the manifests of a directory, sorted, that directory.include and
// exclude select.
func (r *argoReader) manifestFiles(s *appSource, dir string) ([]string, error) {
	include, exclude := textAt(s.spec, "directory", "include"), textAt(s.spec, "directory", "exclude")
	isIncluded, isExcluded := globOf(include), globOf(exclude)
	var out []string
	err := walkBelow(filepath.Join(r.Work, filepath.FromSlash(dir)), func(name string, e fs.DirEntry) error {
		if e.IsDir() {
			if !isTrueAt(s.spec, "directory", "recurse") {
				return filepath.SkipDir
			}
			return nil
		}
		isManifest := isYAML(name) || path.Ext(name) == ".json" || path.Ext(name) == ".jsonnet"
		if !isManifest {
			return nil
		}
		isLeftOut := exclude != "" && isExcluded(name) || include != "" && !isIncluded(name)
		if !isLeftOut {
			data, err := r.read(path.Join(dir, name))
			if err != nil {
				return err
			}
			isLeftOut = bytes.Contains(data, []byte("+argocd:skip-file-rendering"))
		}
		if isLeftOut {
			if slices.ContainsFunc(r.docs, func(d *Document) bool { return d.File == path.Join(dir, name) }) {
				r.note(s.app, s.at("directory"), "it leaves out the Applications of "+path.Join(dir, name)+", which are imported: remove the file if nothing else creates them")
			}
			return nil
		}
		out = append(out, path.Join(dir, name))
		return nil
	})
	slices.Sort(out)
	return out, err
}

// globOf returns whether a path matches a pattern of Argo CD, whose * also matches slashes.
func globOf(pattern string) func(name string) bool {
	g, err := glob.Compile(pattern)
	return func(name string) bool { return err == nil && g.Match(name) }
}

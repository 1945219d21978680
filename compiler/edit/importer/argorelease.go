package importer

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/objects"
)

// An appSource is a source of an Application.
type appSource struct {
	app   *app
	field []string // path in the Application
	spec  map[string]any
	path  string // of a directory of the repository; empty for a chart of a repository
	name  string // of the release
	refs  map[string]bool
}

func (s *appSource) at(field ...string) []string { return append(slices.Clone(s.field), field...) }

// namespace returns the namespace of the Application's objects.
func (s *appSource) namespace() string {
	return cmp.Or(textAt(s.app.content, "spec", "destination", "namespace"), "default")
}

// sources returns the sources with objects of an Application.
func (r *argoReader) sources(a *app) []*appSource {
	var all []*appSource
	refs := map[string]bool{}
	add := func(spec map[string]any, field ...string) {
		if ref := textAt(spec, "ref"); ref != "" {
			refs[ref] = true
			if textAt(spec, "path") == "" && textAt(spec, "chart") == "" {
				return
			}
		}
		all = append(all, &appSource{app: a, field: field, spec: spec, path: textAt(spec, "path"), name: nameOf(a.name()), refs: refs})
	}
	if spec := mapAt(a.content, "spec", "source"); spec != nil && len(listAt(a.content, "spec", "sources")) == 0 {
		add(spec, "spec", "source")
	}
	for i, v := range listAt(a.content, "spec", "sources") {
		spec, _ := v.(map[string]any)
		add(spec, "spec", "sources", fmt.Sprint(i))
	}
	for i, s := range all {
		if i > 0 {
			s.name = nameOf(a.name() + "-" + cmp.Or(textAt(s.spec, "chart"), path.Base(s.path)))
		}
	}
	return all
}

// override merges the files .argocd-source.yaml and .argocd-source-NAME.yaml of the directory of a
// source into its fields, as Argo CD does.
func (r *argoReader) override(a *app) error {
	for _, s := range r.sources(a) {
		for _, base := range []string{".argocd-source.yaml", ".argocd-source-" + a.name() + ".yaml"} {
			file := path.Join(strings.TrimPrefix(s.path, "/"), base)
			if s.path == "" || !filepath.IsLocal(filepath.FromSlash(file)) {
				continue
			}
			var changes map[string]any
			data, err := r.read(file)
			if err == nil {
				err = yaml.Unmarshal(data, &changes)
			}
			if err != nil {
				return r.fault(diag.CodeImportInvalid, a, s.at("path"), file+" is not valid YAML: "+yamlReason(err), "correct the file")
			}
			maps.DeleteFunc(changes, func(key string, _ any) bool {
				return !slices.Contains([]string{"helm", "kustomize", "directory", "plugin"}, key)
			})
			objects.MergeJSON(s.spec, changes)
		}
	}
	return nil
}

// fill returns the releases of a source: one with its chart or objects, and one for each
// Jsonnet file. A release without a counterpart has neither.
func (r *argoReader) fill(s *appSource) ([]*Release, error) {
	out := &Release{Name: s.name, Namespace: s.namespace(), Origin: s.app.title(), Pos: r.at(s.app, s.field)}
	one := []*Release{out}
	switch {
	case mapAt(s.spec, "plugin") != nil:
		out.Unproven = "fleetc does not run plugins"
		return one, nil // the table says what to do
	case textAt(s.spec, "chart") != "":
		out.Chart = r.repositoryChart(s)
		return one, r.helm(s, out)
	}
	dir, err := r.directory(s)
	if err != nil {
		return nil, err
	}
	switch {
	case r.exists(dir, "Chart.yaml"):
		data, err := r.read(path.Join(dir, "Chart.yaml"))
		if err != nil {
			return nil, err
		}
		name := chartName(data)
		if name == "" {
			return nil, r.fault(diag.CodeImportInvalid, s.app, s.at("path"), dir+"/Chart.yaml has no chart name", "correct the chart")
		}
		out.Chart = &ChartSource{Dir: filepath.Join(r.Dir, filepath.FromSlash(dir)), Root: r.Dir, Name: name, Pos: r.at(s.app, s.field)}
		return one, r.helm(s, out)
	case r.Kustomization(dir) != "":
		removed, err := r.removeRemotes(dir)
		if err != nil {
			return nil, err
		}
		if len(removed) > 0 {
			out.Unproven = removed[0] + " is remote, and not imported"
			if r.isEmpty(dir) {
				return one, nil
			}
		}
		k, err := r.chartsIn(s, dir, "", map[string]bool{})
		if err != nil {
			return nil, err
		}
		if k != nil {
			return k.releases(out)
		}
		if err := r.kustomize(s, dir, out, false); err != nil || len(out.Objects) == 0 {
			return nil, err
		}
		return one, nil
	}
	return r.directoryReleases(s, dir, out)
}

// hasName reports whether one of the releases has a name.
func hasName(releases []*Release, name string) bool {
	return slices.ContainsFunc(releases, func(r *Release) bool { return r.Name == name })
}

// useHelmName names a chart release as Argo CD does, unless another release of the cluster has that
// name, or it is not a valid name of a release. Templates may print it.
func (r *Release) useHelmName(others []*Release) {
	if r.Chart != nil && r.helmName != "" && r.helmName == nameOf(r.helmName) && !hasName(others, r.helmName) {
		r.Name = r.helmName
	}
}

// isEmpty reports whether the kustomization of a directory has nothing to apply.
func (r *argoReader) isEmpty(dir string) bool {
	var content map[string]any
	data, err := edit.ReadFile(r.Work, r.Kustomization(dir))
	return err == nil && yaml.Unmarshal(data, &content) == nil && isEmptyKustomization(content)
}

// directoryReleases returns the releases of a directory of manifests: one with all
// objects, and one for each Jsonnet file.
func (r *argoReader) directoryReleases(s *appSource, dir string, out *Release) ([]*Release, error) {
	files, err := r.manifestFiles(s, dir)
	if err != nil {
		return nil, err
	}
	isCode := func(file string) bool { return path.Ext(file) == ".jsonnet" }
	code := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !isCode(file) })
	files = slices.DeleteFunc(files, isCode)
	if err := r.manifests(s, files, out); err != nil {
		return nil, err
	}
	made, err := r.jsonnetReleases(s, code, len(out.Objects) == 0)
	if len(out.Objects) > 0 {
		made = append(made, out)
	}
	return made, err
}

// directory returns the directory of a source, relative to the repository.
func (r *argoReader) directory(s *appSource) (string, error) {
	dir := path.Clean(strings.TrimPrefix(s.path, "/"))
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return "", r.fault(diag.CodeImportFile, s.app, s.at("path"), "the path "+s.path+" is outside of the repository", "write it relative to the repository")
	}
	if info, err := os.Stat(filepath.Join(r.Work, filepath.FromSlash(dir))); err != nil || !info.IsDir() {
		return "", r.fault(diag.CodeImportFile, s.app, s.at("path"), "the repository has no directory "+dir, "import the repository "+cmp.Or(textAt(s.spec, "repoURL"), "that has it")+" instead, or copy the directory into this one")
	}
	if revision := textAt(s.spec, "targetRevision"); !slices.Contains([]string{"", "HEAD", "main", "master"}, revision) {
		r.note(s.app, s.at("targetRevision"), "the import reads the files that are checked out: check out "+revision+", or accept these")
	}
	return dir, nil
}

// repositoryChart returns the chart of a Helm repository or registry.
func (r *argoReader) repositoryChart(s *appSource) *ChartSource {
	repo := textAt(s.spec, "repoURL")
	if !strings.Contains(repo, "://") {
		repo = "oci://" + repo // as Argo CD writes registries
	}
	repo, name := strings.TrimSuffix(repo, "/"), textAt(s.spec, "chart")
	if folder := path.Dir(name); folder != "." && strings.HasPrefix(repo, "oci://") {
		repo, name = repo+"/"+folder, path.Base(name)
	}
	return &ChartSource{Repo: repo, Name: name, Version: textAt(s.spec, "targetRevision"), Pos: r.at(s.app, s.field)}
}

// ownership adds the fields that Argo CD ignores: others may own them.
func (r *argoReader) ownership(a *app, out *Release) {
	out.Ownership = mapNode()
	for i, rule := range listAt(a.content, "spec", "ignoreDifferences") {
		kind := textAt(rule, "kind")
		if g := textAt(rule, "group"); g != "" && g != "*" {
			kind += "." + g
		}
		target := map[string]any{}
		if textAt(rule, "kind") != "*" {
			target["kinds"] = []any{kind}
		}
		for key, field := range map[string]string{"name": "names", "namespace": "namespaces"} {
			if v := textAt(rule, key); v != "" {
				target[field] = []any{v}
			}
		}
		fields := pointerFields(listAt(rule, "jsonPointers"), func(j int) {
			r.note(a, []string{"spec", "ignoreDifferences", fmt.Sprint(i), "jsonPointers", fmt.Sprint(j)}, writeOwnership)
		})
		if len(fields) > 0 {
			out.Ownership.Set(fmt.Sprintf("ignored-%d", i+1), ownershipRule(target, fields))
		}
	}
}

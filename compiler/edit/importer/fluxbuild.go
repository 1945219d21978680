package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
)

// build returns the objects of a Kustomization before substitution. As
// kustomize-controller does, it changes the kustomization file of the directory, or
// generates one.
func (s *fluxState) build(k *kustomization) ([]*fluxObject, error) {
	if err := s.show(s.artifactOf(k)); err != nil {
		return nil, err
	}
	remotes, err := s.removeRemotes(k.dir)
	if err != nil {
		return nil, err
	}
	for _, c := range listAt(k.spec, "components") {
		component, _ := c.(string)
		more, err := s.removeRemotes(path.Join(k.dir, component))
		if err != nil {
			return nil, err
		}
		remotes = append(remotes, more...)
	}
	if len(remotes) > 0 {
		k.unproven = remotes[0] + " is remote, and not imported"
	}
	file, original, err := s.kustomizationFile(k.dir)
	if err != nil {
		return nil, k.fault(diag.CodeImportFile, s, "path", err.Error(), cmp.Or(s.nearDir(k.dir), "write a directory of the repository with manifests"))
	}
	var content map[string]any
	if err := yaml.Unmarshal(original, &content); err != nil {
		return nil, &diag.Diag{Code: diag.CodeImportInvalid, At: []diag.Pos{s.Position(diag.Pos{File: file})}, Msg: "not valid YAML: " + yamlReason(err), Hint: "correct the file"}
	}
	if content == nil {
		content = map[string]any{}
	}
	if err := k.merge(s, content); err != nil {
		return nil, err
	}
	if isEmptyKustomization(content) {
		return nil, nil
	}
	changed, lines, err := extend(original, content)
	if err != nil {
		return nil, err
	}
	restore, err := s.replace(file, changed)
	if err != nil {
		return nil, err
	}
	built, err := s.opts.ProveWith.Build(s.ctx, s.Work, k.dir, s.fetch.Get)
	if err := errors.Join(err, restore()); err != nil {
		return nil, s.moved(err, k, file, lines)
	}
	k.differs = built.Differs
	for _, d := range built.Unmatched {
		if len(d.At) > 0 && (d.At[0].File != file || d.At[0].Line <= lines) {
			s.model.Mistake(Note{Pos: s.Position(d.At[0]), Doc: "kustomization " + d.At[0].File, Do: d.Msg})
		}
	}
	return s.builtObjects(k, built.Objects), nil
}

// builtObjects returns the objects of a build with their documents.
func (s *fluxState) builtObjects(k *kustomization, objs []fleet.Object) []*fluxObject {
	out := make([]*fluxObject, 0, len(objs))
	for _, o := range objs {
		b := &fluxObject{content: o.Object, stage: k}
		if b.origin = takeOrigin(b.content, k.dir); b.origin != "" {
			b.doc = s.find(b.origin, b.kind(), b.name())
		}
		out = append(out, b)
	}
	return out
}

// extend returns the text of a changed kustomization. It adds fields at the end where
// that is possible, so that positions stay valid up to the returned line.
func extend(original []byte, content map[string]any) (text []byte, lines int, err error) {
	var before, after map[string]any
	if err := yaml.Unmarshal(original, &before); err != nil {
		return nil, 0, err
	}
	more := map[string]any{}
	for key, v := range content {
		if !reflect.DeepEqual(before[key], v) {
			more[key] = v
		}
	}
	added, err := yaml.Marshal(more)
	if err != nil {
		return nil, 0, err
	}
	all, err := yaml.Marshal(content)
	if err != nil {
		return nil, 0, err
	}
	text = slices.Concat(bytes.TrimRight(original, "\n"), []byte("\n"), added)
	if yaml.UnmarshalStrict(text, &after) == nil {
		if again, err := yaml.Marshal(after); err == nil && bytes.Equal(again, all) {
			return text, bytes.Count(text, []byte("\n")) - bytes.Count(added, []byte("\n")), nil
		}
	}
	return all, 0, nil
}

// moved returns faults of a build with positions in the repository. Those in the part of the
// changed kustomization file that is not in the repository are faults of the Kustomization.
func (s *fluxState) moved(err error, k *kustomization, changed string, lines int) error {
	isGenerated := !s.exists(path.Dir(changed), path.Base(changed))
	return diag.Moved(err, func(p diag.Pos) diag.Pos {
		if at := s.at(k.fluxObject, "spec"); p.File == changed && (isGenerated || p.Line > lines) && at.File != "" {
			return at
		}
		if p.File == changed && p.Line > lines {
			p.Line, p.Col = 0, 0
		}
		return s.Position(p)
	})
}

// nearDir returns a hint with the directory whose path is nearest to that of a missing one; none
// if no directory is near.
func (s *fluxState) nearDir(dir string) string {
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return ""
	}
	at := "."
	for part := range strings.SplitSeq(dir, "/") {
		entries, err := os.ReadDir(filepath.Join(s.Work, filepath.FromSlash(at)))
		if err != nil {
			return ""
		}
		var names []string
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
		if !slices.Contains(names, part) {
			if part = diag.Nearest(part, names); part == "" {
				return ""
			}
		}
		at = path.Join(at, part)
	}
	return diag.DidYouMean(dir, []string{at})
}

// kustomizationFile returns the kustomization file of a directory with its content,
// which is generated when there is none.
func (s *fluxState) kustomizationFile(dir string) (file string, content []byte, err error) {
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return "", nil, errors.New(dir + " is outside of the repository")
	}
	info, err := os.Stat(filepath.Join(s.Work, filepath.FromSlash(dir)))
	isLinkAbove := func(name string) bool {
		if !fleet.IsWithin(dir, name) {
			return false
		}
		hidden, err := os.Lstat(filepath.Join(s.hiding, filepath.FromSlash(name)))
		return err == nil && hidden.Mode()&fs.ModeSymlink != 0
	}
	switch i := slices.IndexFunc(s.ignored[s.shown].files, isLinkAbove); {
	case i >= 0:
		return "", nil, errors.New(s.ignored[s.shown].files[i] + " is a symbolic link, which Flux leaves out")
	case errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(s.ignored[s.shown].files, func(name string) bool { return fleet.IsWithin(name, dir) }):
		return "", nil, errors.New(dir + " is left out by .sourceignore or spec.ignore")
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, errors.New("the repository has no directory " + dir)
	case err != nil:
		return "", nil, errors.New(dir + " cannot be read")
	case !info.IsDir():
		return "", nil, errors.New(dir + " is a file")
	}
	if file := s.Kustomization(dir); file != "" {
		content, err := os.ReadFile(filepath.Join(s.Work, filepath.FromSlash(file)))
		return file, content, err
	}
	resources, err := s.manifests(dir)
	if err != nil {
		return "", nil, err
	}
	content, err = yaml.Marshal(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources})
	return path.Join(dir, kustomizationFiles[0]), content, err
}

// manifests returns the resources of a directory without a kustomization file: its
// manifests, and the directories below it that have one.
func (s *fluxState) manifests(dir string) ([]string, error) {
	var out []string
	err := walkBelow(filepath.Join(s.Work, filepath.FromSlash(dir)), func(name string, e fs.DirEntry) error {
		switch {
		case e.IsDir() && s.Kustomization(path.Join(dir, name)) != "":
			out = append(out, name)
			return filepath.SkipDir
		case e.IsDir():
			return nil
		case path.Ext(name) == ".yaml" || path.Ext(name) == ".yml":
			out = append(out, name)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// replace replaces a file of the copy and returns a function that restores it.
func (s *fluxState) replace(file string, data []byte) (restore func() error, err error) {
	name := filepath.Join(s.Work, filepath.FromSlash(file))
	before, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return os.Remove(name) }, edit.ReplaceCopied(name, data)
	}
	if err != nil {
		return nil, err
	}
	return func() error { return edit.ReplaceCopied(name, before) }, edit.ReplaceCopied(name, data)
}

// merge adds the fields of the Kustomization to its kustomization file.
func (k *kustomization) merge(s *fluxState, content map[string]any) error {
	content["buildMetadata"] = []any{"originAnnotations"}
	for from, to := range map[string]string{"targetNamespace": "namespace", "namePrefix": "namePrefix", "nameSuffix": "nameSuffix"} {
		if v := textAt(k.spec, from); v != "" {
			content[to] = v
		}
	}
	for _, p := range listAt(k.spec, "patches") {
		patch := map[string]any{"patch": textAt(p, "patch")}
		if target := mapAt(p, "target"); target != nil {
			patch["target"] = target
		}
		content["patches"] = append(listAt(content, "patches"), patch)
	}
	for i, c := range listAt(k.spec, "components") {
		component, _ := c.(string)
		if path.IsAbs(component) || !filepath.IsLocal(filepath.FromSlash(path.Join(k.dir, component))) {
			return k.fault(diag.CodeImportFile, s, fmt.Sprintf("components.%d", i), "the component "+component+" is outside of the repository", "write a path relative to "+k.dir)
		}
		if _, err := os.Stat(filepath.Join(s.Work, filepath.FromSlash(path.Join(k.dir, component)))); err != nil && isTrueAt(k.spec, "ignoreMissingComponents") {
			continue
		}
		content["components"] = append(listAt(content, "components"), component)
	}
	mergeImages(content, listAt(k.spec, "images"))
	return nil
}

// mergeImages adds images as kustomize-controller does: a name that exists is changed.
func mergeImages(content map[string]any, images []any) {
	existing := listAt(content, "images")
	for _, image := range images {
		i := slices.IndexFunc(existing, func(v any) bool { return textAt(v, "name") == textAt(image, "name") })
		if i < 0 {
			existing = append(existing, image)
			continue
		}
		to := mapAt(existing[i])
		if v := textAt(image, "newName"); v != "" {
			to["newName"] = v
		}
		if tag, digest := valueAt(image, "newTag"), valueAt(image, "digest"); tag != nil || digest != nil {
			delete(to, "newTag")
			delete(to, "digest")
			if tag != nil {
				to["newTag"] = tag
			}
			if digest != nil {
				to["digest"] = digest
			}
		}
	}
	if len(existing) > 0 {
		content["images"] = existing
	}
}

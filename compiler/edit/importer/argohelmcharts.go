package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
)

// This file imports the charts that kustomizations render with helmCharts, one release for
// each. The kustomization is built without them.

// A chartsKustomization is a kustomization with charts, or with bases that have some.
type chartsKustomization struct {
	*argoReader
	source    *appSource
	dir       string
	file      string // in the repository
	before    []byte
	content   map[string]any
	doc       *Document
	namespace string // of the kustomization, or of the one that includes it
	bases     []*chartsKustomization
}

// chartsIn returns the kustomization of a directory, nil if neither it nor a base has
// charts, or for a directory in seen. namespace is that of the kustomization that includes it.
func (r *argoReader) chartsIn(s *appSource, dir, namespace string, seen map[string]bool) (*chartsKustomization, error) {
	file := r.Kustomization(dir)
	if file == "" || seen[dir] {
		return nil, nil
	}
	seen[dir] = true
	k := &chartsKustomization{argoReader: r, source: s, dir: dir, file: file}
	var err error
	if k.before, err = r.read(k.file); err != nil {
		return nil, err
	}
	docs, _ := readDocuments(k.Dir, k.file, k.before)
	if yaml.Unmarshal(k.before, &k.content) != nil || len(docs) != 1 {
		return nil, nil //nolint:nilerr // the build reports it
	}
	k.doc = docs[0]
	if len(seen) == 1 && slices.Contains(listAt(k.content, "buildMetadata"), any("managedByLabel")) {
		k.model.Note(Note{Pos: k.at("buildMetadata"), Doc: s.app.title(), Field: "buildMetadata", Do: "kustomize adds the label app.kubernetes.io/managed-by with its version: write it under labels if something selects by it"})
	}
	k.namespace = cmp.Or(namespace, textAt(k.content, "namespace"))
	for _, v := range slices.Concat(listAt(k.content, "resources"), listAt(k.content, "bases")) {
		name, _ := v.(string)
		base := path.Join(dir, name)
		if !filepath.IsLocal(filepath.FromSlash(base)) {
			continue
		}
		below, err := r.chartsIn(s, base, k.namespace, seen)
		if err != nil {
			return nil, err
		}
		if below != nil {
			k.bases = append(k.bases, below)
		}
	}
	if len(k.bases)+len(listAt(k.content, "helmCharts")) == 0 {
		return nil, nil
	}
	return k, nil
}

// releases returns the releases of the charts, and adds the objects of the kustomization
// without them to out.
func (k *chartsKustomization) releases(out *Release) ([]*Release, error) {
	if err := k.rest(out); err != nil {
		return nil, err
	}
	all, err := k.charts(out.Objects)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(one *Release) bool { return one.Name == out.Name }) {
		out.Name = nameOf(k.source.name + "-objects")
	}
	if len(out.Objects) > 0 {
		all = append(all, out)
	}
	return all, nil
}

// charts returns the releases of the charts of the bases and of the kustomization, with the
// patches that are not for the other objects.
func (k *chartsKustomization) charts(objects []Field) ([]*Release, error) {
	var all []*Release
	for _, base := range k.bases {
		more, err := base.charts(objects)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	for i, c := range listAt(k.content, "helmCharts") {
		one, err := k.release(c, []string{"helmCharts", fmt.Sprint(i)})
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	patches, err := k.patches()
	if err != nil {
		return nil, err
	}
	patches = slices.DeleteFunc(patches, func(p any) bool { return isPatchOf(p, objects) })
	for _, one := range all {
		k.patch(one, patches)
	}
	return all, nil
}

// at returns the position of a field of the kustomization.
func (k *chartsKustomization) at(field ...string) diag.Pos { return k.doc.At(field...) }

// fault returns a fault at a field of the kustomization.
func (k *chartsKustomization) fault(field []string, msg, hint string) error {
	return &diag.Diag{Code: diag.CodeImportFile, At: []diag.Pos{k.at(field...)}, Msg: msg, Hint: hint}
}

// chartFields are the fields of helmCharts that are carried.
var chartFields = []string{
	"name", "repo", "version", "releaseName", "namespace", "valuesFile", "additionalValuesFiles", "valuesInline", "valuesMerge", "includeCRDs", "skipTests", "skipHooks",
}

// release returns the release of a chart.
func (k *chartsKustomization) release(c any, field []string) (*Release, error) {
	name, of := textAt(c, "name"), mapAt(c)
	destination := k.source.namespace()
	set := k.namespace
	out := &Release{
		Name: nameOf(cmp.Or(textAt(c, "releaseName"), name)), Namespace: cmp.Or(textAt(c, "namespace"), set, destination),
		Origin: k.source.app.title(), Pos: k.at(field...),
	}
	if set != "" && set != out.Namespace {
		out.Unproven = "the kustomization sets the namespace " + set
	}
	out.SkipCRDs = !isTrueAt(of, "includeCRDs")
	for _, key := range sortedKeys(of) {
		if !slices.Contains(chartFields, key) {
			k.model.Note(Note{Pos: k.at(append(slices.Clone(field), key)...), Doc: k.source.app.title(), Field: "helmCharts." + key, Do: "write its effect into the release, if it has one"})
		}
	}
	out.Chart = &ChartSource{Repo: textAt(c, "repo"), Name: name, Version: textAt(c, "version"), Pos: out.Pos}
	if out.Chart.Repo == "" {
		local := path.Join(k.dir, cmp.Or(textAt(k.content, "helmGlobals", "chartHome"), "charts"), name)
		if !filepath.IsLocal(filepath.FromSlash(local)) || !k.exists(local, "Chart.yaml") {
			return nil, k.fault(field, "the repository has no chart "+local, "correct the name, or write its repo")
		}
		out.Chart.Dir = filepath.Join(k.Dir, filepath.FromSlash(local))
	}
	if err := k.versions(k.source, out, "kustomize"); err != nil {
		return nil, err
	}
	values, err := k.values(c, field)
	out.Values = nodeOf(values, nil)
	return out, err
}

// values returns the values of a chart: those of valuesFile and valuesInline, in the order
// of valuesMerge, then additionalValuesFiles.
func (k *chartsKustomization) values(c any, field []string) (map[string]any, error) {
	own := mapAt(c, "valuesInline")
	values := own
	if name := textAt(c, "valuesFile"); name != "" {
		file, err := k.valuesFile(name, append(slices.Clone(field), "valuesFile"))
		if err != nil {
			return nil, err
		}
		switch mode := textAt(c, "valuesMerge"); {
		case mode == "merge":
			values = fleet.MergeValues(copyMap(own), file)
		case mode != "replace" || own == nil:
			values = fleet.MergeValues(file, own)
		}
	}
	for i, v := range listAt(c, "additionalValuesFiles") {
		name, _ := v.(string)
		more, err := k.valuesFile(name, append(slices.Clone(field), "additionalValuesFiles", fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		values = fleet.MergeValues(copyMap(values), more)
	}
	return copyMap(values), nil
}

// valuesFile returns the values of a file beside the kustomization.
func (k *chartsKustomization) valuesFile(name string, field []string) (values map[string]any, err error) {
	data, err := k.beside(name, field)
	if err == nil && yaml.Unmarshal(data, &values) != nil {
		return nil, k.fault(field, name+" is not valid YAML", "correct the file")
	}
	return values, err
}

// beside reads a file, whose path is relative to the kustomization.
func (k *chartsKustomization) beside(name string, field []string) ([]byte, error) {
	file := path.Join(k.dir, name)
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, k.fault(field, "the file "+name+" is outside of the repository", "write a file of the repository")
	}
	data, err := k.read(file)
	if err != nil || data == nil {
		return nil, k.fault(field, "the repository has no file "+file, "correct the name")
	}
	return data, nil
}

// patches returns the patches of the kustomization with their text and target: such
// patches may match nothing, since a patch is for the charts or for the other objects.
func (k *chartsKustomization) patches() ([]any, error) {
	var all []any
	for i, p := range listAt(k.content, "patches") {
		one := fleet.MergeValues(nil, mapAt(p))
		if file := textAt(p, "path"); file != "" {
			data, err := k.beside(file, []string{"patches", fmt.Sprint(i)})
			if err != nil {
				return nil, err
			}
			one["patch"] = string(data)
			delete(one, "path")
		}
		var content map[string]any
		if one["target"] == nil && yaml.Unmarshal([]byte(textAt(one, "patch")), &content) == nil {
			one["target"] = patchTarget(content)
		}
		all = append(all, one)
	}
	return all, nil
}

// isPatchOf reports whether a patch names one of the objects.
func isPatchOf(p any, objects []Field) bool {
	kind, name := textAt(p, "target", "kind"), textAt(p, "target", "name")
	return slices.ContainsFunc(objects, func(o Field) bool {
		return o.Value.Text("kind") == kind && o.Value.Text("metadata", "name") == name
	})
}

// onlyObjects are the fields of a kustomization that do not change the objects of charts.
var onlyObjects = []string{
	"apiVersion", "kind", "metadata", "resources", "bases", "namespace", "helmCharts", "helmGlobals", "patches", "configMapGenerator", "secretGenerator", "generatorOptions", "sortOptions",
}

// patch adds the patches of the kustomization to the release of a chart.
func (k *chartsKustomization) patch(out *Release, patches []any) {
	for i, p := range patches {
		one, ok := kustomizePatch(p)
		if !ok {
			out.Unproven = "a patch of the kustomization has no counterpart"
			k.model.Note(Note{Pos: k.at("patches", fmt.Sprint(i)), Doc: k.source.app.title(), Field: "patches", Do: noCounterpart})
			continue
		}
		out.addPatch("kustomization", one)
	}
	if len(patches) > 0 {
		out.PostRenderers = append(out.PostRenderers, map[string]any{"patches": patches})
	}
	pairs, isPlain := plainLabels(k.content)
	if len(pairs) > 0 {
		out.addPatch("labels", metadataPatch(map[string]any{"labels": pairs}))
		out.PostRenderers = append(out.PostRenderers, map[string]any{"labels": k.content["labels"]})
	}
	for _, key := range sortedKeys(k.content) {
		if !slices.Contains(onlyObjects, key) && (key != "labels" || !isPlain) {
			out.Unproven = "the kustomization has " + key + ", which may change the objects of the chart"
			k.model.Note(Note{Pos: k.at(key), Doc: k.source.app.title(), Field: key, Do: "write its effect on the objects of charts as patches of their releases, see docs/patches.md"})
		}
	}
	spec := maps.Clone(mapAt(k.source.spec, "kustomize"))
	delete(spec, "kubeVersion") // versions reads these two
	delete(spec, "apiVersions")
	if len(spec) > 0 {
		out.Unproven = "the field kustomize of the Application may change the objects of the chart"
		k.note(k.source.app, k.source.at("kustomize"), "write its effect on the objects of charts as patches of their releases, see docs/patches.md")
	}
}

// plainLabels returns the labels of a kustomization. It reports false if they are also
// those of selectors, templates or other fields.
func plainLabels(content map[string]any) (map[string]any, bool) {
	pairs := map[string]any{}
	for _, entry := range listAt(content, "labels") {
		for key := range mapAt(entry) {
			if key == "fields" || key != "pairs" && isTrueAt(entry, key) {
				return nil, false
			}
		}
		maps.Copy(pairs, mapAt(entry, "pairs"))
	}
	return pairs, true
}

// rest adds the objects of the kustomization without charts. Its files are restored, since
// others may build on them.
func (k *chartsKustomization) rest(out *Release) error {
	isEmpty := true
	for _, key := range []string{"resources", "bases", "components", "configMapGenerator", "secretGenerator", "generators"} {
		isEmpty = isEmpty && len(listAt(k.content, key)) == 0
	}
	if isEmpty {
		return nil
	}
	err := k.withoutCharts()
	if err == nil {
		err = k.kustomize(k.source, k.dir, out, true)
	}
	return errors.Join(err, k.restore())
}

// withoutCharts removes the charts from the files of the kustomization and of its bases.
func (k *chartsKustomization) withoutCharts() error {
	for _, base := range k.bases {
		if err := base.withoutCharts(); err != nil {
			return err
		}
	}
	patches, err := k.patches()
	if err != nil {
		return err
	}
	content := copyMap(k.content)
	delete(content, "helmCharts")
	delete(content, "helmGlobals")
	if len(patches) > 0 {
		content["patches"] = patches
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return edit.ReplaceCopied(filepath.Join(k.Work, filepath.FromSlash(k.file)), text)
}

// restore writes the files of the kustomization and of its bases as they were.
func (k *chartsKustomization) restore() error {
	err := edit.ReplaceCopied(filepath.Join(k.Work, filepath.FromSlash(k.file)), k.before)
	for _, base := range k.bases {
		err = errors.Join(err, base.restore())
	}
	return err
}

package importer

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// directory adds the objects of a directory that is not a chart: a kustomization, or
// manifests.
func (e *environmentRun) directory(d *helmfileRelease, out *Release, dir string) error {
	var nodes []*Node
	if !slices.ContainsFunc(kustomizationFiles, func(name string) bool { return e.isFile(path.Join(dir, name)) }) {
		var err error
		if nodes, err = e.manifests(d, dir); err != nil {
			return err
		}
	} else {
		built, reads, unmatched, err := source.BuildAsKustomize(e.ctx, e.dir, dir, &fleet.Release{}, source.KustomizeInputs{})
		if err = errors.Join(err, unmatched.Err()); err != nil {
			return diag.Moved(err, func(p diag.Pos) diag.Pos { return e.pos(p.File, p.Line, p.Col) })
		}
		for _, file := range reads {
			if data, err := e.read(file); err == nil {
				e.count(file, lineCount(data), 0)
			}
		}
		nodes = renderedNodes(built)
		for _, o := range built {
			if o.GetNamespace() != "" && o.GetNamespace() != out.Namespace {
				out.Unproven = "helmfile puts all of its objects into the namespace " + out.Namespace
			}
		}
	}
	if len(listAt(d.value, "values")) > 0 {
		out.Unproven = "helmfile changes the kustomization by values"
		e.note(d.at("values"), d.title(), "values", "values of a kustomization, such as images, are not imported: write them as patches")
	}
	if nodes = listItems(nodes); len(nodes) == 0 {
		return d.fault(diag.CodeImportFile, []string{"chart"}, "the directory "+dir+" has no chart and no objects", "correct the path of the chart")
	}
	out.SetObjects(nodes)
	return nil
}

// manifests returns the objects in the files of a directory, with the templates of .gotmpl
// files executed.
func (e *environmentRun) manifests(d *helmfileRelease, dir string) (nodes []*Node, err error) {
	var files []string
	err = fs.WalkDir(e.tree.FS(), dir, func(file string, entry fs.DirEntry, err error) error {
		ext := path.Ext(strings.TrimSuffix(file, ".gotmpl"))
		if err == nil && !entry.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		text, lines, err := e.renderFile(file, d.data)
		if err != nil {
			return nil, err
		}
		for node, err := range fleet.YAMLDocuments([]byte(text)) {
			var o *unstructured.Unstructured
			if err == nil {
				o, err = objectOf(node)
			}
			if err != nil {
				return nil, &diag.Diag{Code: diag.CodeImportInvalid, At: []diag.Pos{e.pos(file, sourceLine(lines, max(node.Line, 1)), 1)}, Msg: diag.Brief(err), Hint: "write a Kubernetes object"}
			}
			if o != nil {
				nodes = append(nodes, nodeOf(o.Object, node.Content[0]))
			}
		}
	}
	return nodes, nil
}

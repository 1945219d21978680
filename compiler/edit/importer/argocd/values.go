package argocd

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// helm adds the values of a chart to a release, merged as Argo CD does: value files in
// order, then valuesObject or values, then parameters.
func (r *reader) helm(s *appSource, out *importer.Release) error {
	helm := importer.MapAt(s.spec, "helm")
	if out.Name == importer.NameOf(s.app.name()) {
		out.Name = importer.NameOf(releaseOf(s)) // charts print it
	}
	if out.Name != releaseOf(s) {
		out.Unproven = "Argo CD calls this release " + releaseOf(s)
	}
	out.SkipCRDs, _ = helm["skipCrds"].(bool)
	values := map[string]any{}
	for i, v := range importer.ListAt(helm, "valueFiles") {
		name, _ := v.(string)
		more, unknown, err := r.valueFile(s, name, s.at("helm", "valueFiles", fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if unknown != "" {
			out.Unproven = unknown
		}
		values = importer.MergeValues(values, more)
	}
	own := importer.MapAt(helm, "valuesObject")
	if raw := importer.TextAt(helm, "values"); own == nil && raw != "" {
		if err := yaml.Unmarshal([]byte(raw), &own); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, s.at("helm", "values"), "not valid YAML: "+importer.YAMLReason(err), "correct the values")
		}
	}
	values = importer.CopyMap(importer.MergeValues(values, own))
	for i, p := range importer.ListAt(helm, "parameters") {
		literal, _ := importer.ValueAt(p, "forceString").(bool)
		value := ""
		if v := importer.ValueAt(p, "value"); v != nil {
			value = fmt.Sprint(v)
		}
		if err := importer.SetValue(values, importer.TextAt(p, "name"), value, literal); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, s.at("helm", "parameters", fmt.Sprint(i)), diag.Brief(err), "write the value into valuesObject")
		}
	}
	out.Values = importer.NodeOf(values, importer.Child(s.app.doc.Node, append(append([]string{}, s.app.prefix...), s.at("helm", "valuesObject")...)...))
	return nil
}

// releaseOf returns the name that Argo CD gives to the Helm release of a source.
func releaseOf(s *appSource) string {
	return cmp.Or(importer.TextAt(s.spec, "helm", "releaseName"), s.app.name())
}

// valueFile returns the values of a file. unknown says why they are unknown.
func (r *reader) valueFile(s *appSource, name string, field []string) (values map[string]any, unknown string, err error) {
	file := path.Join(s.path, name)
	switch ref, rest, isRef := strings.Cut(strings.TrimPrefix(name, "$"), "/"); {
	case strings.Contains(name, "://"):
		r.note(s.app, field, "fleetc import does not fetch values: write those of "+name+" into the release")
		return nil, "the values of " + name + " are not fetched", nil
	case strings.HasPrefix(name, "$") && isRef && s.refs[ref]:
		file = path.Clean(rest)
	case strings.HasPrefix(name, "$"):
		return nil, "", r.fault(diag.CodeImportInvalid, s.app, field, "no source of the Application has the ref "+ref, "correct the name after $")
	case strings.HasPrefix(name, "/"):
		file = path.Clean(strings.TrimPrefix(name, "/"))
	case s.path == "":
		r.note(s.app, field, "the file is part of the chart: write its values into the release")
		return nil, "the values of the chart's file " + name + " are not merged", nil
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, "", r.fault(diag.CodeImportFile, s.app, field, "the file "+name+" is outside of the repository", "write a file of the repository")
	}
	data, err := os.ReadFile(filepath.Join(r.Work, filepath.FromSlash(file)))
	if err != nil {
		if ignore, _ := importer.ValueAt(s.spec, "helm", "ignoreMissingValueFiles").(bool); ignore {
			return nil, "", nil
		}
		return nil, "", r.fault(diag.CodeImportFile, s.app, field, "the repository has no file "+file, "correct the name, or set ignoreMissingValueFiles: true")
	}
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, "", r.fault(diag.CodeImportInvalid, s.app, field, file+" is not valid YAML: "+importer.YAMLReason(err), "correct the file")
	}
	return values, "", nil
}

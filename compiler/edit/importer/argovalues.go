package importer

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// helm adds the values of a chart to a release, merged as Argo CD does: value files in
// order, then valuesObject or values, then parameters.
func (r *argoReader) helm(s *appSource, out *Release) error {
	helm := mapAt(s.spec, "helm")
	if out.Name == nameOf(s.app.name()) {
		out.Name = nameOf(releaseOf(s)) // charts print it
	}
	if out.Name != releaseOf(s) {
		out.Unproven = "Argo CD calls this release " + releaseOf(s)
	}
	out.SkipCRDs = isTrueAt(helm, "skipCrds")
	values := map[string]any{}
	for i, v := range listAt(helm, "valueFiles") {
		name, _ := v.(string)
		ref := ""
		if strings.HasPrefix(name, "$") && !strings.HasPrefix(name, "$"+variablePrefix) {
			ref, _, _ = strings.Cut(name, "/")
		}
		name = ref + r.expandVariables(s, out, name[len(ref):], s.at("helm", "valueFiles", fmt.Sprint(i)))
		more, unknown, err := r.valueFile(s, name, s.at("helm", "valueFiles", fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if unknown != "" {
			out.Unproven = unknown
		}
		values = fleet.MergeValues(values, more)
	}
	own := mapAt(helm, "valuesObject")
	if raw := textAt(helm, "values"); own == nil && raw != "" {
		if err := yaml.Unmarshal([]byte(raw), &own); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, s.at("helm", "values"), "not valid YAML: "+yamlReason(err), "correct the values")
		}
	}
	values = copyMap(fleet.MergeValues(values, own))
	for i, p := range listAt(helm, "parameters") {
		value := ""
		if v := valueAt(p, "value"); v != nil {
			value = r.expandVariables(s, out, fmt.Sprint(v), s.at("helm", "parameters", fmt.Sprint(i)))
		}
		if err := setValue(values, textAt(p, "name"), value, isTrueAt(p, "forceString")); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, s.at("helm", "parameters", fmt.Sprint(i)), diag.Brief(err), "write the value into valuesObject")
		}
	}
	out.Values = nodeOf(values, childNode(s.app.doc.Node, append(append([]string{}, s.app.prefix...), s.at("helm", "valuesObject")...)...))
	return nil
}

// variablePrefix is the prefix of the variables of an Application.
const variablePrefix = "ARGOCD_APP_"

// expandVariables replaces the variables of an Application in a text, as Argo CD does: others are
// empty, and $$ is a dollar.
func (r *argoReader) expandVariables(s *appSource, out *Release, text string, field []string) string {
	return os.Expand(text, func(name string) string {
		switch name {
		case "$":
			return name
		case variablePrefix + "NAME":
			return s.app.name()
		case variablePrefix + "NAMESPACE":
			return textAt(s.app.content, "spec", "destination", "namespace")
		case variablePrefix + "PROJECT_NAME":
			return textAt(s.app.content, "spec", "project")
		case variablePrefix + "SOURCE_PATH":
			return textAt(s.spec, "path")
		case variablePrefix + "SOURCE_REPO_URL":
			return textAt(s.spec, "repoURL")
		case variablePrefix + "SOURCE_TARGET_REVISION":
			return textAt(s.spec, "targetRevision")
		case variablePrefix + "REVISION", variablePrefix + "REVISION_SHORT", variablePrefix + "REVISION_SHORT_8":
			out.Unproven = name + " is known only to Argo CD"
			r.note(s.app, field, "the commit that Argo CD syncs is not known to the fleet: write a value in place of "+name)
			return "$" + name
		}
		return ""
	})
}

// releaseOf returns the name that Argo CD gives to the Helm release of a source.
func releaseOf(s *appSource) string {
	return cmp.Or(textAt(s.spec, "helm", "releaseName"), s.app.name())
}

// valueFile returns the values of a file. unknown says why they are unknown.
func (r *argoReader) valueFile(s *appSource, name string, field []string) (values map[string]any, unknown string, err error) {
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
		if isTrueAt(s.spec, "helm", "ignoreMissingValueFiles") {
			return nil, "", nil
		}
		return nil, "", r.fault(diag.CodeImportFile, s.app, field, "the repository has no file "+file, "correct the name, or set ignoreMissingValueFiles: true")
	}
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, "", r.fault(diag.CodeImportInvalid, s.app, field, file+" is not valid YAML: "+yamlReason(err), "correct the file")
	}
	return values, "", nil
}

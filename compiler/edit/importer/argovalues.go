package importer

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
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
	out.Target.Namespace = textAt(helm, "namespace")
	for _, v := range listAt(helm, "apiVersions") {
		out.Target.APIVersions = append(out.Target.APIVersions, fmt.Sprint(v))
	}
	if v := textAt(helm, "kubeVersion"); v != "" {
		parsed, err := version.ParseGeneric(v) // as Argo CD, which leaves out what follows the numbers
		if err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, s.at("helm", "kubeVersion"), strconv.Quote(v)+" is not a valid Kubernetes version", "write a version such as 1.36.0")
		}
		out.Target.KubeVersion = parsed.String()
	}
	values := map[string]any{}
	for i, v := range listAt(helm, "valueFiles") {
		name, _ := v.(string)
		field := s.at("helm", "valueFiles", fmt.Sprint(i))
		data, err := r.valueFile(s, out, name, field)
		if err != nil {
			return err
		}
		var more map[string]any
		if err := yaml.Unmarshal(data, &more); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, field, name+" is not valid YAML: "+yamlReason(err), "correct the file")
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
	if err := r.parameters(s, out, values); err != nil {
		return err
	}
	out.Values = nodeOf(values, childNode(s.app.doc.Node, append(append([]string{}, s.app.prefix...), s.at("helm", "valuesObject")...)...))
	return nil
}

// parameters sets the values of parameters and fileParameters.
func (r *argoReader) parameters(s *appSource, out *Release, values map[string]any) error {
	for i, p := range listAt(s.spec, "helm", "parameters") {
		value, field := "", s.at("helm", "parameters", fmt.Sprint(i))
		if v := valueAt(p, "value"); v != nil {
			value = r.expandVariables(s, out, fmt.Sprint(v), field)
		}
		if err := setValue(values, textAt(p, "name"), value, isTrueAt(p, "forceString")); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, field, diag.Brief(err), "write the value into valuesObject")
		}
	}
	for i, p := range listAt(s.spec, "helm", "fileParameters") {
		field := s.at("helm", "fileParameters", fmt.Sprint(i))
		data, err := r.valueFile(s, out, textAt(p, "path"), field)
		if err != nil {
			return err
		}
		if err := setValue(values, textAt(p, "name"), string(data), true); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, field, diag.Brief(err), "write the value into valuesObject")
		}
	}
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
		case variablePrefix + "REVISION", variablePrefix + "REVISION_SHORT", variablePrefix + "REVISION_SHORT_8", "KUBE_VERSION", "KUBE_API_VERSIONS":
			out.Unproven = name + " is known only to Argo CD"
			r.note(s.app, field, "the fleet does not know what Argo CD writes for "+name+": write a value in its place")
			return "$" + name
		}
		return ""
	})
}

// releaseOf returns the name that Argo CD gives to the Helm release of a source.
func releaseOf(s *appSource) string {
	return cmp.Or(textAt(s.spec, "helm", "releaseName"), s.app.name())
}

// valueFile returns the content of a file of values; none for a file that is not there or not
// fetched. Variables after the name of a source are expanded.
func (r *argoReader) valueFile(s *appSource, out *Release, name string, field []string) ([]byte, error) {
	ref := ""
	if strings.HasPrefix(name, "$") && !strings.HasPrefix(name, "$"+variablePrefix) && !strings.HasPrefix(name, "${") {
		ref, _, _ = strings.Cut(name, "/")
	}
	rest := r.expandVariables(s, out, name[len(ref):], field)
	name = ref + rest
	file := path.Join(s.path, name)
	switch {
	case strings.Contains(name, "://"):
		out.Unproven = "the values of " + name + " are not fetched"
		r.note(s.app, field, "fleetc import does not fetch values: write those of "+name+" into the release")
		return nil, nil
	case ref != "" && rest != "" && s.refs[ref[1:]]:
		file = path.Clean(rest[1:])
	case ref != "":
		return nil, r.fault(diag.CodeImportInvalid, s.app, field, "no source of the Application has the ref "+ref[1:], "correct the name after $")
	case strings.HasPrefix(name, "/"):
		file = path.Clean(name[1:])
	case s.path == "":
		out.Unproven = "the values of the chart's file " + name + " are not merged"
		r.note(s.app, field, "the file is part of the chart: write its values into the release")
		return nil, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, r.fault(diag.CodeImportFile, s.app, field, "the file "+name+" is outside of the repository", "write a file of the repository")
	}
	data, err := os.ReadFile(filepath.Join(r.Work, filepath.FromSlash(file)))
	switch isValues := slices.Contains(field, "valueFiles"); {
	case err == nil:
		return data, nil
	case isValues && isTrueAt(s.spec, "helm", "ignoreMissingValueFiles"):
		return nil, nil
	case isValues:
		return nil, r.fault(diag.CodeImportFile, s.app, field, "the repository has no file "+file, "correct the name, or set ignoreMissingValueFiles: true")
	}
	return nil, r.fault(diag.CodeImportFile, s.app, field, "the repository has no file "+file, "correct the path")
}

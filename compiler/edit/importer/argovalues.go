package importer

import (
	"cmp"
	"fmt"
	"io/fs"
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
		out.helmName = releaseOf(s)
	}
	out.SkipCRDs = isTrueAt(helm, "skipCrds")
	out.Target.Namespace = textAt(helm, "namespace")
	if err := r.versions(s, out, "helm"); err != nil {
		return err
	}
	values := map[string]any{}
	files, err := r.valueFiles(s, out)
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := r.valueFile(s, f)
		if err != nil {
			return err
		}
		var more map[string]any
		if err := yaml.Unmarshal(data, &more); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, f.field, f.path+" is not valid YAML: "+yamlReason(err), "correct the file")
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
	out.Values.setIntegers(values)
	return nil
}

// parameters sets the values of parameters and fileParameters. Those with forceString are set after
// the others, as Helm does with --set-string.
func (r *argoReader) parameters(s *appSource, out *Release, values map[string]any) error {
	for _, isForced := range []bool{false, true} {
		for i, p := range listAt(s.spec, "helm", "parameters") {
			if isTrueAt(p, "forceString") != isForced {
				continue
			}
			value, field := "", s.at("helm", "parameters", fmt.Sprint(i))
			if v := valueAt(p, "value"); v != nil {
				value = r.expandVariables(s, out, fmt.Sprint(v), field)
			}
			if err := set(values, textAt(p, "name"), escapedCommas(value), isForced); err != nil {
				return r.fault(diag.CodeImportInvalid, s.app, field, diag.Brief(err), "write the value into valuesObject")
			}
		}
	}
	for i, p := range listAt(s.spec, "helm", "fileParameters") {
		field := s.at("helm", "fileParameters", fmt.Sprint(i))
		file, err := r.valuePath(s, out, textAt(p, "path"), field)
		if err != nil {
			return err
		}
		data, err := r.valueFile(s, namedFile{file, field})
		if err != nil {
			return err
		}
		if err := setValue(values, textAt(p, "name"), string(data), true); err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, field, diag.Brief(err), "write the value into valuesObject")
		}
	}
	return nil
}

// escapedCommas returns the value of a parameter as Argo CD gives it to helm --set: a text in braces
// is a list, and commas of others are escaped.
func escapedCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	parts := strings.Split(value, ",")
	for i, part := range parts[:len(parts)-1] {
		if !strings.HasSuffix(part, `\`) {
			parts[i] += `\`
		}
	}
	return strings.Join(parts, ",")
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

// versions sets the versions for which Argo CD renders the chart of a release: those in a field
// of the source, helm or kustomize.
func (r *argoReader) versions(s *appSource, out *Release, field string) error {
	of := mapAt(s.spec, field)
	for _, v := range listAt(of, "apiVersions") {
		out.Target.APIVersions = append(out.Target.APIVersions, fmt.Sprint(v))
	}
	if v := textAt(of, "kubeVersion"); v != "" {
		parsed, err := version.ParseGeneric(v) // as Argo CD, which leaves out what follows the numbers
		if err != nil {
			return r.fault(diag.CodeImportInvalid, s.app, s.at(field, "kubeVersion"), strconv.Quote(v)+" is not a valid Kubernetes version", "write a version such as 1.36.0")
		}
		out.Target.KubeVersion = parsed.String()
	}
	return nil
}

// A namedFile is a file of the repository and the field that names it. The path is empty for a file
// that is not fetched.
type namedFile struct {
	path  string
	field []string
}

// valueFiles returns the files of valueFiles in their order. A glob stands for the files that match
// it, without those that another entry names.
func (r *argoReader) valueFiles(s *appSource, out *Release) ([]namedFile, error) {
	var entries, all []namedFile
	seen := map[string]bool{}
	isGlob := func(file string) bool { return strings.ContainsAny(file, "*?[") }
	for i, v := range listAt(s.spec, "helm", "valueFiles") {
		name, _ := v.(string)
		field := s.at("helm", "valueFiles", fmt.Sprint(i))
		file, err := r.valuePath(s, out, name, field)
		if err != nil {
			return nil, err
		}
		entries = append(entries, namedFile{file, field})
		seen[file] = !isGlob(file)
	}
	for _, f := range entries {
		if !isGlob(f.path) {
			all = append(all, f)
			continue
		}
		files, err := globFiles(os.DirFS(r.Work), f.path)
		if err != nil || len(files) == 0 && !isTrueAt(s.spec, "helm", "ignoreMissingValueFiles") {
			return nil, r.fault(diag.CodeImportFile, s.app, f.field, "the repository has no file that matches "+f.path, "correct the pattern, or set ignoreMissingValueFiles: true")
		}
		for _, file := range files {
			if !seen[file] {
				seen[file] = true
				all = append(all, namedFile{file, f.field})
			}
		}
	}
	return all, nil
}

// globFiles returns the files that match a pattern, in which ** is any number of directories. The
// files of a directory are before those below it, as in Argo CD.
func globFiles(tree fs.FS, pattern string) ([]string, error) {
	found := []string{"."}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		isLast := i == len(parts)-1
		var next []string
		seen := map[string]bool{}
		add := func(file string) {
			if !seen[file] {
				seen[file] = true
				next = append(next, file)
			}
		}
		for _, dir := range found {
			if part == "**" {
				_ = fs.WalkDir(tree, dir, func(file string, e fs.DirEntry, err error) error {
					switch {
					case err != nil:
						return fs.SkipDir // a directory that cannot be read has no files
					case e.IsDir() != isLast:
						add(file)
					}
					return nil
				})
				continue
			}
			entries, _ := fs.ReadDir(tree, dir)
			for _, e := range entries {
				if ok, err := path.Match(part, e.Name()); err != nil {
					return nil, err
				} else if ok && !(isLast && e.IsDir()) {
					add(path.Join(dir, e.Name()))
				}
			}
		}
		found = next
	}
	return found, nil
}

// valuePath returns the path of a file of values; none for one that is not fetched. Variables after
// the name of a source are expanded.
func (r *argoReader) valuePath(s *appSource, out *Release, name string, field []string) (string, error) {
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
		return "", nil
	case ref != "" && rest != "" && s.refs[ref[1:]]:
		file = path.Clean(rest[1:])
	case ref != "":
		return "", r.fault(diag.CodeImportInvalid, s.app, field, "no source of the Application has the ref "+ref[1:], "correct the name after $")
	case strings.HasPrefix(name, "/"):
		file = path.Clean(name[1:])
	case s.path == "":
		out.Unproven = "the values of the chart's file " + name + " are not merged"
		r.note(s.app, field, "the file is part of the chart: write its values into the release")
		return "", nil
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", r.fault(diag.CodeImportFile, s.app, field, "the file "+name+" is outside of the repository", "name a file of the repository")
	}
	return file, nil
}

// valueFile returns the content of a file; none for a file of values that may be missing.
func (r *argoReader) valueFile(s *appSource, f namedFile) ([]byte, error) {
	if f.path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(r.Work, filepath.FromSlash(f.path)))
	switch isValues := slices.Contains(f.field, "valueFiles"); {
	case err == nil:
		return data, nil
	case isValues && isTrueAt(s.spec, "helm", "ignoreMissingValueFiles"):
		return nil, nil
	case isValues:
		return nil, r.fault(diag.CodeImportFile, s.app, f.field, "the repository has no file "+f.path, "correct the name, or set ignoreMissingValueFiles: true")
	}
	return nil, r.fault(diag.CodeImportFile, s.app, f.field, "the repository has no file "+f.path, "correct the path")
}

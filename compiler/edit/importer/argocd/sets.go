package argocd

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// maxApplications is the maximum number of Applications of one ApplicationSet.
const maxApplications = 2000

// A set is an ApplicationSet that is expanded.
type set struct {
	*reader
	doc     *importer.Document
	content map[string]any
	isGo    bool // its templates are Go templates
}

func (s *set) title() string {
	return applicationSet + " " + importer.TextAt(s.content, "metadata", "name")
}

func (s *set) fault(code diag.Code, field []string, msg, hint string) error {
	return &diag.Diag{Code: code, At: []diag.Pos{s.doc.At(s.Dir, field)}, Path: strings.Join(field, "."), Msg: msg, Hint: hint}
}

// expand adds the Applications of an ApplicationSet.
func (r *reader) expand(d *importer.Document, content map[string]any) error {
	s := &set{reader: r, doc: d, content: content}
	s.isGo, _ = importer.ValueAt(content, "spec", "goTemplate").(bool)
	r.model.NotCarried = append(r.model.NotCarried, importer.Account(content, s.title(), setTable, func(field []string) diag.Pos { return d.At(r.Dir, field) })...)
	var all []map[string]any
	for i, g := range importer.ListAt(content, "spec", "generators") {
		params, err := s.generate(g, []string{"spec", "generators", fmt.Sprint(i)})
		if err != nil {
			return err
		}
		all = append(all, params...)
	}
	if len(all) > maxApplications {
		return s.fault(diag.CodeImportInvalid, []string{"spec", "generators"}, fmt.Sprintf("it generates %d Applications, but at most %d are allowed", len(all), maxApplications), "split the ApplicationSet")
	}
	template := importer.MapAt(content, "spec", "template")
	for _, params := range all {
		out, err := s.template(template, params)
		if err != nil {
			return err
		}
		made, _ := out.(map[string]any)
		made["apiVersion"], made["kind"] = group+"/v1alpha1", application
		r.apps = append(r.apps, &app{content: made, doc: d, prefix: []string{"spec", "template"}})
	}
	return nil
}

// generate returns the parameters that a generator makes.
func (s *set) generate(g any, field []string) ([]map[string]any, error) {
	var out []map[string]any
	for _, kind := range slices.Sorted(maps.Keys(importer.MapAt(g))) {
		spec := importer.MapAt(g, kind)
		below := append(slices.Clone(field), kind)
		var made []map[string]any
		var err error
		switch kind {
		case "list":
			made = s.list(spec)
		case "git":
			made, err = s.git(spec, below)
		case "clusters":
			made = s.clusterParams(spec, below)
		case "matrix":
			made, err = s.matrix(spec, below)
		case "merge":
			made, err = s.merge(spec, below)
		case "selector":
			continue
		default:
			s.skip(below, "fleetc import does not query other systems: write the result as a list generator")
		}
		if err != nil {
			return nil, err
		}
		if spec["template"] != nil {
			s.skip(append(below, "template"), "the template of a generator is not merged: write its fields into the releases")
		}
		out = append(out, made...)
	}
	return selected(out, importer.MapAt(g, "selector")), nil
}

// skip notes a part of a generator that is not expanded.
func (s *set) skip(field []string, do string) {
	s.model.NotCarried = append(s.model.NotCarried, importer.Note{Pos: s.doc.At(s.Dir, field), Doc: s.title(), Field: strings.Join(field, "."), Do: do})
}

// selected returns the parameters that a label selector matches.
func selected(all []map[string]any, selector map[string]any) []map[string]any {
	return slices.DeleteFunc(all, func(params map[string]any) bool {
		for key, want := range importer.MapAt(selector, "matchLabels") {
			if of, ok := parameterOf(params, key); !ok || of != fmt.Sprint(want) {
				return true
			}
		}
		return slices.ContainsFunc(importer.ListAt(selector, "matchExpressions"), func(e any) bool {
			of, ok := parameterOf(params, importer.TextAt(e, "key"))
			isIn := ok && slices.ContainsFunc(importer.ListAt(e, "values"), func(v any) bool { return fmt.Sprint(v) == of })
			switch importer.TextAt(e, "operator") {
			case "In":
				return !isIn
			case "NotIn":
				return isIn
			case "DoesNotExist":
				return ok
			default:
				return !ok
			}
		})
	})
}

// parameterOf returns a parameter as text, and whether it exists. The key may be a path.
func parameterOf(params map[string]any, key string) (text string, ok bool) {
	v := params[key]
	if v == nil {
		v = importer.ValueAt(params, strings.Split(key, ".")...)
	}
	return fmt.Sprint(v), v != nil
}

// list returns the elements of a list generator.
func (s *set) list(spec map[string]any) []map[string]any {
	var out []map[string]any
	for _, e := range importer.ListAt(spec, "elements") {
		if m, ok := e.(map[string]any); ok {
			out = append(out, s.withValues(importer.CopyMap(m), spec))
		}
	}
	return out
}

// withValues adds the field values of a generator to parameters, which it may use.
func (s *set) withValues(params, spec map[string]any) map[string]any {
	values := importer.MapAt(spec, "values")
	if values == nil {
		return params
	}
	params["values"] = values
	if made, err := s.template(values, params); err == nil {
		params["values"] = made
	}
	return params
}

// clusterParams returns the destinations that the user named. Labels of clusters are
// unknown.
func (s *set) clusterParams(spec map[string]any, field []string) []map[string]any {
	if len(s.opts.Clusters) == 0 || importer.MapAt(spec, "selector") != nil {
		s.skip(field, "the clusters of Argo CD and their labels are unknown: write a list generator with the clusters")
		return nil
	}
	var out []map[string]any
	for _, d := range s.opts.Clusters {
		out = append(out, s.withValues(map[string]any{
			"name": d.Source, "nameNormalized": normalized(d.Source), "server": d.Source, "metadata": map[string]any{"labels": map[string]any{}, "annotations": map[string]any{}},
		}, spec))
	}
	return out
}

// git returns the parameters of the directories or files of a git generator.
func (s *set) git(spec map[string]any, field []string) ([]map[string]any, error) {
	if entries := importer.ListAt(spec, "directories"); len(entries) > 0 {
		dirs, err := s.matching(entries, true)
		if err != nil {
			return nil, s.fault(diag.CodeImportFile, append(field, "directories"), diag.Brief(err), "correct the path")
		}
		var out []map[string]any
		for _, dir := range dirs {
			out = append(out, s.withValues(withPath(map[string]any{}, s.pathParams(dir, ""), spec), spec))
		}
		return out, nil
	}
	files, err := s.matching(importer.ListAt(spec, "files"), false)
	if err != nil {
		return nil, s.fault(diag.CodeImportFile, append(field, "files"), diag.Brief(err), "correct the path")
	}
	var out []map[string]any
	for _, file := range files {
		data, err := s.read(filepath.Join(s.Work, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(data, &content); err != nil {
			return nil, s.fault(diag.CodeImportInvalid, append(field, "files"), file+" is not valid YAML: "+diag.Brief(err), "correct the file")
		}
		elements, isList := content.([]any)
		if !isList {
			elements = []any{content}
		}
		for _, e := range elements {
			params, _ := e.(map[string]any)
			if params == nil {
				params = map[string]any{}
			}
			params = withPath(params, s.pathParams(path.Dir(file), path.Base(file)), spec)
			out = append(out, s.withValues(params, spec))
		}
	}
	return out, nil
}

// pathParams returns the parameters of a directory, and of a file in it.
func (s *set) pathParams(dir, file string) map[string]any {
	segments := []any{}
	for part := range strings.SplitSeq(dir, "/") {
		segments = append(segments, part)
	}
	out := map[string]any{"path": dir, "basename": path.Base(dir), "basenameNormalized": normalized(path.Base(dir)), "segments": segments}
	if file != "" {
		out["filename"], out["filenameNormalized"] = file, normalized(file)
	}
	return out
}

// withPath adds the path to parameters, below the key of pathParamPrefix if there is one.
func withPath(params, path, spec map[string]any) map[string]any {
	if prefix := importer.TextAt(spec, "pathParamPrefix"); prefix != "" {
		params[prefix] = importer.MergeValues(importer.MapAt(params, prefix), map[string]any{"path": path})
		return params
	}
	params["path"] = path
	return params
}

// normalized returns a text as a name that Kubernetes takes.
func normalized(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	return strings.Trim(name, "-.")
}

// matching returns the directories or files that the paths of entries match, sorted,
// without those that an entry excludes.
func (s *set) matching(entries []any, dirs bool) ([]string, error) {
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(s.Work), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() != dirs || dirs && strings.HasPrefix(path.Base(name), ".") {
			return nil
		}
		for _, entry := range entries {
			if ok, err := matchesPath(importer.TextAt(entry, "path"), name); err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			exclude, _ := importer.ValueAt(entry, "exclude").(bool)
			found[name] = !exclude
			if exclude {
				return nil
			}
		}
		return nil
	})
	return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(name string) bool { return !found[name] }), err
}

// matchesPath reports whether a pattern matches a path: * matches within an element, and
// ** any number of elements.
func matchesPath(pattern, name string) (bool, error) {
	return matchElements(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchElements(patterns, names []string) (bool, error) {
	if len(patterns) == 0 {
		return len(names) == 0, nil
	}
	if patterns[0] == "**" {
		for i := range len(names) + 1 {
			if ok, err := matchElements(patterns[1:], names[i:]); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	if len(names) == 0 {
		return false, nil
	}
	if ok, err := path.Match(patterns[0], names[0]); !ok || err != nil {
		return false, err
	}
	return matchElements(patterns[1:], names[1:])
}

// matrix returns the combinations of two generators. The second one may use parameters of
// the first.
func (s *set) matrix(spec map[string]any, field []string) ([]map[string]any, error) {
	generators := importer.ListAt(spec, "generators")
	if len(generators) != 2 { //nolint:mnd // as Argo CD demands
		return nil, s.fault(diag.CodeImportInvalid, append(field, "generators"), "a matrix must have two generators", "write two, or nest another matrix")
	}
	first, err := s.generate(generators[0], append(slices.Clone(field), "generators", "0"))
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, a := range first {
		second, err := s.template(generators[1], a)
		if err != nil {
			return nil, err
		}
		params, err := s.generate(second, append(slices.Clone(field), "generators", "1"))
		if err != nil {
			return nil, err
		}
		for _, b := range params {
			out = append(out, importer.MergeValues(importer.CopyMap(a), b))
		}
	}
	return out, nil
}

// merge returns the parameters of the first generator, overridden by those of the others
// that have the same values of mergeKeys.
func (s *set) merge(spec map[string]any, field []string) ([]map[string]any, error) {
	var out []map[string]any
	key := func(params map[string]any) string {
		var parts []string
		for _, k := range importer.ListAt(spec, "mergeKeys") {
			name, _ := k.(string)
			v := params[name]
			if v == nil {
				v = importer.ValueAt(params, strings.Split(name, ".")...)
			}
			parts = append(parts, fmt.Sprint(v))
		}
		return strings.Join(parts, "\x00")
	}
	for i, g := range importer.ListAt(spec, "generators") {
		params, err := s.generate(g, append(slices.Clone(field), "generators", fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out = params
			continue
		}
		for _, p := range params {
			for j := range out {
				if key(out[j]) == key(p) {
					out[j] = importer.MergeValues(importer.CopyMap(out[j]), p)
				}
			}
		}
	}
	return out, nil
}

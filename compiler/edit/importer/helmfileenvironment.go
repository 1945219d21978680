package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An environment is the values that templates of a helmfile see.
type environment struct {
	context  string
	values   map[string]any // of the environment
	defaults map[string]any // of values at the top of helmfiles
	passed   map[string]any // that the helmfile above or a file of the command line gives; they override values before each part
	set      map[string]any // single values of the command line, which override all others
}

// merged returns the values over the defaults.
func (v environment) merged() map[string]any {
	return plainMap(fleet.MergeValues(mergeSet(v.defaults, v.values), v.set))
}

// mergeSet is [fleet.MergeValues], but for keys without a value in b: helmfile keeps those of a.
func mergeSet(a, b map[string]any) map[string]any {
	set := maps.Clone(b)
	for key, v := range b {
		existing, ok := a[key]
		if below := mapAt(v); below != nil && mapAt(existing) != nil {
			set[key] = mergeSet(mapAt(existing), below)
		} else if ok && v == nil {
			delete(set, key)
		}
	}
	return fleet.MergeValues(a, set)
}

// templateEnvironment is .Environment in templates.
type templateEnvironment struct {
	Name        string
	KubeContext string
	Values      map[string]any
	Defaults    map[string]any
}

// fileData is the data of the templates of files.
type fileData struct {
	Environment templateEnvironment
	Namespace   string
	Values      map[string]any
	StateValues map[string]any
}

func (e *environmentRun) templateEnvironment(v environment) templateEnvironment {
	return templateEnvironment{Name: e.name, KubeContext: v.context, Values: plainMap(v.values), Defaults: plainMap(v.defaults)}
}

// fileData returns the data of a file's templates.
func (e *environmentRun) fileData(v environment, values map[string]any) fileData {
	values = plainMap(values)
	return fileData{Environment: e.templateEnvironment(v), Values: values, StateValues: values}
}

// loadEnvironment returns the values of the environment after a part of a helmfile.
func (e *environmentRun) loadEnvironment(s *state, before environment) (environment, error) {
	out := before
	var faults diag.List
	if spec, ok := s.maps["environments"][e.name]; ok {
		out.context = cmp.Or(textAt(spec.value, "kubeContext"), out.context)
		handler := textAt(spec.value, "missingFileHandler")
		values, err := e.loadValues(s.dir, spec.below("values"), handler, before)
		faults.Add(err)
		out.values = mergeSet(out.values, values)
		secrets, err := e.loadSecrets(s, spec)
		faults.Add(err)
		out.values = fleet.MergeValues(out.values, secrets)
	}
	defaults, err := e.loadValues(s.dir, s.lists["values"], "", before)
	faults.Add(err)
	out.defaults = mergeSet(out.defaults, defaults)
	return out, faults.Err()
}

// loadValues returns the merged values of a list of files and maps. dir is the directory
// of relative paths. Templates of files see the values before the list.
func (e *environmentRun) loadValues(dir string, entries []item, handler string, before environment) (map[string]any, error) {
	out := map[string]any{}
	var faults diag.List
	for _, entry := range entries {
		switch v := entry.value.(type) {
		case map[string]any:
			out = fleet.MergeValues(out, v)
		case string:
			files, err := e.resolve(dir, v, handler, entry.at())
			faults.Add(err)
			for _, file := range files {
				if strings.HasSuffix(file, ".hcl") {
					faults.Add(entry.fault(diag.CodeImportUnsupported, "", file+" is written in HCL", "fleetc import reads YAML: write the values as YAML"))
					continue
				}
				values, err := e.valuesFile(file, e.fileData(before, fleet.MergeValues(before.values, before.set)))
				faults.Add(err)
				out = fleet.MergeValues(out, values)
			}
		default:
			faults.Add(entry.fault(diag.CodeImportInvalid, "", "values are neither a file nor a map", "write the path of a file, or a map"))
		}
	}
	return out, faults.Err()
}

// valuesFile returns the content of a file of environment values.
func (e *environmentRun) valuesFile(file string, data any) (map[string]any, error) {
	text, lines, err := e.renderFile(file, data)
	if err != nil {
		return nil, err
	}
	_, content, err := e.parse(file, []byte(text), lines)
	return content, err
}

// renderFile returns the text of a file, with its templates executed if its name ends in
// .gotmpl, and the line in the file of each line.
func (e *environmentRun) renderFile(file string, data any) (string, []int, error) {
	content, err := e.read(file)
	if err != nil {
		return "", nil, &diag.Diag{Code: diag.CodeImportFile, At: []diag.Pos{e.pos(file, 1, 1)}, Msg: err.Error(), Hint: "correct the path"}
	}
	e.count(file, lineCount(content), 0)
	if path.Ext(file) != ".gotmpl" {
		return string(content), plainLines(string(content), 1), nil
	}
	return e.renderLines(templateText{text: string(content), dir: path.Dir(file), file: file, line: 1}, data)
}

// resolve returns the files that a path with wildcards stands for. handler is the
// missingFileHandler.
func (e *environmentRun) resolve(dir, name, handler string, at diag.Pos) ([]string, error) {
	fault := func(code diag.Code, msg, hint string) ([]string, error) {
		return nil, &diag.Diag{Code: code, At: []diag.Pos{at}, Msg: msg, Hint: hint}
	}
	shown := diag.Visible(name, diag.MaxText)
	if isURL(name) {
		return fault(diag.CodeImportUnsupported, shown+" is a file of another repository", "copy the file into this repository: fleetc import does not fetch values")
	}
	pattern, err := e.place(dir, name)
	isOptional := handler == "Warn" || handler == "Info" || handler == "Debug"
	if err != nil && isOptional {
		e.note(at, "helmfile", "values", "the file "+name+" is outside of the repository, and its values are not imported: write them into the release")
		return nil, nil
	}
	if err != nil {
		return fault(diag.CodeImportFile, "the file "+shown+" is outside of the repository", "write a file of the repository")
	}
	files, err := e.glob(pattern)
	switch {
	case err != nil:
		return fault(diag.CodeImportInvalid, shown+" is not a valid pattern", "correct the pattern")
	case len(files) > 0 || isOptional:
		return files, nil
	case handler != "" && handler != "Error":
		return fault(diag.CodeImportInvalid, fmt.Sprintf("missingFileHandler cannot be %q", diag.Visible(handler, diag.MaxText)), "write Error, Warn, Info or Debug")
	}
	return fault(diag.CodeImportFile, "the repository has no file "+diag.Visible(pattern, diag.MaxText), "correct the path, or set missingFileHandler: Warn")
}

// isURL reports whether a path is a URL.
func isURL(name string) bool {
	return strings.Contains(name, "://") || strings.Contains(name, "::")
}

// minFact is the length of the shortest value that is a fact of the cluster.
const minFact = 4

// facts makes the texts in the values of the environment facts of the cluster, to which
// strings of releases may refer. The name of a fact is the path of the value.
func (e *environmentRun) facts() {
	texts := map[string]string{}
	for _, d := range e.found {
		addTexts(texts, d.state.env.merged(), "")
	}
	seen := map[string]bool{} // names without case and separators
	for _, path := range sortedKeys(texts) {
		key := strings.ToLower(strings.ReplaceAll(path, "_", ""))
		if key == "" || seen[key] || unicode.IsDigit(rune(path[0])) {
			continue
		}
		seen[key] = true
		e.cluster.Facts[path] = texts[path]
	}
}

// addTexts adds the short texts in a value by their paths, with underscores between keys.
func addTexts(texts map[string]string, v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			addTexts(texts, v[key], strings.Trim(path+"_"+replaceOthers(key, "", '_'), "_"))
		}
	case string:
		if len(v) >= minFact && !strings.ContainsAny(v, "\n{") && !fleet.MayRefer(v) && !valsReference.MatchString(v) {
			texts[path] = v
		}
	}
}

// This file reads helmfiles of version 0, which executes the templates of all helmfiles.
// They see the values of the environment in the same part.

// isOldFile reports whether a helmfile without the extension .gotmpl is for version 0: it
// is not YAML before its templates are executed, or has templates where version 1 does not
// execute them.
func isOldFile(text string) bool {
	if !strings.Contains(text, "{{") {
		return false
	}
	if strings.Contains(text, "{{`") {
		return true
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var content map[string]any
		if err := decoder.Decode(&content); err != nil {
			return err.Error() != "EOF"
		}
		for key, v := range content {
			if !slices.Contains([]string{"releases", "templates", "hooks"}, key) && hasTemplate(v) {
				return true
			}
		}
	}
}

// hasTemplate reports whether a text in a value has a template.
func hasTemplate(v any) bool {
	text, err := yaml.Marshal(v)
	return err == nil && strings.Contains(string(text), "{{")
}

// firstPass returns the environment that the templates of a part see: with the values that
// the part itself adds, as far as it can be evaluated without them.
func (e *environmentRun) firstPass(t templateText, env environment, takesBases bool) environment {
	out, _ := e.run(t, e.fileData(env, env.merged()), true) // the second pass reports errors
	text := strings.ReplaceAll(out.text, "<no value>", "")
	s, content, err := e.parse(t.file, []byte(text), out.lines)
	if err != nil {
		return env
	}
	st, err := e.newState(t.dir, s, content)
	if err != nil {
		return env
	}
	if takesBases {
		if st, err = e.overBases(t.dir, st, env); err != nil {
			return env
		}
	}
	more, err := e.loadEnvironment(st, env)
	if err != nil {
		return env
	}
	return more
}

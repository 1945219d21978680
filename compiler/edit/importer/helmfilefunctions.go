package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// functions returns the functions of templates: those of sprig that depend on nothing but
// their arguments, and helmfile's own.
func (g *engine) functions(set *template.Template) template.FuncMap {
	f := templateFunctions()
	f["sprigGet"] = f["get"]
	for _, name := range []string{"exec", "envExec"} {
		f[name] = func(args ...any) (string, error) {
			program := ""
			for _, arg := range args {
				if text, ok := arg.(string); ok {
					program = " " + text
					break
				}
			}
			return "", &programFault{msg: "it runs the program" + program, hint: "fleetc import runs no programs: write the output of the program into the values of the environment"}
		}
	}
	f["env"], f["requiredEnv"] = g.env, g.requiredEnv
	f["expandenv"] = func(string) (string, error) {
		return "", &programFault{msg: "it reads all environment variables", hint: `use env "NAME" instead of expandenv`}
	}
	f["isFile"] = func(name string) (bool, error) { return g.exists(name, g.run.isFile) }
	f["isDir"] = func(name string) (bool, error) { return g.exists(name, g.run.isDir) }
	f["readFile"], f["readDir"], f["readDirEntries"] = g.readFile, g.readDir, g.readDirEntries
	f["toYaml"], f["fromYaml"] = toYAML, fromYAML
	f["get"], f["getOrNil"], f["setValueAtPath"] = getValue, valueOrNil, setValueAtPath
	f["required"] = required
	f[argumentFunction], f[resultFunction] = g.argument, g.result
	f["fetchSecretValue"], f["expandSecretRefs"] = g.fetchSecretValue, g.expandSecretRefs
	f["tpl"] = func(text string, data any) (string, error) {
		return g.execute(templateText{text: text, file: tplName}, data, false)
	}
	f["include"] = func(name string, data any) (string, error) {
		if g.depth++; g.depth > maxHelmfileDepth {
			return "", &programFault{msg: fmt.Sprintf("templates call each other more than %d times", maxHelmfileDepth), hint: "remove the cycle of tpl or include"}
		}
		defer func() { g.depth-- }()
		b := &TemplateOutput{}
		err := set.ExecuteTemplate(b, name, data)
		return b.String(), err
	}
	return f
}

// env returns the value of an environment variable that the user gave.
func (g *engine) env(name string) string {
	value, ok := g.run.opts.Variables[name]
	if !ok {
		g.missing = append(g.missing, name)
	}
	return value
}

// requiredEnv is [engine.env] for a variable that must not be empty.
func (g *engine) requiredEnv(name string) (string, error) {
	if value, ok := g.run.opts.Variables[name]; ok && value == "" {
		return "", &programFault{msg: "the environment variable " + diag.Visible(name, diag.MaxText) + " is empty, but requiredEnv requires a value", hint: "pass one with --env " + diag.Visible(name, diag.MaxText) + "=VALUE"}
	}
	return g.env(name), nil
}

// exists reports whether a path below the directory of the text exists.
func (g *engine) exists(name string, matches func(string) bool) (bool, error) {
	file, err := g.run.place(g.dir, name)
	return err == nil && matches(file), err
}

// fetchSecretValue returns a reference to a secret in place of one of vals.
func (g *engine) fetchSecretValue(ref string) string {
	_, name, _ := strings.Cut(ref, "://")
	out, _ := g.run.valsReferences(ref, valsText{dir: g.dir, doc: "helmfile"}, name).(string)
	return out
}

// expandSecretRefs returns values with references to secrets in place of those of vals.
func (g *engine) expandSecretRefs(values map[string]any) map[string]any {
	out, _ := g.run.valsReferences(values, valsText{dir: g.dir, doc: "helmfile"}).(map[string]any)
	return out
}

// readFile returns the content of a file.
func (g *engine) readFile(name string) (string, error) {
	file, err := g.run.place(g.dir, name)
	if err != nil {
		return "", err
	}
	data, err := g.run.read(file)
	if err != nil {
		return "", err
	}
	g.run.count(file, lineCount(data), 0)
	return string(data), nil
}

// readDirEntries returns the files and directories in a directory.
func (g *engine) readDirEntries(name string) ([]fs.DirEntry, error) {
	dir, err := g.run.place(g.dir, name)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(g.run.tree.FS(), dir)
	if err != nil {
		return nil, fmt.Errorf("the repository has no directory %s", dir)
	}
	return entries, nil
}

// readDir returns the paths of the files in a directory.
func (g *engine) readDir(name string) ([]string, error) {
	entries, err := g.readDirEntries(name)
	var out []string
	for _, entry := range entries {
		if !entry.IsDir() {
			out = append(out, path.Join(filepath.ToSlash(name), entry.Name()))
		}
	}
	return out, err
}

// toYAML returns a value as YAML with two spaces for each level.
func toYAML(v any) (string, error) {
	b := &TemplateOutput{}
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(2)
	err := encoder.Encode(v)
	return b.String(), err
}

// fromYAML returns the value of a YAML text.
func fromYAML(text string) (any, error) {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return nil, errors.New(yamlReason(err))
	}
	return plainValue(v), nil
}

// required returns a value, or an error when it is nil or empty.
func required(message string, v any) (any, error) {
	if v == nil || v == "" {
		return nil, fmt.Errorf("%s", message)
	}
	return v, nil
}

// getValue returns the value at a path of keys: get PATH [DEFAULT] OBJECT.
func getValue(keys string, args ...any) (any, error) {
	if len(args) == 0 || len(args) > 2 { //nolint:mnd // a default and an object
		return nil, fmt.Errorf("get takes a path, an optional default, and an object")
	}
	v := args[len(args)-1]
	for _, key := range strings.Split(keys, ".") {
		if keys == "" {
			break
		}
		next, ok := templateField(v, key)
		if !ok {
			if len(args) > 1 {
				return args[0], nil
			}
			return nil, fmt.Errorf("there is no value at the path %s", keys)
		}
		v = next
	}
	return v, nil
}

// templateField returns a field of a map or of the data of a template.
func templateField(v any, key string) (any, bool) {
	of := reflect.ValueOf(v)
	switch of.Kind() {
	case reflect.Map:
		if of.Type().Key().Kind() == reflect.String {
			if found := of.MapIndex(reflect.ValueOf(key)); found.IsValid() {
				return found.Interface(), true
			}
		}
	case reflect.Struct:
		if found := of.FieldByName(key); found.IsValid() && found.CanInterface() {
			return found.Interface(), true
		}
	}
	return nil, false
}

// valueOrNil returns the value at a path of keys, nil when there is none.
func valueOrNil(keys string, object any) (any, error) {
	v, err := getValue(keys, object)
	if err != nil {
		return nil, nil //nolint:nilerr // no value is nil
	}
	return v, nil
}

// setValueAtPath sets the value at a path of keys, whose maps exist.
func setValueAtPath(keys string, value any, values map[string]any) (map[string]any, error) {
	at := values
	steps := strings.Split(keys, ".")
	for _, key := range steps[:len(steps)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("there is no map at the path %s", keys)
		}
		at = below
	}
	at[steps[len(steps)-1]] = value
	return values, nil
}

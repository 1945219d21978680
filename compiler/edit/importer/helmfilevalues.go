package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/strvals"
	kyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// release returns the release of the model. isShared reports whether another release of the
// environment has the same name.
func (e *environmentRun) release(d *helmfileRelease, isShared bool) (*Release, error) {
	out := &Release{Name: nameOf(d.name), Namespace: cmp.Or(d.namespace, "default"), Origin: d.title(), Pos: d.at("name")}
	if isShared {
		out.Name = nameOf(out.Namespace + "-" + d.name)
	}
	if out.Name != d.name {
		out.Unproven = "helmfile calls this release " + d.name
	}
	seconds := cmp.Or(valueAt(d.value, "timeout"), d.state.maps["helmDefaults"]["timeout"].value)
	if n, ok := seconds.(int); ok && n > 0 {
		out.Timeout = fmt.Sprintf("%ds", n)
	}
	if err := e.source(d, out); err != nil {
		return nil, err
	}
	if out.Chart != nil {
		values, err := e.values(d, out)
		if err != nil {
			return nil, err
		}
		out.Values = values
	}
	e.unproven(d, out)
	if err := e.hooks(d, out); err != nil {
		return nil, err
	}
	return out, e.patches(d, out)
}

// unproven marks a release with fields that have no counterpart and change its objects.
func (e *environmentRun) unproven(d *helmfileRelease, out *Release) {
	for _, field := range []string{"dependencies", "forceNamespace", "postRenderer"} {
		if !isZero(valueAt(d.value, field)) {
			out.Unproven = field + " is not imported"
		}
	}
	for _, field := range []string{"args", "syncArgs"} {
		for _, v := range slices.Concat(listAt(d.value, field), listAt(d.state.maps["helmDefaults"][field].value)) {
			for arg := range strings.FieldsSeq(fmt.Sprint(v)) { // helmfile divides them, too
				name, _, _ := strings.Cut(arg, "=")
				if !strings.HasPrefix(name, "--") {
					name = name[:min(len(name), len("-f"))] // as in -fFILE
				}
				if slices.Contains(objectOptions, name) {
					out.Unproven = "the option " + name + " in " + field + " changes its objects and is not imported"
				}
			}
		}
	}
	if program := textOf(d.state.maps["helmDefaults"]["postRenderer"]); program != "" {
		out.Unproven = "postRenderer is not imported"
	}
}

// objectOptions are the options of Helm that change the objects of a release.
var objectOptions = []string{
	"--set", "--set-string", "--set-file", "--set-json", "--set-literal", "--values", "-f", "--version", "--devel", "--repo",
	"--post-renderer", "--skip-crds", "--no-hooks", "--api-versions", "-a", "--kube-version", "--reuse-values",
}

// values returns the values of a release, merged as helmfile and Helm do: values in order,
// then encrypted files, then set, then setString, then files of set. It marks a release with
// encrypted values that are not imported.
func (e *environmentRun) values(d *helmfileRelease, out *Release) (*Node, error) {
	values := map[string]any{}
	var sources []*Document // in the order of the values
	var faults diag.List
	for i, v := range listAt(d.value, "values") {
		field := []string{"values", fmt.Sprint(i)}
		switch v := v.(type) {
		case map[string]any:
			values = fleet.MergeValues(values, plainNumbers(v))
			of, at := d.origin(field)
			inline := *of.doc
			inline.Node = childNode(of.doc.Node, slices.Concat(of.path, at)...)
			sources = append(sources, &inline)
		case string:
			more, s, err := e.releaseFile(d, v, d.at(field...))
			faults.Add(err)
			values = fleet.MergeValues(values, more)
			if s != nil {
				sources = append(sources, s)
			}
		default:
			faults.Add(d.fault(diag.CodeImportInvalid, field, "values are neither a file nor a map", "write the path of a file, or a map"))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	secrets, err := e.releaseSecrets(d, out)
	if err != nil {
		return nil, err
	}
	values = fleet.MergeValues(values, plainNumbers(secrets))
	if err := e.set(d, values); err != nil {
		return nil, err
	}
	values, _ = e.valsReferences(values, valsText{d.state.dir, d.at("values"), d.title()}, d.name).(map[string]any)
	n := nodeOf(values, nil)
	for _, s := range slices.Backward(sources) {
		n.arrange(s.Node, s.position)
	}
	n.setIntegers(values)
	return n, nil
}

// plainNumbers returns a value with numbers as in decoded JSON.
func plainNumbers(v map[string]any) map[string]any {
	text, err := toYAML(v)
	out := map[string]any{}
	if err != nil || kyaml.Unmarshal([]byte(text), &out) != nil {
		return v
	}
	return out
}

// releaseFile returns the content of a file of values or patches of a release, and its
// document; nil when the file is missing and may be.
func (e *environmentRun) releaseFile(d *helmfileRelease, name string, at diag.Pos) (map[string]any, *Document, error) {
	if strings.HasPrefix(name, "ref+") {
		return nil, nil, &diag.Diag{
			Code: diag.CodeImportUnsupported, At: []diag.Pos{at},
			Msg:  d.title() + ": the values come from a secret store",
			Hint: "write them into a file, with references to secrets as docs/secrets.md shows",
		}
	}
	handler := cmp.Or(d.text("missingFileHandler"), d.state.text("missingFileHandler"))
	files, err := e.resolve(d.state.dir, d.text("valuesPathPrefix")+name, handler, at)
	if err != nil || len(files) == 0 {
		return nil, nil, err
	}
	if len(files) > 1 {
		return nil, nil, &diag.Diag{Code: diag.CodeImportUnsupported, At: []diag.Pos{at}, Msg: d.title() + ": the pattern matches several files, which helmfile does not read", Hint: "name each file"}
	}
	text, lines, err := e.renderFile(files[0], d.data)
	if err != nil {
		return nil, nil, err
	}
	s, _, err := e.parse(files[0], []byte(text), lines)
	var content map[string]any
	if kyaml.Unmarshal([]byte(text), &content) == nil && err != nil {
		// Helm accepts a key that is defined twice, and takes the last value.
		fault := diag.All(err)[0]
		e.model.Mistake(Note{Pos: fault.At[0], Doc: d.title(), Field: "values", Do: strings.TrimPrefix(fault.Msg, "not valid YAML: ")})
		return content, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return content, s, nil
}

// set sets single values as helm --set, --set-string and --set-file do.
func (e *environmentRun) set(d *helmfileRelease, values map[string]any) error {
	type setting struct {
		field   []string
		content any
		literal bool
	}
	var settings, files []setting
	for _, key := range []string{"set", "setString"} {
		for i, v := range listAt(d.value, key) {
			s := setting{field: []string{key, fmt.Sprint(i)}, content: v, literal: key == "setString"}
			if s.literal && d.isPatched() {
				e.model.Mistake(Note{Pos: d.at(s.field...), Doc: d.title(), Field: key, Do: "helmfile ignores it in a release with patches"})
				continue
			}
			if textAt(v, "file") != "" && valueAt(v, "value") == nil {
				files = append(files, s)
				continue
			}
			settings = append(settings, s)
		}
	}
	for i, v := range listAt(d.value, "env") {
		name := textAt(v, "value")
		value, ok := e.opts.Variables[name]
		if at := d.at("env", fmt.Sprint(i)); !ok {
			e.missing[name] = at
		}
		settings = append(settings, setting{field: []string{"env", fmt.Sprint(i)}, content: map[string]any{"name": textAt(v, "name"), "value": value}})
	}
	for _, s := range slices.Concat(settings, files) {
		if err := e.setOne(d, values, s.field, s.content, s.literal); err != nil {
			return d.fault(diag.CodeImportUnsupported, s.field, diag.Brief(err), "write the value into values")
		}
	}
	return nil
}

// isPatched reports whether helmfile changes the rendered objects of a release. It renders
// such a chart with values and set alone.
func (d *helmfileRelease) isPatched() bool {
	return slices.ContainsFunc([]string{"jsonPatches", "strategicMergePatches", "transformers", "forceNamespace"}, func(key string) bool {
		return !isZero(valueAt(d.value, key))
	})
}

// setOne sets the value of a field: a text, the content of a file, or a list of texts.
func (e *environmentRun) setOne(d *helmfileRelease, values map[string]any, field []string, content any, literal bool) error {
	name := textAt(content, "name")
	if file := textAt(content, "file"); file != "" && valueAt(content, "value") == nil {
		place, err := e.place(d.state.dir, file)
		if err != nil {
			return err
		}
		data, err := e.read(place)
		if err != nil {
			return err
		}
		e.count(place, lineCount(data), 0)
		return setValue(values, name, string(data), true)
	}
	if list := listAt(content, "values"); len(list) > 0 {
		texts := textsOf(list)
		for i, v := range list {
			texts[i] = d.writtenText(v, append(field, "values", fmt.Sprint(i))...)
		}
		return setList(values, name, texts, literal)
	}
	v := valueAt(content, "value")
	if v == nil || v == "" {
		return nil // helmfile leaves it out
	}
	text := d.writtenText(v, append(field, "value")...)
	if strings.Contains(text, `\`) {
		return errors.New("the value has a backslash, which helm --set removes")
	}
	return setValue(values, name, text, literal || strings.ContainsAny(text, ",{}[]"))
}

// writtenText returns a value of a field as it is written: helmfile takes 1.10 as a text. A
// value that a template computes is printed.
func (d *helmfileRelease) writtenText(v any, field ...string) string {
	of, at := d.origin(field)
	n := childNode(of.doc.Node, slices.Concat(of.path, at)...)
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	var decoded any
	if scalar(n) != "" && n.Decode(&decoded) == nil && fmt.Sprint(decoded) == fmt.Sprint(v) {
		return n.Value
	}
	return fmt.Sprint(v)
}

// textsOf returns the elements of a list as texts.
func textsOf(list []any) []string {
	return diag.Each(list, func(v any) string { return fmt.Sprint(v) })
}

// This file sets single values, as Helm does.

// setValue sets the value at a path of keys and list indices in place, as helm --set does,
// or as helm --set-string does if literal is true. A value that is not literal must not
// contain special characters of --set.
func setValue(values map[string]any, path, value string, literal bool) error {
	text := escaped.Replace(value)
	if text != value && !literal {
		return errors.New("the value has characters that are special to helm --set")
	}
	return set(values, path, text, literal)
}

// setList sets the list of texts at a path of keys and list indices in place, as helm --set
// NAME={A,B} does, or helm --set-string if it is literal.
func setList(values map[string]any, path string, texts []string, literal bool) error {
	list := diag.Each(texts, escaped.Replace)
	return set(values, path, "{"+strings.Join(list, ",")+"}", literal)
}

// escaped escapes the characters that have a meaning for helm --set.
var escaped = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `{`, `\{`, `}`, `\}`, `[`, `\[`, `]`, `\]`)

// set sets a value with the parser of helm --set, or of --set-string if it is literal.
func set(values map[string]any, path, value string, literal bool) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	if strings.ContainsAny(path, ",={}") {
		return fmt.Errorf("the path %s has a character that is special to helm --set", path)
	}
	parse := strvals.ParseInto
	if literal {
		parse = strvals.ParseIntoString
	}
	if err := parse(path+"="+value, values); err != nil {
		return fmt.Errorf("the path %s cannot be set", path)
	}
	return nil
}

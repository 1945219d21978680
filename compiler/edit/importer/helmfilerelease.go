package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A helmfileRelease is a release of a helmfile, with its templates executed.
type helmfileRelease struct {
	item      // content, with the templates that it inherits
	state     *state
	name      string
	namespace string
	context   string
	labels    map[string]string
	data      releaseData
	installed bool
	isUnknown bool       // whether an encrypted value decides if it is installed
	decisions []diag.Pos // by encrypted values
	out       *Release   // nil when it is not imported
}

// releaseData is the data of templates of a release and of its values.
type releaseData struct {
	Environment templateEnvironment
	Release     templateRelease
	Values      map[string]any
	StateValues map[string]any
	KubeContext string
	Namespace   string
	Chart       string
}

// templateRelease is .Release in templates.
type templateRelease struct {
	Name         string
	Namespace    string
	Labels       map[string]string
	Chart        string
	ChartVersion string
	KubeContext  string
}

func (d *helmfileRelease) text(key string) string { return textAt(d.value, key) }

func (d *helmfileRelease) title() string { return "release " + d.name }

func (d *helmfileRelease) fault(code diag.Code, field []string, msg, hint string) error {
	return &diag.Diag{Code: code, At: []diag.Pos{d.at(field...)}, Path: "releases." + strings.Join(field, "."), Msg: d.title() + ": " + msg, Hint: hint}
}

// releases adds the releases of a state that the selectors select.
func (e *environmentRun) releases(s *state, selectors []string) error {
	var faults diag.List
	for _, i := range s.lists["releases"] {
		d, err := e.evaluateRelease(s, i)
		if err != nil {
			faults.Add(err)
			continue
		}
		if selected, err := d.matches(selectors); !selected || err != nil {
			faults.Add(err)
			continue
		}
		enabled, err := e.enabled(d)
		faults.Add(err)
		d.installed = d.installed && enabled
		e.found = append(e.found, d)
	}
	return faults.Err()
}

// evaluateRelease returns a release with the templates that it inherits, and its texts rendered.
func (e *environmentRun) evaluateRelease(s *state, i item) (*helmfileRelease, error) {
	content, above, err := inherit(s, i, nil)
	if err != nil {
		return nil, err
	}
	i.above = append(above, i)
	i.value = content
	d := &helmfileRelease{item: i, state: s, installed: true, labels: map[string]string{}}
	e.current = d
	defer func() { e.current = nil }()
	d.context = cmp.Or(d.text("kubeContext"), textOf(s.maps["helmDefaults"]["kubeContext"]), s.env.context)
	for name, v := range mapAt(content, "labels") {
		d.labels[name] = fmt.Sprint(v)
	}
	for name, v := range s.maps["commonLabels"] {
		d.labels[name] = fmt.Sprint(v.value)
	}
	if err := e.renderRelease(d); err != nil {
		return nil, err
	}
	content = mapAt(d.value)
	d.name = d.text("name")
	d.namespace = cmp.Or(s.text("namespace"), d.text("namespace"))
	d.context = cmp.Or(s.text("kubeContext"), d.context)
	d.data.Release.Namespace, d.data.Namespace = d.namespace, s.text("namespace")
	chart := d.text("chart")
	d.labels["name"], d.labels["namespace"], d.labels["chart"] = d.name, d.namespace, chart[strings.LastIndex(chart, "/")+1:]
	d.data.Release.Labels = d.labels // files of values see these labels
	if v, ok := content["installed"].(bool); ok {
		d.installed = v
	}
	if text := d.text("installedTemplate"); text != "" {
		d.isUnknown = e.hides(text) || len(d.decisions) > 0
		d.installed = strings.TrimSpace(text) == "true" || d.isUnknown
	} else {
		d.isUnknown = e.hides(textAt(content, "installed"))
	}
	switch {
	case d.name == "":
		return nil, d.fault(diag.CodeImportInvalid, nil, "a release has no name", "write its name")
	case cmp.Or(d.text("chart"), d.text("directory")) == "":
		return nil, d.fault(diag.CodeImportInvalid, nil, "it has no chart", "write its chart")
	}
	return d, nil
}

func textOf(i item) string { s, _ := i.value.(string); return s }

// inherit returns the content of a release over that of the templates that it inherits.
func inherit(s *state, i item, path []string) (map[string]any, []item, error) {
	own := mapAt(i.value)
	var above []item
	merged := map[string]any{}
	list := listAt(own, "inherit")
	if one := mapAt(own, "inherit"); one != nil {
		list = []any{one}
	}
	for _, v := range list {
		name := textAt(v, "template")
		t, ok := s.maps["templates"][name]
		if !ok {
			return nil, nil, i.fault(diag.CodeImportInvalid, "", fmt.Sprintf("there is no template %q", diag.Visible(name, diag.MaxText)), "correct the name, or add it to templates", "inherit")
		}
		if slices.Contains(path, name) {
			return nil, nil, i.fault(diag.CodeImportCycle, "", "templates inherit each other: "+strings.Join(append(path, name), " -> "), "remove one of them from inherit", "inherit")
		}
		content, more, err := inherit(s, t, append(slices.Clone(path), name))
		if err != nil {
			return nil, nil, err
		}
		for _, key := range listAt(v, "except") {
			delete(content, fmt.Sprint(key))
		}
		merged = joined(merged, content)
		above = append(append(above, more...), t)
	}
	merged = joined(merged, own)
	delete(merged, "inherit")
	return merged, above, nil
}

// joined returns a with the fields of b: lists are joined, and empty values do not
// override others.
func joined(a, b map[string]any) map[string]any {
	out := plainMap(a)
	for key, v := range plainMap(b) {
		list, ok := v.([]any)
		existing, ok2 := out[key].([]any)
		switch {
		case ok && ok2:
			out[key] = slices.Concat(existing, list)
		case mapAt(v) != nil && mapAt(out, key) != nil:
			out[key] = fleet.MergeValues(mapAt(out, key), mapAt(v))
		case out[key] == nil || !isZero(v):
			out[key] = v
		}
	}
	return out
}

// maxPasses is the number of times that the texts of a release are rendered until they no
// longer change.
const maxPasses = 6

// renderRelease executes the templates in the texts of a release.
func (e *environmentRun) renderRelease(d *helmfileRelease) error {
	original := mapAt(d.value)
	before := original
	labels := d.labels
	for range maxPasses {
		d.data = e.releaseData(d, before)
		after, err := e.renderFields(d, plainMap(original))
		if err != nil {
			return err
		}
		next := map[string]string{}
		for name, text := range labels {
			if next[name], err = e.renderText(d, text, "labels", name); err != nil {
				return err
			}
		}
		same := maps.Equal(d.labels, next) && nodeOf(plainNumbers(after), nil).Equal(nodeOf(plainNumbers(before), nil))
		d.value, d.labels = after, next
		if same {
			return nil
		}
		before = after
	}
	return d.fault(diag.CodeImportCycle, nil, "its templates refer to each other without end", "remove the cycle")
}

// releaseData returns the data of the templates of a release.
func (e *environmentRun) releaseData(d *helmfileRelease, content map[string]any) releaseData {
	values := d.state.env.merged()
	text := func(key string) string { return textAt(content, key) }
	return releaseData{
		Environment: e.templateEnvironment(d.state.env), Values: values, StateValues: values,
		KubeContext: d.state.text("kubeContext"), Namespace: d.state.text("namespace"), Chart: d.state.text("chart"),
		Release: templateRelease{
			Name: text("name"), Namespace: text("namespace"), Labels: d.labels, Chart: text("chart"), ChartVersion: text("version"), KubeContext: d.context,
		},
	}
}

// renderText executes the templates in a text of a release.
func (e *environmentRun) renderText(d *helmfileRelease, text string, field ...string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	out, _, err := e.renderLines(templateText{text: text, dir: d.state.dir, file: d.doc.File, at: d.at(field...)}, d.data)
	return out, err
}

// renderFields executes the templates in the fields of a release that helmfile renders.
func (e *environmentRun) renderFields(d *helmfileRelease, content map[string]any) (map[string]any, error) {
	for _, key := range []string{"name", "chart", "directory", "namespace", "version", "installedTemplate", "waitTemplate"} {
		text, ok := content[key].(string)
		if !ok {
			if content[key] != nil {
				content[key] = fmt.Sprint(content[key]) // such as version: 1
			}
			continue
		}
		out, err := e.renderText(d, text, key)
		if err != nil {
			return nil, err
		}
		content[key] = strings.TrimSpace(out)
	}
	for from, to := range map[string]string{"valuesTemplate": "values", "setTemplate": "set"} {
		list := listAt(content, from)
		for i, v := range list {
			out, err := e.renderAll(d, v, from, fmt.Sprint(i))
			if err != nil {
				return nil, err
			}
			list[i] = out
		}
		if delete(content, from); len(list) > 0 {
			content[to] = slices.Concat(list, listAt(content, to))
		}
	}
	for _, key := range []string{"values", "secrets", "needs"} {
		list := listAt(content, key)
		for i, v := range list {
			text, ok := v.(string)
			if !ok {
				continue
			}
			out, err := e.renderText(d, text, key, fmt.Sprint(i))
			if err != nil {
				return nil, err
			}
			list[i] = out
		}
	}
	return content, nil
}

// renderAll executes the templates in a text, or in the YAML of a map.
func (e *environmentRun) renderAll(d *helmfileRelease, v any, field ...string) (any, error) {
	if text, ok := v.(string); ok {
		return e.renderText(d, text, field...)
	}
	text, err := toYAML(v)
	if err != nil {
		return nil, err
	}
	if text, err = e.renderText(d, text, field...); err != nil {
		return nil, err
	}
	out, err := fromYAML(text)
	if err != nil {
		return nil, d.fault(diag.CodeImportTemplate, field, "the rendered text is not valid YAML: "+err.Error(), "correct the template")
	}
	return out, nil
}

// matches reports whether a release has the labels of one of the selectors.
func (d *helmfileRelease) matches(selectors []string) (bool, error) {
	for _, selector := range selectors {
		all := true
		for part := range strings.SplitSeq(selector, ",") {
			key, value, ok := strings.Cut(part, "=")
			name, negative := strings.CutSuffix(key, "!")
			if !ok || name == "" || value == "" {
				return false, d.item.fault(diag.CodeImportInvalid, "helmfiles.selectors", fmt.Sprintf("the selector %q is not valid", diag.Visible(selector, diag.MaxText)), "write NAME=VALUE or NAME!=VALUE")
			}
			all = all && (d.labels[name] == value) != negative
		}
		if all {
			return true, nil
		}
	}
	return len(selectors) == 0, nil
}

// enabled reports whether the condition of a release is true.
func (e *environmentRun) enabled(d *helmfileRelease) (bool, error) {
	condition := d.text("condition")
	if condition == "" {
		return true, nil
	}
	keys := strings.Split(condition, ".")
	if keys[len(keys)-1] != "enabled" {
		return false, d.fault(diag.CodeImportInvalid, []string{"condition"}, "the condition does not end in .enabled", "write it as in ingress.enabled")
	}
	values := d.state.env.merged()
	for i := range keys[:len(keys)-1] {
		if mapAt(values, keys[:i+1]...) == nil {
			return false, d.fault(diag.CodeImportInvalid, []string{"condition"}, "the environment has no values "+strings.Join(keys[:i+1], "."), "add them, or correct the condition")
		}
	}
	if e.hides(textAt(values, keys...)) {
		d.isUnknown = true
		return true, nil
	}
	return isTrueAt(values, keys...), nil
}

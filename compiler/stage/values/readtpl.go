package values

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// fileMethod evaluates a method of .Files.
func (r *interpreter) fileMethod(files *object, name string, args []*value) *value {
	switch name {
	case "Glob":
		return files.self
	case "Get":
	default:
		return anything()
	}
	if len(args) != 1 {
		return anything()
	}
	out := anything()
	for _, f := range files.files.tpls {
		r.step()
		for _, t := range args[0].written() {
			if matches(t, f.Name) {
				out = r.union(out, r.fileText(files.files, f).self)
			}
		}
	}
	return out
}

// fileText returns the text of a file.
func (r *interpreter) fileText(root *chartRoot, f *chart.File) *object {
	o := r.made(root, "file "+f.Name)
	o.file = string(f.Data)
	o.at = path.Join(root.full, f.Name)
	return o
}

// tpl interprets texts as templates: known texts, files, and the texts at the
// places in the charts' own values. Texts that users set are unknown.
//
// For values that are passed to tpl, the output counts as the value: the sink of
// the output is the sink of the value.
func (a arguments) tpl() *value {
	r, v, dot := a.interpreter, a.at(0), a.at(1)
	if v == nil {
		return textOf(wild)
	}
	written := &value{texts: []string{wild}}
	rest := &value{roots: v.roots}
	for _, o := range v.objects {
		if o.encoded != nil {
			written.objects = append(written.objects, o)
		} else {
			rest.objects = append(rest.objects, o)
		}
	}
	for _, p := range v.places {
		p.text = true
	}
	if len(v.places) > 0 {
		text := r.encode(a.site, &value{places: v.places})
		text.objects[0].by = unquoted
		written = r.union(written, text)
	}
	r.use(rest, Printed)
	r.use(dot, Tested)
	texts := map[string]string{}
	r.query++
	r.textsOf(v, texts, 0)
	for _, t := range slices.Sorted(maps.Keys(texts)) {
		r.interpretText(t, texts[t], dot)
	}
	known, ok := v.literal()
	if !ok {
		return written
	}
	var out *value
	for _, t := range known {
		if strings.Contains(t, "{{") {
			out = r.union(out, r.interpretText(t, r.where(), dot))
		} else {
			out = r.union(out, textOf(t))
		}
	}
	return out
}

const (
	maxTplDepth = 8
	maxTplTexts = 10000
)

// textsOf collects the texts that contain templates, with their positions.
func (r *interpreter) textsOf(v *value, texts map[string]string, depth int) {
	if v == nil || depth > maxTplDepth || !r.step() {
		return
	}
	r.steps += len(texts)
	if len(texts) > maxTplTexts {
		r.giveUp("too many texts are templates")
		return
	}
	for _, t := range v.texts {
		if strings.Contains(t, "{{") {
			texts[t] = r.where()
		}
	}
	for _, p := range v.places {
		maps.Copy(texts, r.textsAt(p))
		if p.seen != r.query {
			p.seen = r.query
			r.textsOf(p.also, texts, depth+1)
		}
	}
	for _, o := range v.objects {
		if o.file != "" {
			texts[o.file] = o.at
		}
		if o.seen == r.query {
			continue
		}
		o.seen, o.read = r.query, true
		for _, part := range []*value{o.encoded, o.elem, o.parts} {
			r.textsOf(part, texts, depth+1)
		}
		for _, key := range slices.Sorted(maps.Keys(o.keys)) {
			r.textsOf(o.keys[key], texts, depth+1)
		}
	}
}

// textsAt returns the texts with templates that the charts' own values have at
// the place or below it.
func (r *interpreter) textsAt(p *place) map[string]string {
	if p.texts == nil {
		p.texts = map[string]string{}
		for _, root := range r.roots {
			if p.within(root.values) {
				defaultTexts(p.in(root.chart.Values, root.values), root.full+"/values.yaml", p.texts)
			}
		}
	}
	return p.texts
}

// in returns the parts of a chart's own values at the place p. The values are
// those at the place at.
func (p *place) in(values any, at *place) []any {
	if p == at {
		return []any{values}
	}
	if p.parent == nil {
		return nil
	}
	var out []any
	for _, v := range p.parent.in(values, at) {
		switch v := v.(type) {
		case map[string]any:
			if p.parent.any != p {
				if kid, ok := v[p.key]; ok {
					out = append(out, kid)
				}
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				out = append(out, v[key])
			}
		case []any:
			out = append(out, v...)
		}
	}
	return out
}

// defaultTexts collects the strings that contain templates.
func defaultTexts(v any, where string, texts map[string]string) {
	if len(texts) > maxTplTexts {
		return
	}
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "{{") && texts[v] == "" {
			texts[v] = where
		}
	case []any:
		for _, kid := range v {
			defaultTexts(kid, where, texts)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			defaultTexts(v[key], where, texts)
		}
	}
}

// interpretText interprets a text as a template.
func (r *interpreter) interpretText(data, where string, dot *value) *value {
	t, known := r.texts[data]
	if !known {
		if strings.Contains(data, wild) {
			r.scan(data, dot)
		} else {
			t = r.parse(where, data, false)
		}
		r.texts[data] = t
	}
	if t == nil {
		return textOf(wild)
	}
	return r.interpret("text "+data, t, dot)
}

// pathOfValues matches what looks like a path of values.
var pathOfValues = regexp.MustCompile(`\.Values\.([A-Za-z0-9_.]*)`)

// scan marks the reads of a text that cannot be parsed: everything that looks
// like a path of values.
func (r *interpreter) scan(data string, dot *value) {
	for _, m := range pathOfValues.FindAllStringSubmatch(data, -1) {
		v := r.field(dot, "Values")
		for _, root := range r.roots {
			v = r.union(v, root.values.self)
		}
		r.use(r.fields(v, strings.Split(strings.Trim(m[1], "."), ".")), Printed)
	}
}

// addTexts interprets the strings in a chart's values, and its files, that look
// like templates of values. A template may pass them to tpl in a way that the
// analysis does not follow.
func (r *interpreter) addTexts(root *chartRoot) {
	texts := map[string]string{}
	defaultTexts(root.chart.Values, root.full+"/values.yaml", texts)
	for _, f := range root.tpls {
		if !strings.HasSuffix(f.Name, ".md") && !strings.HasSuffix(f.Name, ".gotmpl") {
			texts[string(f.Data)] = path.Join(root.full, f.Name)
		}
	}
	if len(texts) > maxTplTexts {
		r.giveUp("too many texts are templates")
	}
	for _, data := range slices.Sorted(maps.Keys(texts)) {
		if !strings.Contains(data, ".Values") && !strings.Contains(data, "include") && !strings.Contains(data, "template") {
			continue
		}
		t := r.parse(texts[data], data, false)
		if t == nil {
			r.scan(data, root.self)
			continue
		}
		r.texts[data] = t
		r.entries = append(r.entries, entry{texts[data], t, root})
	}
}

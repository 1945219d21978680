package render

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A TemplateLine is a line of a template.
type TemplateLine struct {
	Template string `json:"template"` // path with the chart's name in front
	Line     int    `json:"line"`
}

// TemplateLines returns the lines that printed a field of the object: first
// the line in the object's template, then the line in the template that it
// includes, and so on. It returns nil when they are unknown. An empty field
// means the whole object.
func (p *Probe) TemplateLines(field []string) []TemplateLine {
	if at, ok := p.offset(p.trace.last.text.String(), field); ok {
		return p.trace.places(p.trace.last, at)
	}
	return nil
}

// offset returns the position of a field of the object in the output of the
// template.
func (p *Probe) offset(printed string, field []string) (int, bool) {
	start, texts := 0, split(printed)
	if p.index >= len(texts) {
		return 0, false
	}
	for i, text := range texts[:p.index+1] {
		n := strings.Index(printed[start:], text)
		if n < 0 {
			return 0, false
		}
		start += n
		if i < p.index {
			start += len(text)
		}
	}
	if p.item > 0 || len(field) == 0 {
		return start, len(field) == 0 // items of lists are not searched
	}
	text := texts[p.index]
	line, col, ok := fleet.FieldPosition(text, field)
	if !ok {
		return 0, false
	}
	for range line - 1 {
		start += 1 + strings.IndexByte(printed[start:], '\n')
	}
	return min(start+col-1, len(printed)-1), true
}

// places returns the lines that printed the byte at an offset.
func (t *trace) places(p *execution, at int) []TemplateLine {
	text := p.text.String()
	for _, c := range p.chunks {
		if at < c.start || at >= c.end {
			continue
		}
		out := diag.Each(append(c.calls, c.site), func(n int) TemplateLine { return TemplateLine{t.sites[n].file, t.sites[n].line(0)} })
		if t.sites[c.site].verbatim {
			out[len(out)-1].Line = t.sites[c.site].line(strings.Count(text[c.start:at], "\n"))
			return out
		}
		for _, inner := range c.inner {
			if n, ok := within(inner.text.String(), text[c.start:c.end], lineAround(text, at)); ok {
				return append(out, t.places(inner, n)...)
			}
		}
		return out
	}
	return nil
}

// within returns the position, in the output of an included template, of a
// line of the including output. chunk is the part of that output which the
// include printed.
func within(included, chunk, line string) (int, bool) {
	trimmed := strings.TrimSpace(included)
	if trimmed == "" {
		return 0, false
	}
	if trimmed == strings.TrimSpace(chunk) && !strings.Contains(trimmed, "\n") {
		return strings.Index(included, trimmed), true
	}
	at := 0
	for l := range strings.Lines(included) {
		if own := strings.TrimSpace(l); own != "" && own == line {
			// The last character belongs to the value, the first to the key.
			return at + strings.Index(l, own) + len(own) - 1, true
		}
		at += len(l)
	}
	return 0, false
}

// lineAround returns the trimmed line of a text around an offset.
func lineAround(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
		text = text[:start+n]
	}
	return strings.TrimSpace(text[start:])
}

// failedAt matches the places that an error of text/template names: the template's path, and
// the expression that failed.
var failedAt = regexp.MustCompile(`([^\s:]+):\d+:\d+: executing "[^"]*" at <([^>]*)>`)

// readsValue matches an expression that is one of the values or evaluates one as a template.
var readsValue = regexp.MustCompile(`^(?:tpl )?\$?\.Values((?:\.\w+)+)(?: [$.])?$`)

// blame places the fault of a template that fails at the user's value that it reads, if the
// error names one: "wrong type for value" at <.Values.image.tag>. It can also be above what the
// template reads, such as a null, which removes the map of the chart.
func (j *job) blame(d *diag.Diag) {
	places := failedAt.FindAllStringSubmatch(d.Msg, -1)
	for _, place := range slices.Backward(places) {
		read := readsValue.FindStringSubmatch(place[2])
		if read == nil {
			continue
		}
		path := append(dependenciesOf(place[1]), strings.Split(read[1], ".")[1:]...)
		at, depth := j.release.Values.Lookup(path...)
		if at == nil || !at.Pos.IsValid() || depth < len(path) && at.IsMap() {
			continue
		}
		d.At = []diag.Pos{at.Pos}
		d.Path = j.release.Path(append([]string{"values"}, path[:depth]...)...)
		d.Hint = "correct this value, which the template reads, or correct the template"
		if at.Value() == nil {
			d.Hint = "remove it, or set the fields that differ: null removes the default of the chart, which the template needs"
		}
		return
	}
}

// dependenciesOf returns the names of the dependencies in the path of a template:
// app/charts/db/templates/a.yaml is one of db.
func dependenciesOf(template string) []string {
	var names []string
	parts := strings.Split(template, "/")
	for i := 1; i+1 < len(parts) && parts[i] == "charts"; i += 2 {
		names = append(names, parts[i+1])
	}
	return names
}

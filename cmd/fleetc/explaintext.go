package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// writeExplanation prints an explanation with indented lines. name converts
// file names.
func writeExplanation(w io.Writer, e *fleet.Explanation, indent string, name func(string) string) {
	p := &explanationWriter{indent: indent, name: name}
	text := fieldText(e.State, e.Value)
	if len(e.Leaves) > 0 && (e.State == fleet.Set || e.State == fleet.Unset) {
		text = "a map, with " + diag.Count(len(e.Leaves), "value", "values") + " in it"
	}
	p.line("%s: %s", e.Path, text)
	p.line("    in %s", e.Cluster)
	if e.Unselected {
		p.line("    this cluster does not get the release")
	}
	for _, f := range e.Faults {
		p.line("    fault: %s", f)
	}
	if e.Type != "" {
		p.line("    the chart expects: %s", e.Type)
	}
	for l := range strings.Lines(e.Doc) {
		p.line("    the chart says: %s", strings.TrimRight(l, "\n"))
	}
	if len(e.Layers) > 0 {
		p.line("")
		p.line("after each layer")
		p.table(func(add func(cells ...string)) {
			for _, l := range e.Layers {
				add(l.Layer.Name, layerText(l.State, l.Value, e.Leaves))
			}
		})
	}
	if len(e.Contributions) > 0 {
		p.line("")
		p.line("contributing lines")
		p.table(func(add func(cells ...string)) {
			for _, c := range e.Contributions {
				p.contribution(add, "", "", c)
			}
		})
	}
	if len(e.Leaves) > 0 {
		p.line("")
		p.line("values inside, and their effective lines")
		p.table(func(add func(cells ...string)) {
			for _, l := range e.Leaves {
				text, kind, place := fieldText(l.State, l.Value), "", ""
				if l.State == fleet.Set || l.State == fleet.FromChart {
					text = valueText(l.Value, maxLeafText)
				}
				if l.Effective != nil {
					kind, place = p.kind(l.Effective), p.place(l.Effective)
				}
				add(strings.TrimPrefix(strings.TrimPrefix(l.Path, e.Path), "."), text, kind, place)
			}
		})
	}
	fmt.Fprint(w, p.String())
}

// layerText describes the value of a field after a layer. leaves are the values below it.
func layerText(s fleet.State, value any, leaves []fleet.Leaf) string {
	isFromChart := func(l fleet.Leaf) bool { return l.Effective != nil && l.Effective.Kind == fleet.ChartDefault }
	if s == fleet.Unset && slices.ContainsFunc(leaves, isFromChart) {
		return "the chart's own values"
	}
	return fieldText(s, value)
}

// An explanationWriter writes the parts of an explanation.
type explanationWriter struct {
	strings.Builder
	indent string
	name   func(string) string
}

func (p *explanationWriter) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(p.indent+fmt.Sprintf(format, args...), " ") + "\n")
}

// table writes rows of cells in columns.
func (p *explanationWriter) table(rows func(add func(cells ...string))) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows(func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) })
	_ = t.Flush() // a builder accepts all writes
	for l := range strings.Lines(b.String()) {
		p.line("    %s", strings.TrimRight(l, " \n"))
	}
}

// contribution adds a line and, below it, its sources.
func (p *explanationWriter) contribution(add func(cells ...string), indent, path string, c *fleet.Contribution) {
	expr := c.Expr
	switch {
	case path != "":
		expr = path + ": " + expr
	case c.Path != "":
		expr = c.Path + ": " + expr
	}
	add(indent+p.place(c), p.kind(c), string(c.Role), expr)
	for _, s := range c.From {
		p.contribution(add, indent+"  ", s.Path, s.Contribution)
	}
	if c.More > 0 {
		add(indent + "  " + fmt.Sprintf("and %d more", c.More))
	}
}

// kind returns the kind and layer of a line.
func (p *explanationWriter) kind(c *fleet.Contribution) string {
	if c.Layer == "" {
		return string(c.Kind)
	}
	return string(c.Kind) + " of " + c.Layer
}

func (p *explanationWriter) place(c *fleet.Contribution) string {
	if c.Chart != "" {
		return c.Chart
	}
	return p.pos(c.At)
}

func (p *explanationWriter) pos(at diag.Pos) string {
	at.File = p.name(at.File)
	return at.String()
}

// fieldText describes the value of a field.
func fieldText(s fleet.State, value any) string {
	switch s {
	case fleet.Set:
		return valueText(value, maxValueText)
	case fleet.FromChart:
		return valueText(value, maxValueText) + " (the chart's own)"
	case fleet.Unset:
		return "not set"
	case fleet.Deleted:
		return "removed by null"
	case fleet.Incomplete:
		return "no value yet"
	}
	return string(s)
}

// Maximum bytes of a value, alone and in a list.
const maxValueText, maxLeafText = 200, 60

// valueText returns a value in one line of at most most bytes.
func valueText(value any, most int) string {
	text := diag.AsJSON(value)
	if text == "" {
		return fmt.Sprint(value)
	}
	return diag.Visible(text, most)
}

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
	var layers, lines, inside [][]string
	for _, l := range e.Layers {
		layers = append(layers, []string{l.Layer.Name, layerText(l.State, l.Value, e.Leaves)})
	}
	p.section("after each layer", layers)
	for _, c := range e.Contributions {
		lines = p.contribution(lines, "", "", c)
	}
	p.section("contributing lines", lines)
	for _, l := range e.Leaves {
		text, kind, place := fieldText(l.State, l.Value), "", ""
		if l.State == fleet.Set || l.State == fleet.FromChart {
			text = valueText(l.Value, maxLeafText)
		}
		if l.Effective != nil {
			kind, place = p.kind(l.Effective), p.place(l.Effective)
		}
		inside = append(inside, []string{strings.TrimPrefix(strings.TrimPrefix(l.Path, e.Path), "."), text, kind, place})
	}
	p.section("values inside, and their effective lines", inside)
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

// section writes a title and rows of cells in columns, unless there are none.
func (p *explanationWriter) section(title string, rows [][]string) {
	if len(rows) > 0 {
		p.line("")
		p.line("%s", title)
		p.table(rows)
	}
}

// table writes rows of cells in columns.
func (p *explanationWriter) table(rows [][]string) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // a builder accepts all writes
	for l := range strings.Lines(b.String()) {
		p.line("    %s", strings.TrimRight(l, " \n"))
	}
}

// contribution adds the row of a line and, below it, those of its sources.
func (p *explanationWriter) contribution(rows [][]string, indent, path string, c *fleet.Contribution) [][]string {
	expr := c.Expr
	switch {
	case path != "":
		expr = path + ": " + expr
	case c.Path != "":
		expr = c.Path + ": " + expr
	}
	rows = append(rows, []string{indent + p.place(c), p.kind(c), string(c.Role), expr})
	for _, s := range c.From {
		rows = p.contribution(rows, indent+"  ", s.Path, s.Contribution)
	}
	if c.More > 0 {
		rows = append(rows, []string{indent + "  " + fmt.Sprintf("and %d more", c.More)})
	}
	return rows
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

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/spf13/cobra"
)

// completeObject completes an object of a cluster, or a field of an object.
func completeObject(cmd *cobra.Command, o *options, args []string, begun string) []string {
	return query.CompleteObject(cmd.Context(), o.compiler(), args[0], strings.Join(args[1:], ""), begun)
}

// hidden replaces a value of a Secret in the output.
const hidden = "(a value of a Secret)"

// writeObjectExplanation prints the explanation of an object as text. name converts file
// names.
func writeObjectExplanation(w io.Writer, e *query.ObjectExplanation, name func(string) string) {
	p := &explanationWriter{name: name}
	switch {
	case len(e.Field) == 0:
		p.line("%s", e.Object.ID())
	case e.Secret:
		p.line("%s: %s: %s", e.Object.ID(), fleet.FieldText(e.Field), hidden)
	default:
		p.line("%s: %s: %s", e.Object.ID(), fleet.FieldText(e.Field), valueText(e.Value, maxValueText))
	}
	p.line("    in %s, release %s, %s", e.Cluster, e.Object.Release.Name, p.pos(e.Object.Release.Pos))
	for i, l := range e.Lines {
		what := "printed by"
		if i > 0 {
			what = "    which includes"
		}
		p.line("    %s %s", what, p.template(l))
	}
	if len(e.Lines) == 0 && e.Object.Template != "" {
		p.line("    from %s", e.Object.Template)
	}
	if e.At.IsValid() && e.At != e.Object.Release.Pos {
		p.line("    written at %s", p.pos(e.At))
	}
	if e.Placed {
		p.line("    the namespace is the release's: the object has none of its own")
	}
	for _, patch := range e.Patches {
		p.line("    patched by %s, %s", patch.Name, p.pos(patch.Pos))
	}
	switch {
	case e.Random != nil:
		p.line("    the chart generates it at every render; the rule is at %s", p.pos(e.Random.Pos))
	case e.Nondeterministic:
		p.line("    the chart renders a different value every time")
	}
	if !e.Complete {
		p.line("    more values are read here than were tried")
	}
	if e.Written != nil {
		p.line("")
		writeExplanation(&p.Builder, e.Written, "    ", p.name)
	}
	p.values(e)
	fmt.Fprintln(w, strings.TrimRight(p.String(), "\n"))
}

// template returns the position of a template line: its file if it is in the
// repository.
func (p *explanationWriter) template(l query.TemplateLine) string {
	if l.File != "" {
		return p.pos(diag.Pos{File: l.File, Line: l.Line})
	}
	return fmt.Sprintf("%s:%d", l.Template, l.Line)
}

// values prints the values that the field depends on.
func (p *explanationWriter) values(e *query.ObjectExplanation) {
	for _, part := range []struct {
		how   origin.Influence
		title string
	}{
		{origin.Holds, "values that are in it"},
		{origin.Changes, "values that it changes with"},
		{origin.Exists, "values that the object is there because of, or named by"},
	} {
		of := diag.Filter(e.Depends, func(v query.ValueDependency) bool { return v.How == part.how })
		if len(of) == 0 {
			continue
		}
		if !strings.HasSuffix(p.String(), "\n\n") {
			p.line("")
		}
		p.line("%s", part.title)
		var rows [][]string
		for _, v := range of {
			if len(e.Field) == 0 || part.how != origin.Holds || v.Value.State != fleet.Set || v.Secret {
				rows = append(rows, p.row(v))
				continue
			}
			writeExplanation(&p.Builder, v.Value, "    ", p.name)
			p.line("")
		}
		p.table(rows)
	}
}

// row returns a value in one line: its path, text, and effective line.
func (p *explanationWriter) row(d query.ValueDependency) []string {
	v := d.Value
	text := fieldText(v.State, v.Value)
	if d.Secret {
		text = hidden
	} else if v.State == fleet.FromChart {
		text = valueText(v.Value, maxLeafText) // the kind of the line names the chart
	}
	cells := []string{v.Path, text}
	for _, c := range v.Contributions {
		if c.Role == fleet.Effective {
			return append(cells, p.kind(c), p.place(c))
		}
	}
	return cells
}

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/spf13/cobra"
)

// An objectExplanation is the output of explain for an object or a field of
// it.
type objectExplanation struct {
	*query.ObjectExplanation
	cluster string
	written *fleet.Explanation // for objects written in CUE; nil for other objects and for Secrets
	values  []valueExplanation
}

// A valueExplanation is a value that a field depends on, with its origin.
type valueExplanation struct {
	*fleet.Explanation
	how    origin.Influence
	secret bool
}

// explainObject explains an object of a cluster. An empty field means the
// whole object.
func explainObject(cmd *cobra.Command, o *options, pattern, object, field, output string) error {
	x, f, c, err := oneCluster(cmd.Context(), o, pattern)
	if err != nil {
		return err
	}
	e, err := query.ExplainObject(cmd.Context(), f, c, object, field)
	if err != nil {
		return err
	}
	out := &objectExplanation{ObjectExplanation: e, cluster: c.ID}
	if e.Written != "" && !e.Secret {
		if out.written, err = x.Field(cmd.Context(), e.Written); err != nil {
			return err
		}
	}
	for _, d := range e.Depends {
		value, err := explainValue(cmd.Context(), x, d.Path)
		if err != nil {
			return err
		}
		out.values = append(out.values, valueExplanation{value, d.How, d.Secret})
	}
	if output == "json" {
		return writeJSON(cmd.OutOrStdout(), out.json())
	}
	return out.write(cmd.OutOrStdout(), load.FileNames(o.dir))
}

// oneCluster loads the one cluster that a pattern selects.
func oneCluster(ctx context.Context, o *options, pattern string) (*query.Explainer, *compiler.Fleet, *fleet.Cluster, error) {
	x, err := query.Explain(ctx, o.compiler(), pattern)
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := o.compiler().Load(ctx, pattern)
	if err != nil {
		return nil, nil, nil, err
	}
	return x, f, f.Clusters[0], nil
}

// explainValue explains a value. For an element of a list in the chart's
// defaults, it explains the list.
func explainValue(ctx context.Context, x *query.Explainer, path string) (*fleet.Explanation, error) {
	e, err := x.Field(ctx, path)
	if list, _, isElement := strings.Cut(path, "["); err != nil && isElement {
		return x.Field(ctx, list)
	}
	return e, err
}

// completeObject completes an object of a cluster, or a field of an object.
func completeObject(cmd *cobra.Command, o *options, args []string, begun string) []string {
	_, f, c, err := oneCluster(cmd.Context(), o, args[0])
	if err != nil {
		return nil
	}
	objs, err := query.RenderedObjects(cmd.Context(), f, c)
	if err != nil {
		return nil
	}
	if len(args) == 1 {
		return query.NextObjects(objs, begun)
	}
	object, err := query.FindObject(objs, c.ID, args[1])
	if err != nil {
		return nil
	}
	return query.NextFields(object, begun)
}

// hidden replaces a value of a Secret in the output.
const hidden = "(a value of a Secret)"

// write prints the explanation as text. name converts file names.
func (e *objectExplanation) write(w io.Writer, name func(string) string) error {
	p := &explanationWriter{name: name}
	switch {
	case len(e.Field) == 0:
		p.line("%s", e.Object.ID())
	case e.Secret:
		p.line("%s: %s: %s", e.Object.ID(), fleet.FieldText(e.Field), hidden)
	default:
		p.line("%s: %s: %s", e.Object.ID(), fleet.FieldText(e.Field), valueText(e.Value, maxValueText))
	}
	p.line("    in %s, release %s, %s", e.cluster, e.Object.Release.Name, p.pos(e.Object.Release.Pos))
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
	if e.written != nil {
		p.line("")
		_ = writeExplanation(&p.Builder, e.written, "    ", p.name) // a builder accepts all writes
	}
	e.writeValues(p)
	_, err := io.WriteString(w, strings.TrimRight(p.String(), "\n")+"\n")
	return err
}

// template returns the position of a template line: its file if it is in the
// repository.
func (p *explanationWriter) template(l query.TemplateLine) string {
	if l.File != "" {
		return p.pos(diag.Pos{File: l.File, Line: l.Line})
	}
	return fmt.Sprintf("%s:%d", l.Template, l.Line)
}

// writeValues prints the values that the field depends on.
func (e *objectExplanation) writeValues(p *explanationWriter) {
	for _, part := range []struct {
		how   origin.Influence
		title string
	}{
		{origin.Holds, "values that are in it"},
		{origin.Changes, "values that it changes with"},
		{origin.Exists, "values that the object is there because of, or named by"},
	} {
		var of []valueExplanation
		for _, v := range e.values {
			if v.how == part.how {
				of = append(of, v)
			}
		}
		if len(of) == 0 {
			continue
		}
		if !strings.HasSuffix(p.String(), "\n\n") {
			p.line("")
		}
		p.line("%s", part.title)
		var rows []valueExplanation
		for _, v := range of {
			if len(e.Field) == 0 || part.how != origin.Holds || v.State != fleet.Set || v.secret {
				rows = append(rows, v)
				continue
			}
			_ = writeExplanation(&p.Builder, v.Explanation, "    ", p.name) // a builder accepts all writes
			p.line("")
		}
		p.table(func(add func(cells ...string)) {
			for _, v := range rows {
				add(e.row(p, v)...)
			}
		})
	}
}

// row returns a value in one line: its path, text, and effective line.
func (e *objectExplanation) row(p *explanationWriter, v valueExplanation) []string {
	text := fieldText(v.State, v.Value)
	if v.secret {
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

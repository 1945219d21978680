package render

import (
	"context"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// This file executes the templates of a chart, by the rules of Helm's engine:
// the same templates in the same order, with the same functions and values.
// Helm's own engine parses everything anew each time, cannot be interrupted,
// and does not say whether a function was random. The tests compare the two.

// rootName is the name of the template that all others belong to, and of those
// that are given to tpl. It is part of messages.
const rootName = "gotpl"

// maxIncludes is how often a template may be included while it is being
// included: Helm's limit.
const maxIncludes = 1000

// An engine renders a chart, again and again with the same templates.
type engine struct {
	*guard
	*luck
	*state
	source *source
	set    *template.Template   // all templates of the rendering
	files  []file               // that they are of
	costs  map[*parse.Tree]cost // of all trees in it, and of those that tpl has put in since
	own    int                  // how many of these are of the templates
	open   map[string]int       // how often include is executing a template right now
	regexs map[string]int       // how many instructions a regular expression has
	out    []byte               // what the templates that are executed right now have printed, one behind the other
}

func newEngine(ctx context.Context, most limits, s *source, l *luck) *engine {
	return &engine{
		guard: newGuard(ctx, most), luck: l, state: &state{}, source: s,
		costs: map[*parse.Tree]cost{}, open: map[string]int{}, regexs: map[string]int{},
	}
}

// A renderable is a template of a chart, and the values that it sees.
type renderable struct {
	file
	scope map[string]any
	meta  *chart.Metadata // of its chart
	base  string          // the path of the chart's templates
}

// enter makes the template the one that is executed. Those of the parent see which of
// a dependency's was the last, also when it is not executed since it is known.
func (r renderable) enter() {
	r.scope["Template"] = chartutil.Values{"Name": r.name, "BasePath": r.base}
}

// renderables returns the templates of a chart and its dependencies, in the
// order in which they are parsed and executed: those in deeper directories
// first, and of those of equal depth the last by name.
func renderables(c *chart.Chart, values chartutil.Values) []renderable {
	byName := map[string]renderable{}
	collect(c, values, func(r renderable) { byName[r.name] = r })
	all := make([]renderable, 0, len(byName))
	for _, r := range byName {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b renderable) int {
		if deeper := strings.Count(b.name, "/") - strings.Count(a.name, "/"); deeper != 0 {
			return deeper
		}
		return strings.Compare(b.name, a.name)
	})
	return all
}

// collect calls add for the templates of a chart and its dependencies, and
// returns what the chart's templates see. above is what those of its parent do.
func collect(c *chart.Chart, above chartutil.Values, add func(renderable)) map[string]any {
	subcharts := map[string]any{}
	scope := map[string]any{
		"Chart": struct {
			chart.Metadata
			IsRoot bool
		}{*c.Metadata, c.IsRoot()},
		"Files":        filesOf(c.Files),
		"Release":      above["Release"],
		"Capabilities": above["Capabilities"],
		"Values":       chartutil.Values{},
		"Subcharts":    subcharts,
	}
	if c.IsRoot() {
		scope["Values"] = above["Values"]
	} else if own, err := above.Table("Values." + c.Name()); err == nil {
		scope["Values"] = own
	}
	for _, d := range c.Dependencies() {
		subcharts[d.Name()] = collect(d, scope, add)
	}
	full := c.ChartFullPath()
	library := strings.EqualFold(c.Metadata.Type, "library")
	for _, t := range c.Templates {
		if t == nil || library && !isPartial(t.Name) {
			continue
		}
		name := path.Join(full, t.Name)
		add(renderable{file: file{name, t}, scope: scope, meta: c.Metadata, base: path.Join(full, "templates")})
	}
	return scope
}

// isPartial reports whether a template renders nothing by itself.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

// filesIn returns the files that templates are of.
func filesIn(all []renderable) []file {
	out := make([]file, len(all))
	for i, r := range all {
		out[i] = r.file
	}
	return out
}

// reset makes the engine as good as new for another rendering.
func (e *engine) reset(ctx context.Context, most limits, l *luck) {
	*e.guard, e.luck, *e.state = *newGuard(ctx, most), l, state{}
	e.out = e.out[:0]
	clear(e.open)
	clear(e.regexs)
}

// render executes the templates, which are prepared, and returns what each of
// them prints. Those of which that is known, or which r recalls, are not executed.
func (e *engine) render(all []renderable, known map[string]page, r *recalling) (map[string]page, error) {
	*e.state = state{all: all, random: map[string]bool{}}
	out := make(map[string]page, len(all))
	for _, t := range all {
		if isPartial(t.name) {
			continue
		}
		p, ok := known[t.name]
		if ok {
			t.enter()
		} else {
			var err error
			if p, err = e.page(t, r); err != nil {
				return nil, err
			}
		}
		out[t.name] = p
	}
	return out, nil
}

// page returns what a template prints. Recalling it takes as much of the limits as
// executing it does.
func (e *engine) page(t renderable, r *recalling) (page, error) {
	if r != nil && !e.modified {
		if p, took, ok := r.page(t.name); ok {
			t.enter()
			return p, e.take(took)
		}
		if e.source.reads != nil {
			e.source.reads.forget()
		}
	}
	before := e.left
	e.chance = false
	text, err := e.one(t)
	if err != nil {
		return page{}, err
	}
	if e.chance {
		e.random[t.name] = true
	}
	if r != nil {
		r.keep(t.name, text, limits{before.steps - e.left.steps, before.made - e.left.made, before.output - e.left.output}, !e.chance && !e.modified)
	}
	return page{text: text}, nil
}

// prepare defines the templates of a rendering.
func (e *engine) prepare(all []renderable) error {
	e.files = filesIn(all)
	e.set = template.New(rootName).Option("missingkey=zero").Funcs(e.bind())
	for _, r := range all {
		t := e.source.template(r.file)
		if t.err != nil {
			return parseFault(r.name, t.err)
		}
		if err := e.define(e.set, t); err != nil {
			return err
		}
	}
	e.set.Funcs(e.included(e.set))
	e.own = len(e.costs)
	return nil
}

// one executes one of the templates that are defined.
func (e *engine) one(r renderable) (string, error) {
	r.enter()
	t := e.set.Lookup(r.name)
	if t == nil {
		return "", fmt.Errorf("%s: not a template any more", r.name)
	}
	text, err := e.execute(t, e.costs[t.Tree], r.scope, true)
	if err != nil {
		return "", e.fault(r.name, err)
	}
	return withoutMissing(text), nil
}

// define adds a parsed text to a set of templates. Later ones replace those of
// the same name, unless they are empty.
func (e *engine) define(set *template.Template, t *text) error {
	for name, tree := range t.trees {
		if _, err := set.AddParseTree(name, tree); err != nil {
			return err
		}
		e.costs[tree] = t.costs[name]
	}
	return nil
}

// execute executes a template of a known cost. Where it prints a value that is missing, which
// text/template does with these words, there is nothing in the end.
func (e *engine) execute(t *template.Template, c cost, data any, top bool) (string, error) {
	start := len(e.out)
	defer func() { e.out = e.out[:start] }()
	if err := e.tryEnter(c); err != nil {
		return "", err
	}
	var w io.Writer = counter{e, start, top}
	if tr := e.source.trace; tr != nil {
		w = tr.begin(w)
		defer tr.end()
	}
	if err := t.Execute(w, data); err != nil {
		if e.why != nil {
			if e.at == "" {
				e.at = place(err)
			}
			return "", e.why
		}
		return "", err
	}
	e.leave(c)
	return string(e.out[start:]), nil
}

// withoutMissing removes what is printed for a missing value.
func withoutMissing(s string) string { return strings.ReplaceAll(s, "<no value>", "") }

// included returns the functions that execute templates of a set, or are told
// of it.
func (e *engine) included(set *template.Template) template.FuncMap {
	costOf := func(name string) cost {
		if t := set.Lookup(name); t != nil {
			return e.costs[t.Tree]
		}
		return cost{}
	}
	return template.FuncMap{
		"include": func(name string, data any) (string, error) { return e.include(set, name, data) },
		"tpl":     func(content string, data any) (string, error) { return e.tpl(set, content, data) },
		fnEnter:   func(name string) bool { e.enter(costOf(name)); return false },
		fnLeave:   func(name string) bool { e.leave(costOf(name)); return false },
	}
}

func (e *engine) include(set *template.Template, name string, data any) (string, error) {
	t := set.Lookup(name)
	if t == nil {
		return "", fmt.Errorf("template: no template %q associated with template %q", name, rootName)
	}
	if e.open[name] > maxIncludes {
		e.stop("template %q includes itself without end", name)
	}
	e.open[name]++
	out, err := e.execute(t, e.costs[t.Tree], data, false)
	e.open[name]--
	if err != nil {
		return "", err
	}
	return e.text(out), nil
}

// tpl executes a text as a template that sees the templates of the set. What
// it defines is seen by itself alone.
func (e *engine) tpl(set *template.Template, content string, data any) (string, error) {
	if !strings.Contains(content, "{{") {
		return e.text(withoutMissing(content)), nil
	}
	e.room(len(content), 8) // about what parsing takes
	e.make(8 * len(content))
	t := e.source.snippet(content)
	if t.err != nil {
		return "", fmt.Errorf("cannot parse template %q: %w", content, t.err)
	}
	tree, c := t.main()
	if len(t.trees) > 1 || strings.Contains(content, rootName) {
		var err error
		if set, err = e.private(set, t); err != nil {
			return "", err
		}
	}
	// This one is not added to the set: it has no name that others know it by.
	own := set.New(rootName)
	own.Tree = tree
	out, err := e.execute(own, c, data, false)
	if err != nil {
		if e.why != nil {
			return "", err
		}
		return "", fmt.Errorf("error during tpl function execution for %q: %w", content, err)
	}
	return e.text(withoutMissing(out)), nil
}

// private returns a copy of the set in which a text is defined.
func (e *engine) private(set *template.Template, t *text) (*template.Template, error) {
	e.make(256 * len(set.Templates()))
	set, err := set.Clone()
	if err != nil {
		return nil, err
	}
	set.Option("missingkey=zero").Funcs(e.included(set))
	return set, e.define(set, t)
}

// tracing are the functions that only parsed trees call, see [counting].
func (e *engine) tracing() template.FuncMap {
	made := func(v reflect.Value) reflect.Value {
		switch v.Kind() {
		case reflect.String:
			e.spend(v.Len() / 4)
			e.make(v.Len())
		case reflect.Map:
			e.make(64 * v.Len())
		case reflect.Slice, reflect.Struct, reflect.Pointer:
			e.make(e.sizeOf(v, 0))
		}
		return v
	}
	return template.FuncMap{
		fnPass: func(steps int) bool { e.spend(steps); return false },
		fnRange: func(v reflect.Value) reflect.Value {
			if v.Kind() == reflect.Map {
				e.spend(4 * v.Len()) // it is sorted
			}
			return v
		},
		fnPrint: func(v reflect.Value) reflect.Value {
			if v.Kind() > reflect.Complex128 && v.Kind() != reflect.String {
				e.weigh(v)
			}
			return v
		},
		fnMade: made, fnArg: made,
	}
}

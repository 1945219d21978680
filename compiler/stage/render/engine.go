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

// This file executes the templates of a chart as Helm's engine does: the same
// templates in the same order, with the same functions and values. Helm's
// engine parses every template for each rendering, cannot be interrupted, and
// does not report whether a function was random. Tests compare both engines.

// rootName is the name of the template set, and of templates that tpl
// executes. Error messages contain it.
const rootName = "gotpl"

// maxIncludes is Helm's limit for recursive includes of one template.
const maxIncludes = 1000

// An engine renders a chart repeatedly with the same templates.
type engine struct {
	*guard
	*entropy
	*sharedState
	source *source
	set    *template.Template   // all templates of the rendering
	costs  map[*parse.Tree]cost // of all trees in set, and of those that tpl added
	active map[string]int       // nesting level of include, by template name
	regexs map[string]int       // program size by regular expression
	out    []byte               // output of all templates in execution; an inner template appends to the outer ones
}

func newEngine(ctx context.Context, limit limits, s *source, l *entropy) *engine {
	return &engine{
		guard: newGuard(ctx, limit), entropy: l, sharedState: &sharedState{}, source: s,
		costs: map[*parse.Tree]cost{}, active: map[string]int{}, regexs: map[string]int{},
	}
}

// A renderable is a template of a chart with the values it sees.
type renderable struct {
	file
	scope chartutil.Values
	meta  *chart.Metadata // of the template's chart
	base  string          // the path of the chart's templates
}

// enter makes r the template in execution. It is called for cached templates
// too, because a parent sees the last executed template of its dependency.
func (r renderable) enter() {
	r.scope["Template"] = chartutil.Values{"Name": r.name, "BasePath": r.base}
}

// renderables returns the templates of a chart and its dependencies in
// execution order: deeper directories first, then by name, descending.
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
// returns the values that the chart's templates see. parent is the same for
// the parent chart.
func collect(c *chart.Chart, parent chartutil.Values, add func(renderable)) map[string]any {
	subcharts := map[string]any{}
	scope := map[string]any{
		"Chart": struct {
			chart.Metadata
			IsRoot bool
		}{*c.Metadata, c.IsRoot()},
		"Files":        filesOf(c.Files),
		"Release":      parent["Release"],
		"Capabilities": parent["Capabilities"],
		"Values":       chartutil.Values{},
		"Subcharts":    subcharts,
	}
	if c.IsRoot() {
		scope["Values"] = parent["Values"]
	} else if own, err := parent.Table("Values." + c.Name()); err == nil {
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

// reset prepares the engine for another execution.
func (e *engine) reset() {
	*e.guard, *e.sharedState = *newGuard(e.ctx, e.limit), sharedState{}
	e.out = e.out[:0]
	clear(e.active)
	clear(e.regexs)
}

// render executes the prepared templates and returns their output. It takes
// pages from known or from the cache session r where it can.
func (e *engine) render(all []renderable, known map[string]page, r *cacheSession) (map[string]page, error) {
	*e.sharedState = sharedState{all: all, nondeterministicTemplates: map[string]bool{}}
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

// page returns the output of a template. A cached page uses up as much of the
// limits as an execution.
func (e *engine) page(t renderable, r *cacheSession) (page, error) {
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
	e.nondeterministic = false
	text, err := e.executeFile(t)
	if err != nil {
		return page{}, err
	}
	if e.nondeterministic {
		e.nondeterministicTemplates[t.name] = true
	}
	if r != nil {
		r.store(t.name, text, limits{before.steps - e.left.steps, before.made - e.left.made, before.output - e.left.output}, !e.nondeterministic && !e.modified)
	}
	return page{text: text}, nil
}

// prepare defines the templates of a rendering.
func (e *engine) prepare(all []renderable) error {
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
	e.set.Funcs(e.templateFuncs(e.set))
	return nil
}

// executeFile executes a defined template.
func (e *engine) executeFile(r renderable) (string, error) {
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

// define adds a parsed text to a template set. Later definitions replace
// earlier ones of the same name, unless they are empty.
func (e *engine) define(set *template.Template, t *text) error {
	for name, tree := range t.trees {
		if _, err := set.AddParseTree(name, tree); err != nil {
			return err
		}
		e.costs[tree] = t.costs[name]
	}
	return nil
}

// execute executes a template of cost c. text/template prints "<no value>" for
// a missing value; callers remove these words.
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
		if e.stopErr != nil {
			if e.stoppedAt == "" {
				e.stoppedAt = place(err)
			}
			return "", e.stopErr
		}
		return "", err
	}
	e.leave(c)
	return string(e.out[start:]), nil
}

// withoutMissing removes the text that text/template prints for a missing
// value.
func withoutMissing(s string) string { return strings.ReplaceAll(s, "<no value>", "") }

// templateFuncs returns the functions that execute templates of a set, and
// those that meter them.
func (e *engine) templateFuncs(set *template.Template) template.FuncMap {
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
	if e.active[name] > maxIncludes {
		e.stop("template %q includes itself endlessly", name)
	}
	e.active[name]++
	out, err := e.execute(t, e.costs[t.Tree], data, false)
	e.active[name]--
	if err != nil {
		return "", err
	}
	return e.text(out), nil
}

// tpl executes a text as a template that sees the templates of the set. Only
// the text itself sees its own definitions.
func (e *engine) tpl(set *template.Template, content string, data any) (string, error) {
	if !strings.Contains(content, "{{") {
		return e.text(withoutMissing(content)), nil
	}
	e.checkSize(len(content), 8) // roughly the cost of parsing
	e.allocate(8 * len(content))
	t := e.source.snippet(content)
	if t.err != nil {
		return "", fmt.Errorf("cannot parse template %q: %w", content, t.err)
	}
	tree, c := t.main()
	if len(t.trees) > 1 || strings.Contains(content, rootName) {
		var err error
		if set, err = e.setWith(set, t); err != nil {
			return "", err
		}
	}
	// The template is not added to the set, because others must not see it.
	own := set.New(rootName)
	own.Tree = tree
	out, err := e.execute(own, c, data, false)
	if err != nil {
		if e.stopErr != nil {
			return "", err
		}
		return "", fmt.Errorf("error during tpl function execution for %q: %w", content, err)
	}
	return e.text(withoutMissing(out)), nil
}

// setWith returns a copy of the set in which a text is defined.
func (e *engine) setWith(set *template.Template, t *text) (*template.Template, error) {
	e.allocate(256 * len(set.Templates()))
	set, err := set.Clone()
	if err != nil {
		return nil, err
	}
	set.Option("missingkey=zero").Funcs(e.templateFuncs(set))
	return set, e.define(set, t)
}

// meterFuncs returns the functions that only parsed trees call, see
// [meterInserter].
func (e *engine) meterFuncs() template.FuncMap {
	made := func(v reflect.Value) reflect.Value {
		switch v.Kind() {
		case reflect.String:
			e.spend(v.Len() / 4)
			e.allocate(v.Len())
		case reflect.Map:
			e.allocate(64 * v.Len())
		case reflect.Slice, reflect.Struct, reflect.Pointer:
			e.allocate(e.sizeOf(v, 0))
		}
		return v
	}
	return template.FuncMap{
		fnPass: func(steps int) bool { e.spend(steps); return false },
		fnRange: func(v reflect.Value) reflect.Value {
			if v.Kind() == reflect.Map {
				e.spend(4 * v.Len()) // the keys are sorted
			}
			return v
		},
		fnPrint: func(v reflect.Value) reflect.Value {
			if v.Kind() > reflect.Complex128 && v.Kind() != reflect.String {
				e.weigh(v)
			}
			return v
		},
		fnMade: made,
		fnArg: func(v reflect.Value) reflect.Value {
			if v.Kind() == reflect.Interface && v.IsNil() {
				return reflect.Zero(reflect.TypeFor[missing]())
			}
			return made(v)
		},
	}
}

// missing is the type of a missing value as an argument. The result of a
// pipeline that is a nil any becomes a nil of the parameter's type, whereas the
// same value without a pipeline is an error.
type missing interface{ missing() }

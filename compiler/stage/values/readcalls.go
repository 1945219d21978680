package values

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// A call is a template with its argument.
type call struct {
	id         int
	name       string // the name of the template
	out        *value // the output
	generation int    // the interpreter's generation at the last interpretation
	running    bool
	recursed   bool // it was called again while running
	recursive  bool
}

// include interprets the templates that the names can refer to.
func (r *interpreter) include(names, dot *value) *value {
	r.use(names, Tested)
	var out *value
	for _, name := range names.written() {
		name = withoutMarks(name)
		if !strings.Contains(name, wild) {
			if t := r.templates[name]; t != nil {
				out = r.union(out, r.interpret(name, t, dot))
			}
			continue
		}
		for _, known := range r.namesLike(name) {
			out = r.union(out, r.interpret(known, r.templates[known], dot))
		}
	}
	return out
}

// namesLike returns the templates that match a name with unknown parts. A
// completely unknown name does not match the name of a file.
func (r *interpreter) namesLike(pattern string) []string {
	var names []string
	r.steps += len(r.templates)
	for _, name := range slices.Sorted(maps.Keys(r.templates)) {
		if matches(pattern, name) && (pattern != wild || !strings.Contains(name, "/templates/")) {
			names = append(names, name)
		}
	}
	return names
}

// interpret returns the output of the template for the argument. It memoizes the
// output of a template and argument until the generation changes.
func (r *interpreter) interpret(name string, t *template, dot *value) *value {
	key := name + wild + dot.key() + r.loopKey()
	if t.active > maxActive {
		key += wild
	}
	c := r.calls[key]
	if c == nil {
		c = &call{id: len(r.calls) + 1, name: name, recursive: t.active > maxActive, generation: -1}
		r.calls[key] = c
	}
	if c.running || c.generation == r.generation {
		c.recursed = c.recursed || c.running
		return c.out
	}
	if !r.enter() {
		return anything()
	}
	defer r.leave()
	defer func(c *call, s *source, pos parse.Pos, at string, g *guard) {
		r.call, r.source, r.pos, r.at, r.testing = c, s, pos, at, g
	}(r.call, r.source, r.pos, r.at, r.testing)
	r.call, r.source, r.at, r.testing = c, t.source, "", nil
	c.running = true
	t.active++
	for i := 0; ; i++ {
		c.recursed, c.generation = false, r.generation
		out := r.union(c.out, r.list(t.tree.Root, dot, &scope{vars: map[string]*value{"$": dot}}))
		fixedPoint := out == c.out || !c.recursed
		c.out = out
		if fixedPoint {
			break
		}
		if i == maxRounds {
			r.giveUp("a template that calls itself prints ever more")
			break
		}
	}
	t.active--
	c.running = false
	return c.out
}

// enter and leave limit the nesting of nodes and calls.
func (r *interpreter) enter() bool {
	r.nesting++
	if r.nesting > maxNesting {
		r.giveUp("the templates are too deep")
	}
	if !r.step() {
		r.nesting--
		return false
	}
	return true
}

func (r *interpreter) leave() { r.nesting-- }

package values

import (
	"cmp"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// A Mode says how templates use a value.
type Mode uint8

const (
	Tested  Mode = 1 << iota // a condition or a comparison uses it
	Printed                  // printed as a whole, so that everything below is free-form
	Ranged                   // iterated, so that its keys are the user's
	Dumped                   // printed together with all other values of a chart, or as a digest, which says nothing about a single key
	Decides                  // a template tests whether it is set
)

// A Read is a node of the tree of paths that templates read. Reads below Any are
// repeated below each of Keys.
type Read struct {
	Mode  Mode
	Where string           // the first template that reads it, as Helm names it ("app/templates/x.yaml:12")
	Keys  map[string]*Read // by key
	Any   *Read            // reads through a computed key, and of the elements of a list; nil when none

	user   *Read           // reads at keys without a default, in unrolled loops
	listed map[string]bool // the other keys, in unrolled loops
	facts
	wide bool  // read through a computed key of all values of a chart
	own  *Read // the node without such reads; nil when it has none

	// GaveUp, only set at the root, is the reason for an incomplete analysis.
	// The root is then Printed, so that no value counts as unread.
	GaveUp string
}

// facts say how templates use a value.
type facts struct {
	free      bool   // for any key: the computed key does not come only from other values
	sinks     sinks  // its sinks, where it is printed as a whole
	form      form   // conditions of its sinks
	needs     form   // conditions of the functions that it is passed to
	choice    choice // the texts that its sinks and comparisons allow
	testedFor Kind   // kinds that a template tests for
	tests     kindTests
	keyed     bool // a template iterates over its keys
	bare      bool // a template prints it without conversion
	asYAML    bool // a template prints its YAML or JSON
	plain     bool // a template prints it other than between quotes, and where Kubernetes may not accept a number
	between   bool // a template prints it between quotes
	text      bool // it can be text, because a template passes it to tpl unchanged
}

// and returns the union of the facts.
func (f facts) and(o facts) facts {
	return facts{
		free: f.free || o.free, sinks: f.sinks.and(o.sinks), form: f.form | o.form, needs: f.needs | o.needs, choice: f.choice.and(o.choice),
		testedFor: f.testedFor | o.testedFor, tests: f.tests.and(o.tests), keyed: f.keyed || o.keyed,
		bare: f.bare || o.bare, asYAML: f.asYAML || o.asYAML, plain: f.plain || o.plain, between: f.between || o.between, text: f.text || o.text,
	}
}

// Reads returns the reads of the chart's values by its templates and those of
// its dependencies. The root of the result is the values map. The analysis
// interprets the templates without running them: it follows both branches of
// every condition for any values. The chart is not modified.
//
// The result includes the reads of every possible run, and may include more. The
// exception are templates that are built from the user's values.
func Reads(c *chart.Chart) *Read {
	r := newInterpreter()
	r.addChart(c)
	r.run()
	return r.tree()
}

// maxNodes limits the size of the resulting tree. Reads of any key are copied
// below each key, which can multiply them.
const maxNodes = 1 << 20

// tree builds the tree of reads from the marked places.
func (r *interpreter) tree() *Read {
	r.separateTests()
	nodes := 0
	root := build(r.values, false, &nodes)
	if root == nil {
		root = &Read{}
	}
	sp := &spreader{done: map[*Read]bool{}, joined: map[[2]*Read]*Read{}, scattered: map[*Read]*Read{}, nodes: nodes}
	sp.spread(root)
	if sp.nodes > maxNodes {
		r.giveUp("the tree of reads is too large")
	}
	if r.gaveUp != "" {
		// Not Dumped: any value may be read.
		return &Read{Mode: Printed, Where: root.Where, GaveUp: r.gaveUp}
	}
	return root
}

// build returns the node of a place, nil when neither it nor a place below is
// read.
func build(p *place, wide bool, nodes *int) *Read {
	n := &Read{Mode: p.mode, Where: p.where, wide: wide, facts: p.facts}
	for _, key := range slices.Sorted(maps.Keys(p.keys)) {
		if p.user != nil && key == p.user.key {
			n.user, n.listed = &Read{Mode: Printed, Where: p.user.where}, p.listed
			if !p.isChart() {
				n.user = build(p.user, wide, nodes)
			}
			continue
		}
		if kid := build(p.keys[key], wide, nodes); kid != nil {
			if n.Keys == nil {
				n.Keys = map[string]*Read{}
			}
			n.Keys[key] = kid
			n.Where = cmp.Or(n.Where, kid.Where)
		}
	}
	if p.any != nil && p.any != p {
		if n.Any = build(p.any, wide || p.isChart() || len(p.keys) >= minNamed, nodes); n.Any != nil {
			n.Where = cmp.Or(n.Where, n.Any.Where)
			if !p.free {
				n.Any.testedFor = 0 // the test may be for the map, not for the element
			}
		}
	}
	if !p.marked && n.Keys == nil && n.Any == nil && n.user == nil {
		return nil
	}
	*nodes++
	return n
}

// exact returns the reads without those through computed keys of all values.
func (r *Read) exact() *Read {
	if r.own != nil {
		return r.own
	}
	return r
}

// A spreader copies the reads of any key below each key, at all levels. Nodes of
// the result can have several parents.
type spreader struct {
	done   map[*Read]bool
	joined map[[2]*Read]*Read
	nodes  int

	scattered map[*Read]*Read // withoutSink
}

// spread copies the reads of any key for the node and all nodes below it.
func (s *spreader) spread(n *Read) {
	if n == nil || s.nodes > maxNodes || s.done[n] {
		return
	}
	s.done[n] = true
	s.spread(n.Any)
	s.spread(n.user)
	other, unlisted := n.Any, s.both(n.Any, n.user)
	if len(n.Keys) > 0 {
		other, unlisted = s.withoutSink(other), s.withoutSink(unlisted)
	}
	n.Any, n.user = s.both(n.Any, n.user), nil
	for _, key := range slices.Sorted(maps.Keys(n.Keys)) {
		kid := n.Keys[key]
		other := other
		if !n.listed[key] {
			other = unlisted
		}
		if other != nil {
			kid = s.both(kid, other)
			n.Keys[key] = kid
		}
		s.spread(kid)
	}
}

// withoutSink returns the reads at a computed key for the values that templates
// read by name: the sink of one value is not that of all.
func (s *spreader) withoutSink(n *Read) *Read {
	if n == nil || !n.wide || n.form == 0 && len(n.choice.sinks)+len(n.choice.words) == 0 {
		return n
	}
	out := s.scattered[n]
	if out == nil {
		c := *n
		c.form, c.choice, c.tests.always = 0, choice{}, 0
		out = &c
		s.scattered[n] = out
	}
	return out
}

// both returns the union of two nodes. It modifies neither and shares the
// subtrees that only one of them has.
func (s *spreader) both(a, b *Read) *Read {
	if a == nil {
		return b
	}
	if b == nil || a == b || s.nodes > maxNodes {
		return a
	}
	if n := s.joined[[2]*Read{a, b}]; n != nil {
		return n
	}
	s.nodes++
	n := &Read{Mode: a.Mode | b.Mode, Where: cmp.Or(a.Where, b.Where), facts: a.facts.and(b.facts)}
	s.joined[[2]*Read{a, b}] = n
	n.wide = a.wide && b.wide
	switch {
	case b.wide && !a.wide:
		n.own = a.exact()
	case a.own != nil || b.own != nil:
		n.own = s.both(a.exact(), b.exact())
	}
	n.Any, n.user = s.both(a.Any, b.Any), s.both(a.user, b.user)
	if n.listed = a.listed; a.user == nil {
		n.listed = b.listed
	} else if b.user != nil {
		n.listed = maps.Clone(a.listed)
		maps.DeleteFunc(n.listed, func(key string, _ bool) bool { return !b.listed[key] })
	}
	if len(a.Keys)+len(b.Keys) == 0 {
		return n
	}
	n.Keys = maps.Clone(a.Keys)
	if n.Keys == nil {
		n.Keys = map[string]*Read{}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Keys)) {
		n.Keys[key] = s.both(n.Keys[key], b.Keys[key])
	}
	return n
}

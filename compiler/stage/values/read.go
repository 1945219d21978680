package values

import (
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// A Mode says how templates use a value.
type Mode uint8

const (
	Tested  Mode = 1 << iota // its value decides something, or is compared
	Printed                  // the whole of it reaches the output: all that is below is free-form
	Ranged                   // iterated: its keys are the user's
	Dumped                   // printed with all other values of a chart, which says nothing about a key
	Decides                  // a template asks whether it is set
)

// A Read is a node of the tree of paths that templates read. What is read of
// every key (Any) is read of each of Keys too, and stands there again.
type Read struct {
	Mode  Mode
	Where string           // the template that reads it, as Helm names it ("app/templates/x.yaml:12"), first in order
	Keys  map[string]*Read // by key
	Any   *Read            // by a computed key, or any element of a list; nil when none

	free   bool     // of Any: which keys it is follows from more than other values
	lands  landings // where it is printed to as a whole
	form   form     // conditions of its sinks
	choice choice   // the texts that it can be
	asked  Kind     // kinds that a template tests for
	keyed  bool     // a template goes through its keys
	text   bool     // it can be text
	wide   bool     // it is read by way of a computed key of all values of a chart
	own    *Read    // without what is read that way; nil when it is the same

	// GaveUp says, on the root alone, why not all could be found out. The root
	// is Printed then, so that nothing counts as unread.
	GaveUp string
}

// Reads returns what the templates of a loaded chart and its dependencies read
// of the chart's values; the root stands for the values map. The templates are
// interpreted, not run: both sides of every condition count, whatever the
// values are. The chart is not modified.
//
// What it returns can hold more than any run reads, never less, except where a
// template is put together from the values of the user.
func Reads(c *chart.Chart) *Read {
	r := newInterpreter()
	r.addChart(c)
	r.run()
	return r.tree()
}

// At returns the node of the path, and whether templates read the value there
// or something below it: the node of the exact keys when there is one, else
// that of any key. Below a value that is printed everything is read, and the
// node is the printed one. All values of a chart in one piece, as some charts
// print them for support, are not taken for a read of each.
func (r *Read) At(path ...string) (n *Read, ok bool) {
	if r == nil {
		return nil, false
	}
	var printed *Read
	n = r
	for _, key := range path {
		if n.Mode&Printed != 0 {
			printed = n
		}
		next := n.Keys[key]
		if next == nil {
			next = n.Any
		}
		if next == nil {
			return printed, printed != nil
		}
		n = next
	}
	return n, true
}

// maxNodes bounds the tree that is returned: the reads of any key, written
// out below each key, can multiply.
const maxNodes = 1 << 20

// tree turns the places that were marked into the tree for the caller.
func (r *interpreter) tree() *Read {
	nodes := 0
	root := build(r.values, false, &nodes)
	if root == nil {
		root = &Read{}
	}
	sp := &spreader{done: map[*Read]bool{}, joined: map[[2]*Read]*Read{}, nodes: nodes}
	sp.spread(root)
	if sp.nodes > maxNodes {
		r.giveUp("the tree of reads is too large")
	}
	if r.gaveUp != "" {
		// Not Dumped: a value may be read although nothing says so.
		return &Read{Mode: Printed, Where: root.Where, GaveUp: r.gaveUp}
	}
	return root
}

// build returns the node of a place, nil when nothing there is read.
func build(p *place, wide bool, nodes *int) *Read {
	n := &Read{wide: wide, Mode: p.mode, Where: p.where, free: p.free, form: p.form, asked: p.asked, keyed: p.keyed, lands: p.lands, text: p.text, choice: p.choice}
	for _, key := range slices.Sorted(maps.Keys(p.keys)) {
		if kid := build(p.keys[key], wide, nodes); kid != nil {
			if n.Keys == nil {
				n.Keys = map[string]*Read{}
			}
			n.Keys[key] = kid
			n.inherit(kid)
		}
	}
	if p.any != nil && p.any != p {
		if n.Any = build(p.any, wide || p.isChart() || len(p.keys) >= minNamed, nodes); n.Any != nil {
			n.inherit(n.Any)
			if !p.free {
				n.Any.asked = 0 // whether it is the map that a template looks for
			}
		}
	}
	if !p.marked && n.Keys == nil && n.Any == nil {
		return nil
	}
	*nodes++
	return n
}

// inherit gives a node that is read only through its keys their place.
func (r *Read) inherit(kid *Read) {
	if r.Where == "" {
		r.Where = kid.Where
	}
}

// exact returns what is read without computed keys of all values.
func (r *Read) exact() *Read {
	if r.own != nil {
		return r.own
	}
	return r
}

// A spreader copies what is read of any key below each key, all the way down.
// Nodes of the result can be part of several.
type spreader struct {
	done   map[*Read]bool
	joined map[[2]*Read]*Read
	nodes  int
}

// spread does so for the node and all below it.
func (s *spreader) spread(n *Read) {
	if n == nil || s.nodes > maxNodes || s.done[n] {
		return
	}
	s.done[n] = true
	s.spread(n.Any)
	for _, key := range slices.Sorted(maps.Keys(n.Keys)) {
		kid := n.Keys[key]
		if n.Any != nil {
			kid = s.both(kid, n.Any)
			n.Keys[key] = kid
		}
		s.spread(kid)
	}
}

// both returns what is read by one or the other. It modifies neither and
// shares what only one has.
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
	n := &Read{
		Mode: a.Mode | b.Mode, Where: a.Where, free: a.free || b.free, form: a.form | b.form, asked: a.asked | b.asked, keyed: a.keyed || b.keyed, lands: a.lands.and(b.lands), text: a.text || b.text,
		choice: a.choice.and(b.choice),
	}
	s.joined[[2]*Read{a, b}] = n
	n.wide = a.wide && b.wide
	switch {
	case b.wide && !a.wide:
		n.own = a.exact()
	case a.own != nil || b.own != nil:
		n.own = s.both(a.exact(), b.exact())
	}
	n.Any = s.both(a.Any, b.Any)
	if n.Where == "" {
		n.Where = b.Where
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

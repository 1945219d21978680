package values

import (
	"slices"
	"strings"
)

const notes = "/NOTES.txt:"

// A place is a path in the values of the chart. Each path has one place, whether
// or not it is read.
type place struct {
	id     int
	parent *place // nil for the values themselves
	key    string
	depth  int
	keys   map[string]*place
	any    *place     // any key or element
	self   *value     // the value that is exactly this place
	root   *chartRoot // the chart whose values are at this place

	mode Mode
	facts
	prints int    // how often it was printed
	marked bool   // read, if only as an element of an iterated value
	where  string // the first template that reads it

	// also holds the other values that templates can find at this path: values
	// that they set or merge, the parent's globals, values imported from a
	// dependency.
	also *value

	beside   []*place // children for which, or for a descendant of which, also is set
	isBeside bool     // it is in beside of its parent

	user   *place          // any key without a default, in unrolled loops
	listed map[string]bool // the keys with a default, in unrolled loops
	defs   []any           // defaults; set once known is set
	known  bool

	derived bool // found through also, so that the user's values may not have it
	seen    int  // the last query that visited it
	stamp   int  // the last union that contained it

	texts map[string]string // texts with templates in the charts' own values
}

const (
	maxDepth  = 24      // keys in a path
	maxAny    = 5       // consecutive unknown keys
	maxPlaces = 1 << 17 // places of all charts
)

// newPlace returns a place below its parent.
func (r *interpreter) newPlace(parent *place, key string) *place {
	r.places++
	p := &place{id: r.places, parent: parent, key: key}
	p.self = &value{places: []*place{p}}
	if parent != nil {
		p.depth = parent.depth + 1
	}
	return p
}

// child returns the place of the key. The last place of a path that is too long
// is printed and its own child.
func (r *interpreter) child(p *place, key string) *place {
	if kid := p.keys[key]; kid != nil {
		return kid
	}
	derived := p.derived || r.following
	if p.any == p || p.depth >= maxDepth || r.places >= maxPlaces || derived && p.repeats(key) {
		r.mark(p, Printed)
		return p
	}
	if r.coarse {
		return r.anyKey(p)
	}
	kid := r.newPlace(p, key)
	kid.derived = derived
	if p.keys == nil {
		p.keys = map[string]*place{}
	}
	p.keys[key] = kid
	return kid
}

// anyKey returns the place of any key or element, for a key that does not come
// only from other values.
func (r *interpreter) anyKey(p *place) *place {
	p.free = true
	return r.anyChild(p)
}

// anyChild returns the place of any key or element.
func (r *interpreter) anyChild(p *place) *place {
	if p.any != nil {
		return p.any
	}
	row := 0
	for q := p; q.parent != nil && q.parent.any == q; q = q.parent {
		row++
	}
	if row >= maxAny || p.depth >= maxDepth || r.places >= maxPlaces {
		p.any = p
		r.mark(p, Printed)
		return p
	}
	p.any = r.newPlace(p, "")
	return p.any
}

// below returns the place at the path of keys.
func (r *interpreter) below(p *place, keys ...string) *place {
	for _, key := range keys {
		p = r.child(p, key)
	}
	return p
}

// repeats reports whether the path has the key twice. Without this limit, a map
// that is merged into an ancestor would have endless paths.
func (p *place) repeats(key string) bool {
	times := 0
	for q := p; q.parent != nil; q = q.parent {
		if q.key == key {
			times++
		}
	}
	return times > 1
}

// isChart reports whether the place holds all values of a chart.
func (p *place) isChart() bool { return p.root != nil }

// within reports whether the place is the other one or below it.
func (p *place) within(other *place) bool {
	for q := p; q != nil && q.depth >= other.depth; q = q.parent {
		if q == other {
			return true
		}
	}
	return false
}

// mark records that the place is read, and with it all other values that
// templates can find there.
func (r *interpreter) mark(p *place, m Mode) {
	if !p.marked || strings.Contains(p.where, notes) {
		// Prefer other templates to the notes, which say least about the
		// purpose.
		if at := r.where(); !p.marked || !strings.Contains(at, notes) {
			p.where = at
		}
		p.marked = true
	}
	digest := m&Printed != 0 && r.sink == neutral
	if digest {
		m = m&^Printed | Dumped // says nothing about the keys
	}
	if m&Printed != 0 {
		r.counts(p)
		p.form |= r.sink.formAt(r.by)
		p.asYAML = p.asYAML || r.by == asYAML
		if r.sink.formAt(r.by)&(quantityForm|shareForm|intOrStringForm) == 0 { // a number has another form there
			between := r.inQuotes || r.by == quoted
			p.plain, p.between = p.plain || !between, p.between || between
		}
		if r.sink != nil {
			p.choice.sinks = addWords(p.choice.sinks, r.sink.enum)
		}
	}
	fresh := m &^ p.mode
	if m&Printed != 0 && p.sinks.add(r.sink) {
		fresh |= Printed
	}
	if fresh == 0 {
		return
	}
	p.mode |= fresh
	if digest {
		fresh = fresh&^Dumped | Printed
	}
	if p.also != nil {
		r.use(p.also, fresh)
	}
	if fresh&Printed != 0 {
		r.useBelow(p, p)
	}
}

// useBelow records that the other values at places below q are printed to the
// sink of p, which is q or its ancestor.
func (r *interpreter) useBelow(p, q *place) {
	for _, kid := range q.beside {
		r.steps++
		if kid.also != nil {
			r.useAt(kid.also, r.sink.below(p, kid))
		}
		r.useBelow(p, kid)
	}
}

// alias records that templates can find the value at the place, too.
func (r *interpreter) alias(p *place, v *value) {
	joined := r.union(p.also, v)
	if joined == p.also {
		return
	}
	for q := p; q.parent != nil && !q.isBeside; q = q.parent {
		q.isBeside = true
		q.parent.beside = append(q.parent.beside, q)
	}
	p.also = joined
	r.generation++
	for q := p; q != nil; q = q.parent {
		switch {
		case q.mode&Printed != 0:
			for _, s := range q.sinks.all() {
				r.useAt(v, s.below(q, p))
			}
			r.use(v, q.mode&^Printed)
		case q.mode&Dumped != 0 && !q.isChart():
			r.useAt(v, neutral)
		case q == p:
			r.use(v, q.mode)
		}
	}
}

// fieldOfPlace returns the value at the key below the place. A query visits each
// place once.
func (r *interpreter) fieldOfPlace(p *place, key string) *value {
	if p.seen == r.query {
		return nil
	}
	p.seen = r.query
	if p.isChart() && key == "AsMap" {
		return p.self
	}
	kid := r.child(p, key)
	out := r.union(kid.self, kid.also)
	if p.any != nil {
		out = r.union(out, p.any.also)
	}
	if p.also == nil {
		return out
	}
	defer func(before bool) { r.following = before }(r.following)
	r.following = true
	return r.union(out, r.fieldWithin(p.also, key))
}

// elementsOfPlace returns the values at all keys below the place.
func (r *interpreter) elementsOfPlace(p *place) *value {
	if p.seen == r.query {
		return nil
	}
	p.seen = r.query
	if r.userRound && p.user != nil && !r.naming {
		// The template computes an unknown key from a key of the user.
		return r.union(p.user.self, p.user.also)
	}
	kid := r.anyChild(p)
	p.free = p.free || !r.naming
	var out collector
	out.add(kid.self)
	out.add(kid.also)
	r.steps += len(p.beside)
	for _, q := range p.beside {
		out.add(q.also)
	}
	out.add(r.elementsWithin(p.also))
	return out.union(r)
}

// withoutMembers returns a value without the members of a map. A template that sets a member
// at a computed key sets it at its own key, as in set $m $k (get $m $k | default $d): the
// other members do not get its shape.
func withoutMembers(v, m *value) *value {
	if v == nil || m == nil || len(m.places) == 0 {
		return v
	}
	isMember := func(p *place) bool { return slices.Contains(m.places, p.parent) }
	if !slices.ContainsFunc(v.places, isMember) {
		return v
	}
	return &value{
		places: slices.DeleteFunc(slices.Clone(v.places), isMember),
		roots:  v.roots, objects: v.objects, texts: v.texts, unknown: v.unknown,
	}
}

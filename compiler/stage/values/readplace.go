package values

import "strings"

const notes = "/NOTES.txt:"

// A place is a path in the values of the chart. There is one place for each
// path, whether or not anything there is read.
type place struct {
	id     int
	parent *place // nil for the values themselves
	key    string
	depth  int
	keys   map[string]*place
	any    *place     // any key or element
	free   bool       // of that: which ones it is follows from more than other values
	self   *value     // the value that is this place and nothing else
	root   *chartRoot // the chart whose values stand here

	mode   Mode
	lands  landings
	form   form   // conditions of its sinks
	choice choice // the texts that it can be
	asked  Kind   // what kinds a template asks whether it is
	keyed  bool   // a template goes through its keys
	text   bool   // it is passed to tpl as it is, so it can be text
	marked bool   // read, if only by being an element of what is iterated
	where  string // the first that read it

	// also is what templates see here beside the user's value: what they set
	// or merged, the parent's global, what is imported from a dependency.
	also *value

	beside []*place // below this one, those that have something beside them, or below them
	listed bool     // it is one of these

	derived bool // found by way of also, and maybe in no values
	seen    int  // the last query that came by
	stamp   int  // the last union that it was put into

	texts map[string]string // with templates in them, in the charts' own values
}

const (
	maxDepth  = 24      // keys in a path
	maxAny    = 5       // keys in a row of which nothing is known
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

// child returns the place of the key. A path that is too long ends in a place
// that is printed and its own child.
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

// anyKey returns the place of any key or element, which ones being free.
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

// below returns the place at the end of the keys.
func (r *interpreter) below(p *place, keys ...string) *place {
	for _, key := range keys {
		p = r.child(p, key)
	}
	return p
}

// repeats reports whether the path has the key twice. A map that is merged into
// one above it would have paths without end.
func (p *place) repeats(key string) bool {
	times := 0
	for q := p; q.parent != nil; q = q.parent {
		if q.key == key {
			times++
		}
	}
	return times > 1
}

// isChart reports whether the place has all values of a chart.
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

// mark notes that the place is read, and with it all that can stand there
// beside the user's value.
func (r *interpreter) mark(p *place, m Mode) {
	if !p.marked || strings.Contains(p.where, notes) {
		// Notes say least about what a value is for.
		if at := r.where(); !p.marked || !strings.Contains(at, notes) {
			p.where = at
		}
		p.marked = true
	}
	if m&Printed != 0 {
		p.form |= r.landing.formAt(r.exact)
		if r.landing != nil {
			p.choice.sinks = addWords(p.choice.sinks, r.landing.enum)
		}
	}
	fresh := m &^ p.mode
	if m&Printed != 0 && p.lands.add(r.landing) {
		fresh |= Printed
	}
	if fresh == 0 {
		return
	}
	p.mode |= fresh
	if p.also != nil {
		r.use(p.also, fresh)
	}
	if fresh&Printed != 0 {
		r.useBelow(p, p)
	}
}

// useBelow notes that what stands beside the values below q is printed where p,
// which is q or above it, is printed.
func (r *interpreter) useBelow(p, q *place) {
	for _, kid := range q.beside {
		r.steps++
		if kid.also != nil {
			r.useAt(kid.also, r.landing.below(p, kid))
		}
		r.useBelow(p, kid)
	}
}

// alias notes that the place can hold the value too.
func (r *interpreter) alias(p *place, v *value) {
	joined := r.union(p.also, v)
	if joined == p.also {
		return
	}
	for q := p; q.parent != nil && !q.listed; q = q.parent {
		q.listed = true
		q.parent.beside = append(q.parent.beside, q)
	}
	p.also = joined
	r.generation++
	for q := p; q != nil; q = q.parent {
		switch {
		case q.mode&Printed != 0:
			for _, s := range q.lands.all() {
				r.useAt(v, s.below(q, p))
			}
			r.use(v, q.mode&^Printed)
		case q == p:
			r.use(v, q.mode)
		}
	}
}

// fieldOfPlace returns what stands below the place by the key. A query comes
// by each place once.
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

// elementsOfPlace returns what stands below the place by any key.
func (r *interpreter) elementsOfPlace(p *place) *value {
	if p.seen == r.query {
		return nil
	}
	p.seen = r.query
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

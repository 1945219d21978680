package values

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// loop interprets the body of a range: once per element when the elements are
// known, else until its variables do not change.
func (r *interpreter) loop(n *parse.RangeNode, dot *value, s *scope) *value {
	s = s.inner()
	v := r.commands(n.Pipe, dot, s)
	r.use(v, Tested|Ranged)
	if v != nil && len(v.texts) > 0 && !v.unknown {
		v = &value{places: v.places, roots: v.roots, objects: v.objects} // a text has no elements
	}
	if rounds, ok := r.unrolled(n, v); ok {
		defer func(before bool) { r.unrolling = before }(r.unrolling)
		r.unrolling = true
		return r.each(n, rounds, s, r.list(n.ElseList, dot, s.optional()))
	}
	for _, p := range v.placesOrNil() {
		r.mark(r.anyKey(p), 0)
		p.keyed = p.keyed || len(n.Pipe.Decl) == 2
	}
	out := r.list(n.ElseList, dot, s.optional())
	if rounds, ok := r.rounds(v); ok {
		return r.each(n, rounds, s, out)
	}
	elem, keys := r.elements(v), r.keysOf(v)
	r.setRange(n.Pipe, s, keys, elem)
	return r.repeat(n, elem, s, out)
}

// each interprets the body of a range once per round.
func (r *interpreter) each(n *parse.RangeNode, rounds []round, s *scope, out *value) *value {
	for _, x := range rounds {
		if x.user {
			defer func(before bool) { r.userRound = before }(r.userRound)
			r.userRound = true
		}
		r.setRange(n.Pipe, s, x.key, x.elem)
		body := s.inner()
		body.conditional = x.optional
		out = r.round(n, x.elem, body, out)
	}
	return out
}

// setRange sets the variables of a range.
func (r *interpreter) setRange(p *parse.PipeNode, s *scope, key, elem *value) {
	vars := map[int][]*value{1: {elem}, 2: {key, elem}}[len(p.Decl)]
	for i, x := range vars {
		if p.IsAssign {
			r.assign(s.optional(), p.Decl[i].Ident[0], x)
		} else {
			s.vars[p.Decl[i].Ident[0]] = x
		}
	}
}

// A round is the key and the element of one iteration of a range.
type round struct {
	key, elem *value
	user      bool // for keys of the user; the last one
	optional  bool // some of the lists are shorter
}

// rounds returns the iterations of a range in order. ok is false unless the
// value can only be lists with known elements, or one map with known keys.
func (r *interpreter) rounds(v *value) (rounds []round, ok bool) {
	if v == nil || len(v.objects) == 0 || len(v.places)+len(v.roots) > 0 || v.unknown {
		return nil, false
	}
	for _, o := range v.objects {
		if len(o.keys) > maxWords || len(o.keys) > maxLoops && !o.hasWords() || !o.isList() && (len(v.objects) > 1 || !o.isMap()) {
			return nil, false
		}
	}
	for i, o := range v.objects {
		o.read = true
		if !o.isList() {
			for _, key := range slices.Sorted(maps.Keys(o.keys)) {
				rounds = append(rounds, round{key: textOf(key), elem: o.keys[key]})
			}
			return rounds, true
		}
		for n := range len(o.keys) {
			key := number + strconv.Itoa(n)
			if n == len(rounds) {
				rounds = append(rounds, round{key: textOf(key), optional: i > 0})
			}
			rounds[n].elem = r.union(rounds[n].elem, o.keys[key])
		}
		for n := len(o.keys); n < len(rounds); n++ {
			rounds[n].optional = true
		}
	}
	return rounds, true
}

// isWordOrKey reports whether the value is a known text or a key of the user.
func (v *value) isWordOrKey() bool {
	_, ok := v.literal()
	return ok || v != nil && len(v.texts) == 1 && isUserKey(v.texts[0]) && len(v.places)+len(v.roots)+len(v.objects) == 0 && !v.unknown
}

// hasWords reports whether all values in the object are known texts.
func (o *object) hasWords() bool {
	for _, v := range o.keys {
		if !v.isWordOrKey() {
			return false
		}
	}
	return true
}

// isMap reports whether the object is a map with known keys only.
func (o *object) isMap() bool {
	if !o.isKnown() || len(o.keys) == 0 {
		return false
	}
	for key := range o.keys {
		if strings.HasPrefix(key, number) {
			return false
		}
	}
	return true
}

// isList reports whether the object is a list with known elements only.
func (o *object) isList() bool {
	if !o.isKnown() {
		return false
	}
	for i := range len(o.keys) {
		if _, ok := o.keys[number+strconv.Itoa(i)]; !ok {
			return false
		}
	}
	return true
}

// round interprets the body of a range once and returns the output.
func (r *interpreter) round(n *parse.RangeNode, elem *value, s *scope, out *value) *value {
	body := r.list(n.List, elem, s)
	if isBlank(body) {
		return out
	}
	r.use(body, Printed)
	return &value{texts: []string{wild}}
}

// repeat interprets the body of a range until nothing changes, and returns the
// output. After some rounds, each expression makes only one object.
func (r *interpreter) repeat(n *parse.RangeNode, elem *value, s *scope, out *value) *value {
	defer func(before bool) { r.coarse = before }(r.coarse)
	for i := 0; ; i++ {
		before, generation := r.state(s), r.generation
		out = r.round(n, elem, s.optional(), out)
		if r.generation == generation && r.state(s) == before {
			return out
		}
		r.coarse = r.coarse || i == maxLoops
		if i == maxRounds {
			r.giveUp("a loop changes its variables again and again")
			return out
		}
	}
}

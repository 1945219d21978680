package values

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// This file unrolls loops over all values of a chart: range $name, $config :=
// .Values. The body of such a loop finds values by the name, so that it is
// interpreted once for each key that has a default, and once for a key that only
// the user's values have.

// maxUnrolled is the maximum number of keys for which a loop is unrolled.
const maxUnrolled = 128

// userMark begins the text that stands for any key of one place that has no
// default.
const userMark = "\x02"

// userKey returns the text that stands for any key of the place that has no
// default. It is an unknown text except as a key of this place.
func (p *place) userKey() string { return userMark + strconv.Itoa(p.id) + wild }

// isUserKey reports whether the text is the userKey of a place.
func isUserKey(text string) bool {
	return strings.HasPrefix(text, userMark) && strings.Index(text, wild) == len(text)-len(wild)
}

// withoutMarks returns a text in which unknown keys are unknown texts.
func withoutMarks(text string) string {
	if !strings.Contains(text, userMark) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, userMark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = strings.TrimLeft(after, "0123456789")
	}
}

// defaults returns the chart's own values at the place, those of the outermost
// chart first. They are nil where a chart has none.
func (p *place) defaults() []any {
	if p.known {
		return p.defs
	}
	p.known = true
	if p.parent != nil {
		for _, d := range p.parent.defaults() {
			if m, ok := d.(map[string]any); ok && m[p.key] != nil {
				p.defs = append(p.defs, m[p.key])
			}
		}
	}
	if p.root != nil {
		own := map[string]any{"global": map[string]any{}}
		maps.Copy(own, p.root.chart.Values)
		for _, sub := range p.root.subs {
			if own[sub.name] == nil {
				own[sub.name] = map[string]any{}
			}
		}
		p.defs = append(p.defs, own)
	}
	return p.defs
}

// defaultKeys returns the sorted keys that have a default; nil when the default
// is not a map.
func (p *place) defaultKeys() []string {
	names := map[string]bool{}
	for _, d := range p.defaults() {
		m, ok := d.(map[string]any)
		if !ok {
			return nil
		}
		for key, v := range m {
			if v != nil {
				names[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// unrolled returns the rounds of a loop over the values at a place; ok is false
// when it is not unrolled. Only loops over all values of a chart and loops inside
// of these are.
func (r *interpreter) unrolled(n *parse.RangeNode, v *value) (rounds []round, ok bool) {
	if len(n.Pipe.Decl) != 2 || r.coarse || v == nil || len(v.places) != 1 || len(v.roots)+len(v.objects)+len(v.texts) > 0 || v.unknown {
		return nil, false
	}
	p := v.places[0]
	if p.derived || p.also != nil && !p.isChart() || !p.isChart() && !r.unrolling {
		return nil, false
	}
	keys := p.defaultKeys()
	if len(keys) == 0 || len(keys) > maxUnrolled || p.isChart() && len(p.root.chart.Values) == 0 {
		return nil, false
	}
	if p.listed == nil {
		p.listed = map[string]bool{}
	}
	for _, key := range keys {
		p.listed[key] = true
		rounds = append(rounds, round{key: textOf(key), elem: r.field(v, key), optional: true})
	}
	p.free, p.keyed = true, true
	p.user = r.child(p, p.userKey())
	r.mark(p.user, 0)
	return append(rounds, round{key: textOf(p.userKey()), elem: p.user.self, optional: true, user: true}), true
}

// loopKey identifies how the interpreter evaluates conditions and unknown keys.
func (r *interpreter) loopKey() string {
	switch {
	case r.userRound:
		return number + "user"
	case r.unrolling:
		return number + "loop"
	}
	return ""
}

// decided evaluates a condition in an unrolled loop by the chart's defaults.
// known is false when these do not decide it.
func (r *interpreter) decided(n parse.Node, dot *value, s *scope) (truth, known bool) {
	switch n := n.(type) {
	case *parse.FieldNode, *parse.VariableNode:
		yes := r.operand(n, dot, s).isFull()
		return yes, yes
	case *parse.PipeNode:
		c := onlyCommand(n)
		if c == nil {
			return false, false
		}
		switch f := functionOf(c.Args[0]); {
		case len(c.Args) == 1:
			return r.decided(c.Args[0], dot, s)
		case f == "and":
			return r.decidedAll(c.Args[1:], dot, s)
		case f == "not":
			truth, known = r.decided(c.Args[1], dot, s)
			return !truth, known
		case f == "hasKey" && len(c.Args) == 3:
			return r.decidedKey(r.operand(c.Args[1], dot, s), r.operand(c.Args[2], dot, s))
		case f == "kindIs" && len(c.Args) == 3:
			return r.decidedKind(r.operand(c.Args[1], dot, s), r.operand(c.Args[2], dot, s))
		}
	}
	return false, false
}

// decidedAll evaluates an and. An operand that is false ends it.
func (r *interpreter) decidedAll(operands []parse.Node, dot *value, s *scope) (truth, known bool) {
	all := true
	for _, a := range operands {
		truth, known := r.decided(a, dot, s)
		if known && !truth {
			return false, true
		}
		all = all && known
	}
	return all, all
}

// decidedKey evaluates hasKey for a map with a default.
func (r *interpreter) decidedKey(m, key *value) (truth, known bool) {
	names, ok := key.literal()
	p := m.onePlace()
	if !ok || len(names) != 1 || p == nil || p.also != nil {
		return false, false
	}
	r.use(r.field(p.self, names[0]), Tested)
	if kid := p.keys[names[0]]; kid != nil && kid.also != nil {
		return false, false // a template sets it
	}
	truth = slices.Contains(p.defaultKeys(), names[0])
	return truth, truth || len(p.defaults()) > 0 && !(p.isChart() && p.user != nil)
}

// decidedKind evaluates kindIs "map" for a value with a default.
func (r *interpreter) decidedKind(kind, v *value) (truth, known bool) {
	names, _ := kind.literal()
	p := v.onePlace()
	if !slices.Equal(names, []string{"map"}) || p == nil || len(p.defaults()) == 0 {
		return false, false
	}
	r.use(v, Tested)
	_, isMap := p.defaults()[0].(map[string]any)
	return isMap, true
}

// isFull reports whether the value can only be texts, lists and maps that are
// made by templates and not empty.
func (v *value) isFull() bool {
	if v == nil || v.unknown || len(v.places)+len(v.roots) > 0 {
		return false
	}
	for _, t := range v.texts {
		if t == "" || t[0] == number[0] || t[0] == wild[0] {
			return false
		}
	}
	for _, o := range v.objects {
		if len(o.keys) == 0 || !o.isList() && !o.isMap() {
			return false
		}
	}
	return len(v.texts)+len(v.objects) > 0
}

// onePlace returns the only place of the user's values that the value can be,
// except for an empty map or list in its place; nil for none.
func (v *value) onePlace() *place {
	if v == nil || len(v.places) != 1 || len(v.roots)+len(v.texts) > 0 || v.unknown || v.places[0].derived {
		return nil
	}
	for _, o := range v.objects {
		if len(o.keys) > 0 || !o.isList() {
			return nil
		}
	}
	return v.places[0]
}

// userKeys returns the keys of the object that stand for keys of the user.
func (o *object) userKeys() []string {
	if !o.user {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.keys)), func(key string) bool { return !isUserKey(key) })
}

// userField returns the value at a key of the user.
func (r *interpreter) userField(v *value, key string) *value {
	if v == nil {
		return nil
	}
	rest := &value{roots: v.roots, texts: v.texts, unknown: v.unknown}
	var out *value
	for _, p := range v.places {
		if p.user != nil && p.user.key == key {
			out = r.union(out, r.field(p.self, key))
		} else {
			rest.places = append(rest.places, p)
		}
	}
	for _, o := range v.objects {
		if o.keys[key] != nil && o.elem == nil && o.parts == nil {
			out = r.union(out, o.keys[key])
		} else {
			rest.objects = append(rest.objects, o)
		}
	}
	return r.union(out, r.elements(rest))
}

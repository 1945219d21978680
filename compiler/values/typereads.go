package values

import "maps"

// nobody is why a map is open of which nothing is known.
const nobody = "nobody names its keys"

// A reach is what the reads above a value say about it.
type reach struct {
	printed string // the template that passes it on as a part of a whole; empty when none does
	ranged  bool   // it is an element of what a template ranges over
	key     string // its name
	parent  string // the name of what it is in
	dumped  bool   // a template passes on all values of its chart
}

// complete adds to t what the templates read there. reads are the nodes for
// its path: one for the exact keys, more through computed ones.
func (b *builder) complete(t *Type, reads []*Read, in reach) {
	b.completeAt(t, reads, in, 0)
}

func (b *builder) completeAt(t *Type, reads []*Read, in reach, depth int) {
	r := gather(reads)
	switch {
	case r.mode&Dumped != 0:
		// All values end in some ConfigMap, say. That reads them, and makes no
		// sense of keys that nobody knows.
		in.dumped = true
	case r.mode&Printed != 0 && in.printed == "":
		in.printed = r.printed
	}
	read := len(reads) > 0 || in.printed != "" || in.ranged || in.dumped
	if read {
		t.know(Templates, r.where)
	}
	t.Unread = !read && t.Known&(Schema|Metadata) == 0
	if t.imported {
		in.printed, t.Unread = "its parent chart, which imports it", false
	}
	loose := r.mode&Ranged != 0 || r.any
	if in.printed != "" && r.mode&Ranged == 0 && t.adopt(in.key) {
		loose = false
	}
	b.kinds(t, r, in, loose)
	b.openness(t, r, in, loose)
	if t.Kinds&Map != 0 && !t.missing {
		for _, k := range t.sortedNew(r.keys) {
			if b.full() || depth >= maxLevels {
				t.open("the chart has too many values to be typed")
				break
			}
			t.field(k)
		}
	}
	below := reach{printed: in.printed, ranged: r.mode&Ranged != 0, dumped: in.dumped, parent: in.key}
	for _, k := range t.Keys {
		below.key = k
		b.completeAt(t.Fields[k], children(reads, k), below, depth+1)
	}
	b.elem(t, reads, r, below, depth)
}

// elem completes or drops the type of a list's elements, or of an open map's
// further keys.
func (b *builder) elem(t *Type, reads []*Read, r gathered, below reach, depth int) {
	if t.Elem == nil {
		return
	}
	var inner []*Read
	for _, n := range reads {
		if n.Any != nil {
			inner = append(inner, n.Any)
		}
	}
	e := gather(inner)
	if t.Elem.Known&Schema == 0 && (below.printed != "" || e.mode&(Printed|Ranged) != 0 || e.any || len(e.keys) == 0) {
		// Nothing says that the elements of the default are all there can be.
		t.Elem = nil
		return
	}
	b.completeAt(t.Elem, inner, below, depth+1)
}

// gathered is what several reads of one value say together.
type gathered struct {
	mode    Mode
	any     bool            // a computed key
	gaveUp  bool            // not all could be found out
	keys    map[string]bool // exact keys
	where   string
	printed string // the template that prints the whole
}

func gather(reads []*Read) gathered {
	g := gathered{keys: map[string]bool{}}
	for _, r := range reads {
		g.mode |= r.Mode
		g.any = g.any || r.Any != nil
		g.gaveUp = g.gaveUp || r.GaveUp != ""
		for k := range maps.Keys(r.Keys) {
			g.keys[k] = true
		}
		if g.where == "" || r.Where != "" && r.Where < g.where {
			g.where = r.Where
		}
		if r.Mode&Printed != 0 && (g.printed == "" || r.Where < g.printed) {
			g.printed = r.Where
		}
	}
	if g.mode&Printed != 0 && g.printed == "" {
		g.printed = "a template"
	}
	return g
}

func children(reads []*Read, key string) []*Read {
	var out []*Read
	for _, r := range reads {
		if c := r.Keys[key]; c != nil {
			out = append(out, c)
		}
		if r.Any != nil {
			out = append(out, r.Any)
		}
	}
	return out
}

// openness decides whether a map takes keys that nobody names.
func (b *builder) openness(t *Type, r gathered, in reach, loose bool) {
	switch {
	case t.Kinds&Map == 0:
	case t.closed:
		t.Open, t.Why = false, ""
	case t.missing:
		t.open("its dependency is not in the chart")
	case t.kubernetes && !loose:
		t.Open, t.Why = false, ""
	case in.printed != "":
		t.open("it is passed on as a whole by " + in.printed)
	case loose:
		t.open("its keys are computed in " + r.where)
	case t.empty && len(r.keys) == 0 && len(t.Keys) == 0 && !t.Unread:
		t.open("its default is an empty map")
	case len(r.keys) == 0 && len(t.Keys) == 0 && (t.seen&Map == 0 || t.Known&Defaults == 0):
		t.open(nobody)
	}
}

// kinds decides what a value may be. A schema decides alone; the defaults are
// always possible.
func (b *builder) kinds(t *Type, r gathered, in reach, loose bool) {
	if t.typed {
		t.Kinds |= t.seen | Null
		return
	}
	whole := in.printed != ""
	k := t.seen | Null
	switch {
	case t.seen&^Null == 0:
		// Null, or known only from templates.
		k = Any
		if t.seen == 0 && len(r.keys) > 0 && !whole && !loose {
			k = Map | Null
		}
	case t.missing:
		k = Any
	default:
		if t.seen&String != 0 {
			if t.blank {
				k |= String | Number | Bool
			}
			if loose || len(r.keys) > 0 || t.blank && whole {
				k = Any
			}
		}
		if t.seen&Number != 0 && (whole || r.mode&Tested == 0) {
			k |= String
		}
		if t.seen&(Number|Bool) != 0 && (loose || len(r.keys) > 0) {
			k = Any
		}
		if t.seen&List != 0 && r.mode&Ranged != 0 {
			k |= Map
		}
		if t.seen&Map != 0 && len(t.Keys) == 0 && (whole || loose) {
			k |= List
		}
		if t.asText || t.seen&Bool != 0 && (whole || in.ranged) {
			k |= String
		}
		if t.seen&String != 0 && numberOrText(in.key, in.parent) {
			k |= Number
		}
		if t.asScalar && t.empty && len(t.Keys) == 0 {
			k = Any
		}
		if whole && (t.seen&Map != 0 && len(t.Keys) == 0 || t.seen&List != 0) {
			// As text, which the template passes to tpl.
			k |= String
		}
	}
	t.Kinds = k
}

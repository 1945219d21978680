package values

import "maps"

// minNamed is how many keys templates read of a map below the root that is more
// than a table of names.
const minNamed = 3

// nobody is why a map is open of which nothing is known.
const nobody = "nobody names its keys"

// A reach is what the reads above a value say about it.
type reach struct {
	printed string // the template that passes it on as a whole, or as a part of one; empty when none does
	part    bool   // it is a part of what is passed on
	whole   bool   // it is passed on as a part of a whole of which the keys are not known
	ranged  bool   // it is an element of what a template ranges over
	key     string // its name
	parent  string // the name of what it is in
	shape   *shape // of the part of a Kubernetes object that it ends in; nil when that is not known
	dumped  bool   // a template passes on all values of its chart
}

// complete adds to t what the templates read there. reads are the nodes for
// its path: one for the exact keys, more through computed ones.
func (b *builder) complete(t *Type, reads []*Read, in reach) {
	b.completeAt(t, reads, in, 0)
}

func (b *builder) completeAt(t *Type, reads []*Read, in reach, depth int) {
	r := gather(reads)
	in.part = in.printed != ""
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
	// A key that another value names is one of those that the chart has, mostly.
	t.named = r.any && !r.free && (t.root || t.seen == Map && len(r.keys) >= minNamed)
	loose := r.mode&Ranged != 0 || r.any && !t.named
	if s := b.shapeOf(t, r, in); s != nil && (r.mode&Ranged == 0 || !r.within) {
		b.adopt(t, s)
		loose = false
	}
	b.forms(t, r, in)
	t.enums(r, in)
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
	below := reach{printed: in.printed, whole: in.printed != "" && t.shape == nil, ranged: r.mode&Ranged != 0, dumped: in.dumped, parent: in.key}
	for _, k := range t.Keys {
		below.key, below.shape = k, t.shape.key(k)
		b.completeAt(t.Fields[k], children(reads, k), below, depth+1)
	}
	below.shape = t.shape.key(anItem)
	b.elem(t, reads, r, below, depth)
}

// shapeOf returns the keys that a value has by where it ends; nil when that is
// not known. It is known when a template prints it to a place in a Kubernetes
// object and nowhere else, or when what it is a part of is; and by its name.
func (b *builder) shapeOf(t *Type, r gathered, in reach) *shape {
	if in.printed == "" {
		return nil
	}
	s := in.shape
	if r.mode&Printed != 0 {
		switch lands := r.lands; {
		case lands.elsewhere, in.whole && s == nil:
			s = nil
		default:
			for _, at := range lands.shapes {
				switch {
				case at == neutral:
				case s == nil:
					s = at
				default:
					s = b.shapes.join(s, at)
				}
			}
		}
	}
	if t.fits(s, r.keys) {
		return s
	}
	return b.conventional(t, in.key, in.parent)
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
	free    bool            // which does not only come from other values
	within  bool            // something is read by it
	gaveUp  bool            // not all could be found out
	keys    map[string]bool // exact keys
	lands   landings
	form    form   // conditions of its sinks
	choice  choice // the texts that it can be
	asked   Kind   // what kinds a template asks whether it is
	keyed   bool   // a template goes through its keys
	members bool   // fields of its elements are read, and no other use is made of them
	text    bool   // it can be text
	where   string
	printed string // the template that prints the whole

	fields bool // keys are read, and not only by way of a computed key of all values
	loose  bool // it is iterated or read by a computed key, likewise
	ranged bool // it is iterated, likewise
	may    Kind // what kinds a template asks whether it is, likewise
}

func gather(reads []*Read) gathered {
	g := gathered{keys: map[string]bool{}}
	for _, r := range reads {
		g.mode |= r.Mode
		if e := r.exact(); !e.wide {
			g.fields, g.may = g.fields || len(e.Keys) > 0, g.may|e.asked
			g.loose = g.loose || e.Any != nil
			g.ranged = g.ranged || e.Mode&Ranged != 0
		}
		g.any = g.any || r.Any != nil
		g.free = g.free || r.free
		g.form, g.asked, g.keyed = g.form|r.form, g.asked|r.asked, g.keyed || r.keyed
		g.members = g.members || r.Any.hasFields()
		g.within = g.within || r.Any != nil && (r.Any.Mode != 0 || r.Any.Any != nil || len(r.Any.Keys) > 0)
		g.gaveUp = g.gaveUp || r.GaveUp != ""
		for k := range maps.Keys(r.Keys) {
			g.keys[k] = true
		}
		if g.where == "" || r.Where != "" && r.Where < g.where {
			g.where = r.Where
		}
		g.lands, g.text, g.choice = g.lands.and(r.lands), g.text || r.text, g.choice.and(r.choice)
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
	case t.shape.closed() && !loose:
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

// asTemplateText returns the kind of a map or a list as text, which the template
// passes to tpl.
func (t *Type) asTemplateText(r gathered, in reach) Kind {
	if !in.part && !in.ranged && !t.asText && r.asked&(Bool|Number|String) == 0 {
		t.form |= yamlForm
	}
	return String
}

// besideBool returns the kinds that a value takes when its default is a bool, or
// when templates take text for it.
func (t *Type) besideBool(r gathered, whole, ranged bool) Kind {
	var k Kind
	if t.asText || r.text || t.seen&Bool != 0 && (whole || ranged) {
		k = String
	}
	if t.seen&^Null == Bool && t.Default == false && whole && t.form&(toggleForm|boolForm) == 0 {
		k |= Number // false means that nothing is set
	}
	return k
}

// kinds decides what a value may be. A schema decides alone; the defaults are
// always possible.
func (b *builder) kinds(t *Type, r gathered, in reach, loose bool) {
	if t.typed {
		t.Kinds |= t.seen | Null
		return
	}
	whole := in.printed != ""
	// Which of the values a computed key names is not known: what is read there
	// says nothing about the kind of this one.
	loose = loose && (r.loose || r.ranged)
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
			if loose || r.fields || t.blank && whole {
				k = Any
			}
		}
		if t.seen&Number != 0 && (whole || r.mode&Tested == 0) {
			k |= String
		}
		if t.seen&(Number|Bool) != 0 && (loose || r.fields) {
			k = Any
		}
		if t.seen&List != 0 && r.ranged {
			k |= Map
		}
		if t.seen&Map != 0 && len(t.Keys) == 0 && (whole || loose) {
			k |= List
		}
		if r.may&Any != Any {
			k |= r.may & (Map | List)
		}
		k |= t.besideBool(r, whole, in.ranged)
		if t.seen&String != 0 && numberOrText(in.key, in.parent) {
			k |= Number
		}
		if t.asScalar && t.empty && len(t.Keys) == 0 {
			k = Any
		}
		if whole && (t.seen&Map != 0 && len(t.Keys) == 0 || t.seen&List != 0) {
			k |= t.asTemplateText(r, in)
		}
	}
	t.Kinds = k
}

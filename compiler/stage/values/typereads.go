package values

// minNamed is the minimum number of keys of a map below the root, as read by
// templates, for it to be more than a table of names.
const minNamed = 3

// unknownKeys is the reason for an open map without any known keys.
const unknownKeys = "nothing names its keys"

// A reach holds the facts about a value that follow from reads of its ancestors.
type reach struct {
	printed string // the template that prints the value or an ancestor as a whole; empty for none
	part    bool   // an ancestor is printed as a whole
	whole   bool   // a printed ancestor has unknown keys
	ranged  bool   // an element of a value that a template iterates over
	key     string // the key of the value
	parent  string // the key of its parent
	shape   *shape // the shape of its sink in a Kubernetes object; nil when unknown
	dumped  bool   // a template prints all values of the chart
	mixed   bool   // the reads can be of a list's elements or of a map's values
}

// complete adds the templates' reads to t. reads are the nodes for the path of
// t: one for the exact keys, others for computed ones.
func (b *builder) complete(t *Type, reads []*Read, in reach) {
	b.completeAt(t, reads, in, 0)
}

func (b *builder) completeAt(t *Type, reads []*Read, in reach, depth int) {
	r := gather(reads)
	if in.mixed {
		r.form, r.tests.always, r.choice.sinks, r.sinks.shapes = 0, 0, nil, nil
	}
	in.part = in.printed != ""
	// A template prints all values, to a ConfigMap for example, or a digest of
	// these. That counts as a read, but does not make unknown keys valid.
	in.dumped = in.dumped || r.mode&Dumped != 0
	if r.mode&Printed != 0 && in.printed == "" && !(t.root && in.dumped) {
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
	// A key that another value names is mostly a key that the chart has.
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
	below := reach{printed: in.printed, whole: in.printed != "" && t.shape == nil, ranged: r.mode&Ranged != 0, dumped: in.dumped, parent: in.key, mixed: in.mixed}
	for _, k := range t.Keys {
		below.key, below.shape = k, t.shape.key(k)
		if t.form&textsForm != 0 {
			below.shape = textSink
		}
		b.completeAt(t.Fields[k], children(reads, k), below, depth+1)
	}
	below.key, below.shape = "", t.shape.key(anItem)
	below.mixed = in.mixed || r.may&(List|Map) != 0 && t.Kinds&(List|Map) == List|Map
	b.elem(t, reads, below, depth)
}

// textSink is the sink of a text.
var textSink = &shape{form: stringForm}

// shapeOf returns the shape of the value's sinks; nil when it is unknown. It is
// known when templates print the value, or the value that contains it, only to
// places in Kubernetes objects. Else the name of the value can imply the shape.
func (b *builder) shapeOf(t *Type, r readSummary, in reach) *shape {
	if in.printed == "" {
		return nil
	}
	s := in.shape
	if r.mode&Printed != 0 {
		switch sinks := r.sinks; {
		case sinks.elsewhere, in.whole && s == nil:
			s = nil
		default:
			for _, at := range sinks.shapes {
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

// elem completes the type of a list's elements, or of an open map's unknown
// keys. Without a default, the type has the fields that templates read of the
// elements. elem drops a type that says nothing.
func (b *builder) elem(t *Type, reads []*Read, below reach, depth int) {
	var inner []*Read
	for _, n := range reads {
		if n.Any != nil {
			inner = append(inner, n.Any)
		}
	}
	e := gather(inner)
	defer t.setInner(t.Elem)
	switch {
	case t.form&textsForm != 0 && t.Open && t.Elem == nil:
		t.Elem = &Type{Kinds: Any, form: stringForm}
		return
	case t.Elem == nil && t.Default != nil && !isEmptyList(t.Default):
		return
	case t.Elem == nil || t.Elem.Known&Schema == 0 && (below.printed != "" || e.mode&(Printed|Ranged) != 0 || e.any || len(e.keys) == 0):
		// Elements of another type than the default's may be valid.
		t.Elem = nil
		if len(inner) == 0 || t.missing || t.root || t.named || below.printed != "" || depth >= maxLevels || b.full() {
			return
		}
		t.Elem = &Type{}
	}
	if b.completeAt(t.Elem, inner, below, depth+1); t.Elem.saysNothing() {
		t.Elem = nil
	}
}

// setInner records the keys of the default's elements that the type of the
// elements does not have, because others may be valid, too.
func (t *Type) setInner(byDefault *Type) {
	if byDefault == nil || byDefault == t.Elem || t.Kinds&List == 0 || t.shape != nil {
		return
	}
	for _, k := range byDefault.Keys {
		if t.Elem == nil || t.Elem.Open && t.Elem.Fields[k] == nil {
			t.inner = append(t.inner, k)
		}
	}
}

// saysNothing reports whether the type accepts every value.
func (t *Type) saysNothing() bool {
	return t.Known&(Defaults|Schema) == 0 && t.Kinds == Any && t.form == 0 && t.enum == nil && t.shape == nil && t.Elem == nil && len(t.Keys) == 0
}

func isEmptyList(v any) bool {
	l, ok := v.([]any)
	return ok && len(l) == 0
}

// keyedElem reports whether Elem is the type of a map's unknown keys: it is not
// when a schema has it for a list.
func (t *Type) keyedElem() bool {
	return t.Elem != nil && (t.Kinds&List == 0 || t.Elem.Known&Schema == 0)
}

// readSummary is the union of several reads of one value.
type readSummary struct {
	facts   // form has the needs of functions, too; bare and tests.always are other than through a computed key of all values
	mode    Mode
	any     bool            // read through a computed key
	within  bool            // values below the computed key are read
	keys    map[string]bool // exact keys
	elems   bool            // a template prints the YAML of its elements
	where   string
	printed string // the template that prints it as a whole

	fields bool // keys are read, other than through a computed key of all values
	loose  bool // iterated or read through a computed key, likewise
	ranged bool // iterated, likewise
	words  bool // compared with a word, likewise
	may    Kind // the kinds that a template tests for, likewise
}

func gather(reads []*Read) readSummary {
	g := readSummary{keys: map[string]bool{}}
	for _, r := range reads {
		g.mode |= r.Mode
		all, exact := r.facts, facts{}
		if e := r.exact(); !e.wide {
			exact = e.facts
			g.fields, g.may = g.fields || len(e.Keys) > 0, g.may|e.testedFor
			g.loose = g.loose || e.Any != nil
			g.ranged = g.ranged || e.Mode&Ranged != 0
			g.words = g.words || len(e.choice.words) > 0
		}
		all.form, all.bare, all.tests.always = all.form|exact.needs, exact.bare, exact.tests.always
		g.facts = g.facts.and(all)
		if r.Any != nil {
			g.any, g.elems = true, g.elems || r.Any.asYAML
			g.within = g.within || r.Any.Mode&(Printed|Ranged) != 0 || r.Any.Any != nil || len(r.Any.Keys) > 0
		}
		for k := range r.Keys {
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

// children returns the nodes of the values at the key. A node in Keys includes
// the reads of Any.
func children(reads []*Read, key string) []*Read {
	var out []*Read
	for _, r := range reads {
		if c := r.Keys[key]; c != nil {
			out = append(out, c)
		} else if r.Any != nil {
			out = append(out, r.Any)
		}
	}
	return out
}

// openness decides whether a map accepts unknown keys.
func (b *builder) openness(t *Type, r readSummary, in reach, loose bool) {
	t.picked = loose && len(r.keys) == 0 && !t.declared
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
		t.open(unknownKeys)
	}
}

// asTemplateText returns the kind for a map or a list that the user can also
// write as text, because the template passes it to tpl.
func (t *Type) asTemplateText(r readSummary) Kind {
	if r.text || r.may&(Bool|Number|String) == 0 {
		t.form |= yamlForm
	}
	return String
}

// besideBool returns the further kinds of a value whose default is a bool, or
// whose templates accept text.
func (t *Type) besideBool(r readSummary, whole, ranged bool) Kind {
	var k Kind
	if r.may&String != 0 || r.text || t.seen&Bool != 0 && (whole || ranged) {
		k = String
	}
	if t.seen&^Null == Bool && t.Default == false && whole && t.form&(toggleForm|boolForm) == 0 {
		k |= Number // false means that the value is not set
	}
	return k
}

// besideText returns the additional kind of a value whose default is a text: a
// number where numbers are usual, where Kubernetes accepts both, and where
// templates print it only between quotes.
func (t *Type) besideText(k Kind, r readSummary, in reach) Kind {
	switch {
	case t.seen&String == 0:
		return 0
	case numberOrText(in.key, in.parent):
		return Number
	case k&^Null == String && r.mode&Printed != 0 && !r.plain && !in.part && t.form&stringForm == 0 && t.enum == nil:
		t.quoted = r.between
		return Number
	}
	return 0
}

// kinds decides the possible kinds of a value. A schema overrides the reads; the
// kinds of the defaults are always possible.
func (b *builder) kinds(t *Type, r readSummary, in reach, loose bool) {
	if t.typed {
		t.Kinds |= t.seen | Null
		if t.Kinds&String != 0 && t.seen&^Null == List && r.text && r.asYAML {
			t.form |= yamlForm
		}
		return
	}
	whole := in.printed != ""
	// A computed key does not say which value it reads. So these reads do not
	// determine the kind of this one.
	loose = loose && (r.loose || r.ranged)
	k := t.seen | Null
	switch {
	case t.seen&^Null == 0:
		// The default is null or missing.
		k = r.testedKinds(in)
		if t.seen == 0 && len(r.keys) > 0 && !in.mixed && (!whole && !loose || r.fields && r.may == 0 && !r.text) {
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
		if t.seen&List != 0 && r.ranged && (r.keyed || r.elems) {
			k |= Map // a loop that uses keys or prints elements as a whole is often for maps, too
		}
		if t.seen&Map != 0 && len(t.Keys) == 0 && (whole && !in.part || loose) {
			k |= List
		}
		if r.may&Any != Any {
			k |= r.may & (Map | List)
		}
		if t.seen&^Null == String && r.may&^Null == String && r.asYAML {
			k |= Map | List // a template prints anything but a text as YAML
		}
		k |= t.besideBool(r, whole, in.ranged)
		k |= t.besideText(k, r, in)
		if r.bare && !r.asYAML && t.empty && len(t.Keys) == 0 {
			k = Any
		}
		if whole && (t.seen&Map != 0 && (len(t.Keys) == 0 || t.empty && r.text) || t.seen&List != 0) {
			k |= t.asTemplateText(r)
		}
	}
	t.Kinds = k
}

// testedKinds returns the kinds of a value without a default: those for which templates
// print it, or all when they use it without such a test.
func (r readSummary) testedKinds(in reach) Kind {
	if r.tests.only == 0 || r.tests.apart || in.part || in.ranged || in.dumped ||
		r.mode&(Ranged|Decides|Dumped) != 0 || r.any || len(r.keys) > 0 {
		return Any
	}
	return r.tests.only | Null
}

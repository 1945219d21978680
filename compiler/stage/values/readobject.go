package values

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// An object is a map or a list that a template creates, or a text that it makes
// of a value or reads from a file. An expression makes one object per content,
// unless the object is modified later.
type object struct {
	id    int
	site  parse.Node
	keys  map[string]*value
	elem  *value // elements of a list, values at unknown keys
	user  bool   // keys has a userKey
	parts *value // maps that were merged into this one

	encoded *value     // for a text: the value that it is the YAML or JSON of
	by      encoding   // how the text is made of the value
	at      string     // the template line that made the text
	file    string     // the content of a file, with templates in it
	files   *chartRoot // the files of a chart

	kindOf *value // for a text: the value whose kind it names

	summary bool // stands for several objects of one expression

	self  *value
	mode  Mode // how it is used as a whole
	sinks sinks
	read  bool // something in it was read
	seen  int  // the last query that visited it
	stamp int  // the last union that contained it
}

// An objectKey identifies an object.
type objectKey struct {
	site    parse.Node
	call    int
	content string
}

const maxObjects = 1 << 16

// object returns the object that the expression makes of the content, and
// whether it is new.
func (r *interpreter) object(site parse.Node, content string) (*object, bool) {
	key := objectKey{site: site, content: content}
	if content == "" || r.modified[site] {
		key.call = r.call.id
	}
	if o := r.objects[key]; o != nil && !r.call.recursive {
		return o, false
	}
	if r.call.recursive || r.coarse || len(r.objects) >= maxObjects {
		key.call, key.content = 0, ""
		if o := r.objects[key]; o != nil {
			return o, false
		}
	}
	o := r.newObject(key)
	o.summary = key.call == 0 && key.content == ""
	return o, true
}

// listOf returns a list made by the expression.
func (r *interpreter) listOf(site parse.Node, elem *value) *value {
	o, _ := r.object(site, "list "+elem.key())
	r.putElem(o, elem)
	return o.self
}

// encode returns the text that the expression makes of the value.
func (r *interpreter) encode(site parse.Node, v *value) *value {
	if v == nil {
		return anything()
	}
	o, made := r.object(site, "text "+v.key())
	if made {
		o.at, o.by = r.where(), asYAML
	}
	if joined := r.union(o.encoded, v); joined != o.encoded {
		o.encoded = joined
		r.touched(o)
		if o.mode != 0 {
			for _, s := range o.sinks.all() {
				r.useAt(v, s)
			}
		}
	}
	return o.self
}

// isText reports whether the object is a text.
func (o *object) isText() bool { return o.encoded != nil || o.file != "" || o.kindOf != nil }

// isKnown reports whether the object is a map or a list with known keys only.
func (o *object) isKnown() bool {
	return !o.isText() && o.files == nil && o.elem == nil && o.parts == nil && !o.summary
}

// touched starts a new generation when an object changes that was read before.
func (r *interpreter) touched(o *object) {
	if o.read {
		r.generation++
	}
}

// put adds the value at the key.
func (r *interpreter) put(o *object, key string, v *value) {
	if strings.Contains(key, wild) && !isUserKey(key) {
		r.putElem(o, v)
		return
	}
	if len(o.keys) >= maxMembers && o.keys[key] == nil {
		r.putElem(o, v)
		return
	}
	old, known := o.keys[key]
	joined := r.union(old, v)
	if known && joined == old {
		return
	}
	if o.keys == nil {
		o.keys = map[string]*value{}
	}
	o.user = o.user || isUserKey(key)
	o.keys[key] = joined
	r.touched(o)
	r.usedIn(o, v, key)
}

// putElem adds the value at an unknown key.
func (r *interpreter) putElem(o *object, v *value) {
	joined := r.union(o.elem, v)
	if joined == o.elem {
		return
	}
	o.elem = joined
	r.touched(o)
	r.usedIn(o, v, anItem)
}

// putAll merges the value into the object.
func (r *interpreter) putAll(o *object, v *value) {
	joined := r.union(o.parts, v)
	if joined == o.parts {
		return
	}
	o.parts = joined
	r.touched(o)
	r.use(v, o.mode&^Printed)
	if o.mode&Printed != 0 {
		for _, s := range o.sinks.all() {
			r.useAt(v, s)
		}
	}
}

// use records that the value is used in this way, as a whole.
func (r *interpreter) use(v *value, m Mode) {
	if v == nil || m == 0 {
		return
	}
	places := m
	if m&Printed != 0 && (len(v.roots) > 0 || slices.ContainsFunc(v.places, (*place).isChart)) {
		places = m&^Printed | Dumped
	}
	for _, p := range v.places {
		r.mark(p, places)
	}
	for _, o := range v.objects {
		r.useObject(o, m)
	}
	if m&Printed != 0 {
		for _, root := range v.roots {
			r.mark(root.values, Dumped)
			r.useObject(root.extra, Printed)
		}
	}
}

// useObject records how the object is used. Printing a map uses all its values;
// testing or iterating it uses none.
func (r *interpreter) useObject(o *object, m Mode) {
	if o.encoded != nil && m&Printed == 0 {
		// A test of the text counts as a test of the value, without a sink.
		m = m&^Decides | Printed
		defer func(before *shape) { r.sink = before }(r.sink)
		r.sink = neutral
	}
	if m&Printed != 0 {
		r.testsFor(Any, o.kindOf)
	}
	fresh := m &^ o.mode
	if m&Printed != 0 && o.sinks.add(r.sink) {
		fresh |= Printed
	}
	if fresh == 0 {
		return
	}
	o.mode |= fresh
	r.use(o.parts, fresh)
	if fresh&Printed == 0 {
		return
	}
	if o.at != "" {
		defer func(at string) { r.at = at }(r.at)
		r.at = o.at
	}
	defer func(before encoding) { r.by = before }(r.by)
	if r.by = o.by; o.encoded == nil {
		r.by = asYAML
	}
	r.use(o.encoded, Printed)
	for _, key := range slices.Sorted(maps.Keys(o.keys)) {
		r.useAt(o.keys[key], r.sink.key(key))
	}
	r.useAt(o.elem, r.sink.key(anItem))
}

// field returns the value at the key.
func (r *interpreter) field(v *value, key string) *value {
	r.query++
	return r.fieldWithin(v, key)
}

func (r *interpreter) fieldWithin(v *value, key string) *value {
	if v == nil || !r.step() {
		return nil
	}
	var out collector
	for _, p := range v.places {
		out.add(r.fieldOfPlace(p, key))
	}
	for _, root := range v.roots {
		out.add(r.fieldOfRoot(root, key))
	}
	for _, o := range v.objects {
		out.add(r.fieldOfObject(o, key))
	}
	if v.unknown {
		out.add(anything())
	}
	return out.union(r)
}

func (r *interpreter) fieldOfObject(o *object, key string) *value {
	if o.isText() || o.files != nil {
		return anything()
	}
	if o.seen == r.query {
		return nil
	}
	o.seen, o.read = r.query, true
	out := r.unionAll(o.keys[key], o.elem, r.fieldWithin(o.parts, key))
	for _, other := range o.userKeys() {
		if other != key {
			out = r.union(out, o.keys[other])
		}
	}
	return out
}

// elements returns the values at all keys, and the elements of lists.
func (r *interpreter) elements(v *value) *value {
	r.query++
	return r.elementsWithin(v)
}

// named returns the value at a key that is itself one of the values.
func (r *interpreter) named(v *value) *value {
	defer func(before bool) { r.naming = before }(r.naming)
	r.naming = true
	return r.elements(v)
}

func (r *interpreter) elementsWithin(v *value) *value {
	if v == nil || !r.step() {
		return nil
	}
	var out collector
	for _, p := range v.places {
		out.add(r.elementsOfPlace(p))
	}
	for _, o := range v.objects {
		out.add(r.elementsOfObject(o))
	}
	if len(v.roots) > 0 {
		r.use(&value{roots: v.roots}, Printed)
	}
	if v.unknown || len(v.texts)+len(v.roots) > 0 {
		out.add(anything())
	}
	return out.union(r)
}

func (r *interpreter) elementsOfObject(o *object) *value {
	if o.isText() || o.files != nil {
		return anything()
	}
	if o.seen == r.query {
		return nil
	}
	o.seen, o.read = r.query, true
	out := collector{}
	out.add(o.elem)
	out.add(r.elementsWithin(o.parts))
	for _, key := range slices.Sorted(maps.Keys(o.keys)) {
		out.add(o.keys[key])
	}
	return out.union(r)
}

// index returns the value at a computed key. Maps and lists are not keys.
func (r *interpreter) index(v, key *value) *value {
	r.use(key, Tested)
	r.asksOf([]*value{key}, nil)
	if key == nil {
		return nil
	}
	var out *value
	switch {
	case key.unknown || slices.ContainsFunc(key.objects, (*object).isText):
		out = r.elements(v)
	case len(key.places) > 0:
		out = r.named(v)
	}
	for _, t := range key.texts {
		switch {
		case isUserKey(t):
			out = r.union(out, r.userField(v, t))
		case strings.Contains(t, wild):
			out = r.union(out, r.elements(v))
		case strings.HasPrefix(t, number) && v != nil:
			out = r.union(out, r.field(&value{objects: v.objects, unknown: v.unknown}, t))
			out = r.union(out, r.elements(&value{places: v.places, roots: v.roots}))
		default:
			out = r.union(out, r.field(v, t))
		}
	}
	return out
}

// store records that a template sets the value at the key of the map.
func (r *interpreter) store(m, key, v *value) {
	if m == nil {
		return
	}
	names := key.written()
	for _, o := range m.objects {
		r.modified[o.site] = true
		for _, name := range names {
			if strings.Contains(name, wild) && !isUserKey(name) {
				r.put(o, name, withoutMembers(v, o.parts))
			} else {
				r.put(o, name, v)
			}
		}
	}
	for _, root := range m.roots {
		for _, name := range names {
			r.put(root.extra, name, v)
		}
	}
	for _, p := range m.places {
		for _, name := range names {
			if strings.Contains(name, wild) && (p.user == nil || name != p.user.key) {
				r.alias(r.anyKey(p), withoutMembers(v, p.self))
			} else {
				r.alias(r.child(p, name), v)
			}
		}
	}
}

// mergeInto records that a template merges the value into the map.
func (r *interpreter) mergeInto(m, v *value) {
	if m == nil {
		return
	}
	for _, o := range m.objects {
		r.modified[o.site] = true
		r.putAll(o, v)
	}
	for _, root := range m.roots {
		r.putAll(root.extra, v)
	}
	for _, p := range m.places {
		r.alias(p, v)
	}
}

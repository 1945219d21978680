package values

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
)

// This file and decode.go define the stored form of types: a header, the SHA-256
// of the content, a table of all strings, the tree of types, the shapes that
// they refer to, and the chart with its dependencies. Numbers are varints; a
// string is an index into the table. A change of the format needs a new version.

const (
	encodingName    = "fleetc values\n"
	encodingVersion = 7

	maxEncoded = 16 << 20 // bytes
	maxStored  = 4 * maxTypes
	maxNested  = 2048 // nested types or values
)

// The tag in front of a type.
const (
	tagNone   = iota
	tagType   // the type follows
	tagGlobal // a reference to the chart's global values, which dependencies share
)

// The tag in front of uses.
const (
	usesNone = iota
	usesAll
	usesKeys
	usesUnknown // not computed yet; only at the root
)

// ownFlags is the number of flags that are fields of a type.
const ownFlags = 14

// The flags after those say which parts of a type follow.
const (
	flagWhy = 1 << (iota + ownFlags)
	flagDoc
	flagPlace
	flagDefault
	flagLimits
	flagKeys
	flagElem
	flagShape
	flagForm
	flagEnum
	flagInner
	allFlags = 1<<(iota+ownFlags) - 1
)

// flags returns pointers to the flags of the type in their stored order.
func (t *Type) flags() []*bool {
	return []*bool{
		&t.Open, &t.Unread, &t.blank, &t.empty, &t.typed, &t.closed, &t.missing, &t.named, &t.tested,
		&t.root, &t.imported, &t.picked, &t.quoted, &t.declared,
	}
}

// Encode returns the type in its stored form. Equal types have equal bytes; the
// uses that were computed so far, see [Type.Grown], count as part of the type.
// Decode restores the type with everything that Check, CUE and Package need from
// the chart. The derivation of types can change with each version of the
// program, so a stored form is valid only for the program that wrote it. Encode
// returns an error when the type is not one that Derive or Decode returned, or
// when it is too large.
func (t *Type) Encode() ([]byte, error) {
	if t.chart == nil {
		return nil, errors.New("encode types: these are not the types of a whole chart")
	}
	e := &encoder{index: map[string]uint64{}, shaped: map[*shape]uint64{}, global: t.Fields[chartutil.GlobalKey]}
	e.root(t)
	e.allShapes()
	e.release(t.chart)
	if e.err != nil {
		return nil, fmt.Errorf("encode types: %w", e.err)
	}
	body := binary.AppendUvarint(nil, uint64(len(e.strings)))
	for _, s := range e.strings {
		body = append(binary.AppendUvarint(body, uint64(len(s))), s...)
	}
	body = append(body, e.b...)
	if len(body) > maxEncoded {
		return nil, fmt.Errorf("encode types: %d bytes are more than the %d that are stored", len(body), maxEncoded)
	}
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(encodingName), []byte{encodingVersion}, sum[:], body), nil
}

// An encoder encodes one type. It stops at its first error.
type encoder struct {
	b       []byte
	strings []string
	index   map[string]uint64 // indexes of strings
	schemas map[*schema]uint64
	shapes  []*shape
	shaped  map[*shape]uint64 // numbers of shapes, from 1, in the order of their first reference
	global  *Type
	types   int
	err     error
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func (e *encoder) number(n uint64) { e.b = binary.AppendUvarint(e.b, n) }

func (e *encoder) count(n int) { e.number(uint64(n)) }

func (e *encoder) text(s string) {
	i, ok := e.index[s]
	if !ok {
		i = uint64(len(e.strings))
		e.index[s] = i
		e.strings = append(e.strings, s)
	}
	e.number(i)
}

// root writes the type of the root, with references to the global values, and
// then the type of the global values.
func (e *encoder) root(t *Type) {
	e.body(t, 0)
	if e.global != nil {
		e.body(e.global, 1)
	}
}

// typ writes a type or the tag for none.
func (e *encoder) typ(t *Type, depth int) {
	switch {
	case t == nil:
		e.number(tagNone)
	case t == e.global:
		e.number(tagGlobal)
	default:
		e.number(tagType)
		e.body(t, depth)
	}
}

func (e *encoder) body(t *Type, depth int) {
	e.types++
	if depth > maxNested || e.types > maxStored {
		e.fail("the chart has too many values")
	}
	if e.err != nil {
		return
	}
	flags := t.parts()
	for i, on := range t.flags() {
		if *on {
			flags |= 1 << i
		}
	}
	e.number(flags)
	e.b = append(e.b, byte(t.Kinds), byte(t.Known), byte(t.seen))
	for _, s := range []struct {
		flag uint64
		text string
	}{{flagWhy, t.Why}, {flagDoc, t.Doc}, {flagPlace, t.Place}} {
		if flags&s.flag != 0 {
			e.text(s.text)
		}
	}
	if flags&flagDefault != 0 {
		e.value(t.Default, 0)
	}
	if flags&flagLimits != 0 {
		e.limits(t.limits)
	}
	if flags&flagShape != 0 {
		e.shape(t.shape)
	}
	if flags&flagForm != 0 {
		e.number(uint64(t.form))
	}
	if flags&flagEnum != 0 {
		e.texts(t.enum)
	}
	if flags&flagInner != 0 {
		e.texts(t.inner)
	}
	if flags&flagKeys != 0 {
		e.count(len(t.Keys))
		for _, k := range t.Keys {
			e.text(k)
			e.typ(t.Fields[k], depth+1)
		}
	}
	if flags&flagElem != 0 {
		e.typ(t.Elem, depth+1)
	}
}

// parts returns the flags for the parts that the type has.
func (t *Type) parts() uint64 {
	var flags uint64
	add := func(isSet bool, flag uint64) {
		if isSet {
			flags |= flag
		}
	}
	add(t.Why != "", flagWhy)
	add(t.Doc != "", flagDoc)
	add(t.Place != "", flagPlace)
	add(t.shape != nil, flagShape)
	add(t.form != 0, flagForm)
	add(len(t.enum) > 0, flagEnum)
	add(t.Default != nil, flagDefault)
	add(!t.limits.none(), flagLimits)
	add(len(t.inner) > 0, flagInner)
	add(len(t.Keys) > 0, flagKeys)
	add(t.Elem != nil, flagElem)
	return flags
}

// shape writes a reference to a shape, 0 for none.
func (e *encoder) shape(s *shape) {
	i, ok := e.shaped[s]
	if !ok && s != nil {
		e.shapes = append(e.shapes, s)
		i = uint64(len(e.shapes))
		e.shaped[s] = i
	}
	e.number(i)
}

// allShapes writes the shapes in the order of their first reference, including
// those that other shapes refer to.
func (e *encoder) allShapes() {
	for i := 0; i < len(e.shapes); i++ {
		s := e.shapes[i]
		flags := uint64(0)
		for bit, on := range s.flags() {
			if *on {
				flags |= 1 << bit
			}
		}
		e.number(flags)
		e.number(uint64(s.form))
		e.texts(s.enum)
		e.shape(s.elem)
		e.count(len(s.fields))
		for _, name := range slices.Sorted(maps.Keys(s.fields)) {
			e.text(name)
			e.shape(s.fields[name])
		}
	}
}

func (s *shape) flags() []*bool { return []*bool{&s.list, &s.free, &s.names, &s.grows} }

// release writes the chart: its schemas, the tree of its dependencies, and the
// reads of dependencies' values by the chart's own templates, if computed.
func (e *encoder) release(r *release) {
	e.schemas = map[*schema]uint64{}
	var all []*schema
	var collect func(n *node, depth int)
	collect = func(n *node, depth int) {
		if n.schema != nil && e.schemas[n.schema] == 0 {
			all = append(all, n.schema)
			e.schemas[n.schema] = uint64(len(all))
		}
		for _, d := range n.deps {
			if depth < maxNested {
				collect(d, depth+1)
			}
		}
	}
	collect(r.root, 0)
	e.count(len(all))
	for _, s := range all {
		e.text(string(s.data))
		e.count(len(s.missing))
		for _, name := range s.missing {
			e.text(name)
		}
	}
	e.node(r.root, 0)
	e.count(len(r.missing))
	for _, name := range r.missing {
		e.text(name)
	}
	if !r.own.known.Load() {
		e.number(usesUnknown)
		return
	}
	e.uses(r.own.get(), 0)
}

func (e *encoder) node(n *node, depth int) {
	if depth > maxNested {
		e.fail("the chart's dependencies are too deep")
		return
	}
	e.text(n.name)
	if n.values == nil {
		e.value(nil, 0)
	} else {
		e.value(n.values, 0)
	}
	e.number(e.schemas[n.schema])
	if n.meta == nil {
		e.number(0)
	} else {
		e.number(1)
		e.text(n.meta.Name)
		e.text(n.meta.Alias)
		e.text(n.meta.Condition)
		e.count(len(n.meta.Tags))
		for _, tag := range n.meta.Tags {
			e.text(tag)
		}
		e.count(len(n.meta.ImportValues))
		for _, v := range n.meta.ImportValues {
			e.value(v, 0)
		}
	}
	e.count(len(n.deps))
	for _, d := range n.deps {
		e.node(d, depth+1)
	}
}

// uses writes the tag and the content of uses. Uses as a whole have no content.
func (e *encoder) uses(u *uses, depth int) {
	switch {
	case u == nil:
		e.number(usesNone)
		return
	case u.all || depth > maxNested:
		e.number(usesAll)
		return
	}
	e.number(usesKeys)
	e.uses(u.any, depth+1)
	e.count(len(u.keys))
	for _, k := range slices.Sorted(maps.Keys(u.keys)) {
		e.text(k)
		e.uses(u.keys[k], depth+1)
	}
}

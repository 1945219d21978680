package values

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file and storedparts.go define the stored form of types: a table of all
// strings, the tree of types, the shapes that they refer to, and the chart with
// its dependencies. Numbers are varints; a string is an index into the table.

const (
	maxEncoded = 16 << 20 // bytes
	maxStored  = 4 * maxTypes
	maxNested  = 2048 // nested types or values
)

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
	c := &codec{index: map[string]uint64{}, numbers: map[any]uint64{}, global: t.Fields[chartutil.GlobalKey]}
	c.root(t)
	c.release(t.chart)
	if c.err != nil {
		return nil, fmt.Errorf("encode types: %w", c.err)
	}
	data := binary.AppendUvarint(nil, uint64(len(c.strings)))
	for _, s := range c.strings {
		data = append(binary.AppendUvarint(data, uint64(len(s))), s...)
	}
	data = append(data, c.bytes...)
	if len(data) > maxEncoded {
		return nil, fmt.Errorf("encode types: %d bytes are more than the %d that are stored", len(data), maxEncoded)
	}
	return data, nil
}

// Decode returns the type of the values of the chart from the stored form that
// Encode returned. It returns an error when the data are not a stored form.
func Decode(data []byte, ch *fleet.Chart) (*Type, error) {
	if len(data) > maxEncoded {
		return nil, fmt.Errorf("decode types: %d bytes are more than the %d that are stored", len(data), maxEncoded)
	}
	c := &codec{decoding: true, bytes: data, counted: len(data), global: &Type{}}
	c.table()
	root := &Type{chart: &release{root: &node{}}}
	c.root(root)
	c.release(root.chart)
	if c.err == nil && len(c.bytes) > 0 {
		c.fail("there are %d bytes more", len(c.bytes))
	}
	if c.err != nil {
		return nil, fmt.Errorf("decode types: %w", c.err)
	}
	root.chart.own.find = func() *uses { return usesOf(ch) }
	return root, nil
}

// A codec encodes or decodes one type: its methods write what their arguments
// point to, or read it. They do not modify what they write. After the first
// error, a codec reads zeros.
type codec struct {
	decoding bool
	bytes    []byte // written after the table of strings, or left to read
	counted  int    // remaining number of items to read: each takes at least one byte
	strings  []string
	index    map[string]uint64 // indexes of strings that are written
	numbers  map[any]uint64    // numbers of shapes and schemas that are written, from 1
	shapes   []*shape
	schemas  []*schema
	free     []Type // preallocated types
	types    int
	global   *Type // the chart's global values, which dependencies share
	err      error
}

// root is the type of the root with references to the global values, the type
// of the global values, and the shapes.
func (c *codec) root(t *Type) {
	c.typ(t, 0)
	if global := t.Fields[chartutil.GlobalKey]; global != nil && global == c.global {
		c.typ(global, 1)
	}
	for i := 0; i < len(c.shapes) && c.err == nil; i++ {
		s := c.shapes[i]
		c.flags(&s.list, &s.free, &s.names, &s.grows)
		bits(c, &s.form, allForms)
		list(c, &s.enum, c.text)
		pointer(c, &s.elem, &c.shapes)
		keyed(c, &s.fields, func(f **shape) { pointer(c, f, &c.shapes) })
	}
}

func (c *codec) typ(t *Type, depth int) {
	if c.types++; depth > maxNested || c.types > maxStored {
		c.fail("the chart has too many values")
	}
	if c.err != nil {
		return
	}
	c.flags(&t.Open, &t.Unread, &t.blank, &t.empty, &t.typed, &t.closed, &t.missing, &t.named, &t.tested,
		&t.root, &t.imported, &t.picked, &t.quoted, &t.declared)
	bits(c, &t.Kinds, Any)
	bits(c, &t.Known, ^Source(0))
	bits(c, &t.seen, Any)
	c.text(&t.Why)
	c.text(&t.Doc)
	c.text(&t.Place)
	c.value(&t.Default, 0)
	c.limits(&t.limits)
	pointer(c, &t.shape, &c.shapes)
	bits(c, &t.form, allForms)
	list(c, &t.enum, c.text)
	list(c, &t.inner, c.text)
	list(c, &t.Keys, c.text)
	if c.decoding && len(t.Keys) > 0 {
		t.Fields = make(map[string]*Type, len(t.Keys))
	}
	for _, k := range t.Keys {
		f := t.Fields[k]
		isTwice := c.decoding && f != nil
		if c.below(&f, depth+1); f == nil || isTwice {
			c.fail("a field has no type, or two of them")
			return
		}
		if c.decoding {
			t.Fields[k] = f
		}
	}
	if c.below(&t.Elem, depth+1); t.Elem != nil && t.Elem == c.global {
		c.fail("the global stands where it cannot be")
	}
}

// below is the type of a field or of elements, nil for none.
func (c *codec) below(t **Type, depth int) {
	exists, isGlobal := *t != nil, *t != nil && *t == c.global
	c.flags(&exists, &isGlobal)
	switch {
	case !exists:
		return
	case isGlobal:
		if c.decoding {
			*t = c.global
		}
		return
	case c.decoding:
		if len(c.free) == 0 {
			c.free = make([]Type, 128)
		}
		*t, c.free = &c.free[0], c.free[1:]
	}
	c.typ(*t, depth)
}

// release is the chart: the tree of its dependencies, its schemas, and the
// reads of dependencies' values by the chart's own templates, if computed.
func (c *codec) release(r *release) {
	c.node(r.root, 0)
	for i := 0; i < len(c.schemas) && c.err == nil; i++ {
		c.schema(c.schemas[i])
	}
	list(c, &r.missing, c.text)
	known := r.own.known.Load()
	c.flags(&known)
	if !known {
		return
	}
	if !c.decoding {
		own := r.own.get()
		c.uses(&own, 0)
		return
	}
	c.uses(&r.own.uses, 0)
	r.own.stored = true
	r.own.known.Store(true)
}

// schema is a schema that compiles. A decoded one is compiled again on first use.
func (c *codec) schema(s *schema) {
	text := string(s.data)
	c.text(&text)
	list(c, &s.missing, c.text)
	if !c.decoding {
		return
	}
	s.data = []byte(text)
	s.validator = sync.OnceValues(func() (*jsonschema.Schema, error) {
		again, err := parseSchema(s.data, nil, "")
		if err != nil {
			return nil, err
		}
		return again.validator()
	})
}

func (c *codec) node(n *node, depth int) {
	if depth > maxNested {
		c.fail("the chart's dependencies are too deep")
		return
	}
	c.text(&n.name)
	c.text(&n.version)
	keyed(c, &n.values, func(v *any) { c.value(v, 1) })
	pointer(c, &n.schema, &c.schemas)
	list(c, &n.entries, func(e **chart.Dependency) {
		if c.decoding {
			*e = &chart.Dependency{}
		}
		c.text(&(*e).Name)
		c.text(&(*e).Version)
		c.text(&(*e).Alias)
		c.text(&(*e).Condition)
		list(c, &(*e).Tags, c.text)
		list(c, &(*e).ImportValues, func(v *any) { c.value(v, 0) })
	})
	list(c, &n.deps, func(d **node) {
		if c.decoding {
			*d = &node{}
		}
		c.node(*d, depth+1)
	})
}

// uses are nil for none. Uses as a whole have no content.
func (c *codec) uses(u **uses, depth int) {
	exists := *u != nil
	all := exists && ((*u).all || depth > maxNested)
	if c.flags(&exists, &all); !exists {
		return
	}
	if c.decoding {
		*u = &uses{all: all}
	}
	if all {
		return
	}
	if depth > maxNested {
		c.fail("the reads are too deep")
		return
	}
	c.uses(&(*u).any, depth+1)
	keyed(c, &(*u).keys, func(below **uses) { c.uses(below, depth+1) })
}

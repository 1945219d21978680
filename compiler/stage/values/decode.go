package values

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Decode returns the type of the values of the chart from the stored form that
// Encode returned. It returns an error when the data are not a stored form, are
// damaged, or have another version.
func Decode(data []byte, ch *fleet.Chart) (*Type, error) {
	rest, ok := bytes.CutPrefix(data, []byte(encodingName))
	if !ok || len(rest) < 1+sha256.Size {
		return nil, errors.New("decode types: not the format of stored types")
	}
	if rest[0] != encodingVersion {
		return nil, fmt.Errorf("decode types: they are of version %d, and this one reads version %d", rest[0], encodingVersion)
	}
	sum, body := rest[1:1+sha256.Size], rest[1+sha256.Size:]
	if len(body) > maxEncoded {
		return nil, fmt.Errorf("decode types: %d bytes are more than the %d that are stored", len(body), maxEncoded)
	}
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, errors.New("decode types: they are damaged")
	}
	t, err := decodeBody(body)
	if err != nil {
		return nil, fmt.Errorf("decode types: %w", err)
	}
	t.chart.own.find = func() *uses { return usesOf(ch) }
	return t, nil
}

// decodeBody decodes the content after the header.
func decodeBody(body []byte) (*Type, error) {
	d := &decoder{rest: string(body), counted: len(body)}
	d.table()
	root := d.root()
	d.allShapes()
	root.chart = d.release()
	if d.err == nil && d.rest != "" {
		d.fail("there are %d bytes more", len(d.rest))
	}
	if d.err != nil {
		return nil, d.err
	}
	return root, nil
}

// A decoder decodes one type. After its first error, it reads zeros.
type decoder struct {
	rest    string
	counted int // remaining number of items: each takes at least one byte
	strings []string
	free    []Type // preallocated types
	types   int
	global  *Type
	schemas []*schema
	shapes  []*shape
	err     error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.rest = ""
}

func (d *decoder) byte() byte {
	if d.rest == "" {
		d.fail("they are cut off")
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) number() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := d.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	d.fail("a number is too large")
	return 0
}

// maxAhead is the maximum number of items for which memory is allocated before
// they are read.
const maxAhead = 1 << 12

// count returns the number of items that follow. The total is limited by the
// number of bytes.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(d.counted) {
		d.fail("there are fewer things than they say")
		return 0
	}
	d.counted -= int(n)
	return int(n)
}

func (d *decoder) text() string {
	i := d.number()
	if i >= uint64(len(d.strings)) {
		d.fail("a string is missing")
		return ""
	}
	return d.strings[i]
}

// table reads the table of strings.
func (d *decoder) table() {
	count := d.count()
	d.strings = make([]string, 0, min(count, maxAhead))
	for range count {
		n := d.number()
		if n > uint64(len(d.rest)) {
			d.fail("a string is cut off")
		}
		if d.err != nil {
			return
		}
		d.strings = append(d.strings, d.rest[:n])
		d.rest = d.rest[n:]
	}
}

// root reads the type of the whole chart. References to the global values point
// to d.global, which must exist when there are such references.
func (d *decoder) root() *Type {
	d.global = &Type{}
	t := d.body(&Type{}, 0)
	isGlobal := t.Fields[chartutil.GlobalKey] == d.global
	if isGlobal {
		d.body(d.global, 1)
	}
	return t
}

// typ reads a type; nil for none.
func (d *decoder) typ(depth int) *Type {
	switch d.number() {
	case tagNone:
		return nil
	case tagGlobal:
		return d.global
	case tagType:
		if len(d.free) == 0 {
			d.free = make([]Type, 128)
		}
		t := &d.free[0]
		d.free = d.free[1:]
		return d.body(t, depth)
	}
	d.fail("a type is of an unknown sort")
	return nil
}

func (d *decoder) body(t *Type, depth int) *Type {
	if d.types++; depth > maxNested || d.types > maxStored {
		d.fail("the chart has too many values")
	}
	flags := d.number()
	if flags > allFlags {
		d.fail("a type has unknown flags")
	}
	for i, on := range t.flags() {
		*on = flags&(1<<i) != 0
	}
	t.Kinds, t.Known, t.seen = Kind(d.byte())&Any, Source(d.byte()), Kind(d.byte())&Any
	for _, s := range []struct {
		flag uint64
		to   *string
	}{{flagWhy, &t.Why}, {flagDoc, &t.Doc}, {flagPlace, &t.Place}} {
		if flags&s.flag != 0 {
			*s.to = d.text()
		}
	}
	if flags&flagDefault != 0 {
		t.Default = d.value(0)
	}
	if flags&flagLimits != 0 {
		t.limits = d.limits()
	}
	if flags&flagShape != 0 {
		t.shape = d.shape()
	}
	if flags&flagForm != 0 {
		t.form = form(d.number()) & allForms
	}
	if flags&flagEnum != 0 {
		t.enum = d.texts()
	}
	if flags&flagInner != 0 {
		t.inner = d.texts()
	}
	if flags&flagKeys != 0 {
		d.fields(t, depth)
	}
	if flags&flagElem != 0 {
		if t.Elem = d.typ(depth + 1); t.Elem == d.global {
			d.fail("the global stands where it cannot be")
		}
	}
	return t
}

func (d *decoder) fields(t *Type, depth int) {
	n := d.count()
	t.Keys, t.Fields = make([]string, 0, min(n, maxAhead)), make(map[string]*Type, min(n, maxAhead))
	for range n {
		k := d.text()
		f := d.typ(depth + 1)
		if f == nil || t.Fields[k] != nil {
			d.fail("a field has no type, or two of them")
			return
		}
		t.Keys = append(t.Keys, k)
		t.Fields[k] = f
	}
}

// shape reads a reference to a shape. New shapes are numbered in the order of
// their first reference; their content follows later.
func (d *decoder) shape() *shape {
	i := d.number()
	switch n := uint64(len(d.shapes)); {
	case i == 0:
		return nil
	case i == n+1:
		d.shapes = append(d.shapes, &shape{})
	case i > n:
		d.fail("a shape is missing")
		return nil
	}
	return d.shapes[i-1]
}

func (d *decoder) allShapes() {
	for i := 0; i < len(d.shapes) && d.err == nil; i++ {
		s := d.shapes[i]
		flags := d.number()
		for bit, on := range s.flags() {
			*on = flags&(1<<bit) != 0
		}
		s.form = form(d.number()) & allForms
		s.enum = d.texts()
		s.elem = d.shape()
		n := d.count()
		if n > 0 {
			s.fields = make(map[string]*shape, min(n, maxAhead))
		}
		for range n {
			name := d.text()
			s.fields[name] = d.shape()
			if d.err != nil {
				break
			}
		}
	}
}

func (d *decoder) release() *release {
	for range d.count() {
		s := storedSchema(d.text())
		for range d.count() {
			if s.missing = append(s.missing, d.text()); d.err != nil {
				break
			}
		}
		if d.schemas = append(d.schemas, s); d.err != nil {
			break
		}
	}
	r := &release{root: d.node(0)}
	for range d.count() {
		if r.missing = append(r.missing, d.text()); d.err != nil {
			break
		}
	}
	if sort := d.number(); sort != usesUnknown {
		r.own.uses, r.own.stored = d.usesOf(sort, 0), true
		r.own.known.Store(true)
	}
	return r
}

// storedSchema returns a schema that compiled before. It is compiled again on
// first use.
func storedSchema(text string) *schema {
	s := &schema{data: []byte(text)}
	s.validator = sync.OnceValues(func() (*jsonschema.Schema, error) {
		again, err := parseSchema(s.data, nil, "")
		if err != nil {
			return nil, err
		}
		return again.validator()
	})
	return s
}

func (d *decoder) node(depth int) *node {
	if depth > maxNested {
		d.fail("the chart's dependencies are too deep")
	}
	n := &node{name: d.text()}
	switch v := d.value(0).(type) {
	case nil:
	case map[string]any:
		n.values = v
	default:
		d.fail("the values of a chart are not a map")
	}
	if i := d.number(); i > uint64(len(d.schemas)) {
		d.fail("a schema is missing")
	} else if i > 0 {
		n.schema = d.schemas[i-1]
	}
	if d.number() == 1 {
		n.meta = d.dependency()
	}
	for range d.count() {
		n.deps = append(n.deps, d.node(depth+1))
		if d.err != nil {
			break
		}
	}
	return n
}

func (d *decoder) dependency() *chart.Dependency {
	m := &chart.Dependency{Name: d.text(), Alias: d.text(), Condition: d.text()}
	for range d.count() {
		if m.Tags = append(m.Tags, d.text()); d.err != nil {
			break
		}
	}
	if imports := d.values(0); len(imports) > 0 {
		m.ImportValues = imports
	}
	return m
}

func (d *decoder) uses(depth int) *uses { return d.usesOf(d.number(), depth) }

// usesOf reads the content of uses after their tag.
func (d *decoder) usesOf(sort uint64, depth int) *uses {
	switch sort {
	case usesNone:
		return nil
	case usesAll:
		return &uses{all: true}
	case usesKeys:
	default:
		d.fail("a use is of an unknown sort")
	}
	if depth > maxNested {
		d.fail("the reads are too deep")
		return nil
	}
	u := &uses{any: d.uses(depth + 1)}
	if n := d.count(); n > 0 {
		u.keys = make(map[string]*uses, min(n, maxAhead))
		for range n {
			k := d.text()
			u.keys[k] = d.uses(depth + 1)
			if d.err != nil {
				break
			}
		}
	}
	return u
}

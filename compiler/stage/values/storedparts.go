package values

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	mathbits "math/bits"
	"slices"
)

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	if c.decoding {
		c.bytes = nil
	}
}

func (c *codec) number(n *uint64) {
	if !c.decoding {
		c.bytes = binary.AppendUvarint(c.bytes, *n)
		return
	}
	got, size := binary.Uvarint(c.bytes)
	switch {
	case size == 0:
		c.fail("they are cut off")
	case size < 0:
		c.fail("a number is too large")
	default:
		c.bytes = c.bytes[size:]
	}
	*n = got
}

// maxAhead is the maximum number of items for which memory is allocated before
// they are read.
const maxAhead = 1 << 12

// count is the number of items that follow. The total that is read is limited by
// the number of bytes.
func (c *codec) count(n int) int {
	count := uint64(n)
	c.number(&count)
	if !c.decoding {
		return n
	}
	if count > uint64(c.counted) {
		c.fail("there are fewer things than they say")
		return 0
	}
	c.counted -= int(count)
	return int(count)
}

// table reads the table of strings.
func (c *codec) table() {
	all := string(c.bytes)
	count := c.count(0)
	c.strings = make([]string, 0, min(count, maxAhead))
	for range count {
		var n uint64
		if c.number(&n); n > uint64(len(c.bytes)) {
			c.fail("a string is cut off")
		}
		if c.err != nil {
			return
		}
		c.strings = append(c.strings, all[len(all)-len(c.bytes):][:n])
		c.bytes = c.bytes[n:]
	}
}

func (c *codec) text(s *string) {
	var i uint64
	if !c.decoding {
		known := false
		if i, known = c.index[*s]; !known {
			i = uint64(len(c.strings))
			c.index[*s] = i
			c.strings = append(c.strings, *s)
		}
	}
	c.number(&i)
	switch {
	case !c.decoding:
	case i < uint64(len(c.strings)):
		*s = c.strings[i]
	default:
		c.fail("a string is missing")
	}
}

// flags are one number, in which each flag has a bit.
func (c *codec) flags(all ...*bool) {
	var n uint64
	for i, f := range all {
		if *f {
			n |= 1 << i
		}
	}
	c.number(&n)
	if !c.decoding {
		return
	}
	for i, f := range all {
		*f = n&(1<<i) != 0
	}
	if n>>len(all) != 0 {
		c.fail("there are unknown flags")
	}
}

// bits is a set of some of all bits.
func bits[E ~uint8 | ~uint16 | ~uint32](c *codec, set *E, all E) {
	n := uint64(*set)
	if c.number(&n); c.decoding {
		*set = E(n) & all
	}
}

// list is a list with its length. An empty list is read as nil.
func list[E any](c *codec, l *[]E, element func(*E)) {
	n := c.count(len(*l))
	if c.decoding && n > 0 {
		*l = make([]E, 0, min(n, maxAhead))
	}
	for i := range n {
		if c.decoding {
			var zero E
			*l = append(*l, zero)
		}
		if element(&(*l)[i]); c.err != nil {
			return
		}
	}
}

// keyed is a map with its length. An empty map is read as nil.
func keyed[E any](c *codec, m *map[string]E, element func(*E)) {
	n := c.count(len(*m))
	if !c.decoding {
		for _, k := range slices.Sorted(maps.Keys(*m)) {
			e := (*m)[k]
			c.text(&k)
			element(&e)
		}
		return
	}
	if n > 0 {
		*m = make(map[string]E, min(n, maxAhead))
	}
	for range n {
		var k string
		var e E
		c.text(&k)
		if element(&e); c.err != nil {
			return
		}
		(*m)[k] = e
	}
}

// pointer is the number of a pointer in the order of their first references,
// 0 for nil. It adds a new pointer to all; the content follows later.
func pointer[E any](c *codec, to **E, all *[]*E) {
	next := uint64(len(*all)) + 1
	var i uint64
	if !c.decoding && *to != nil {
		if i = c.numbers[*to]; i == 0 {
			i = next
			c.numbers[*to] = i
			*all = append(*all, *to)
		}
	}
	c.number(&i)
	switch {
	case !c.decoding || i == 0:
		return
	case i > next:
		c.fail("a shape or a schema is missing")
		return
	case i == next:
		*all = append(*all, new(E))
	}
	*to = (*all)[i-1]
}

func (c *codec) limits(l *limits) {
	c.flags(&l.integer)
	c.text(&l.pattern)
	list(c, &l.bounds, func(b *bound) {
		c.text(&b.op)
		c.text((*string)(&b.n))
	})
	list(c, &l.enum, func(v *any) { c.value(v, 0) })
}

// The tag in front of a value.
const (
	valueNull = iota
	valueFalse
	valueTrue
	valueFloat
	valueNumber // a json.Number
	valueString
	valueList
	valueMap
)

// value is a value as encoding/json decodes it.
func (c *codec) value(v *any, depth int) {
	if depth > maxNested {
		c.fail("a default is too deep")
	}
	if c.err != nil {
		return
	}
	tag := c.tagOf(*v)
	c.number(&tag)
	var got any
	switch tag {
	case valueNull:
	case valueFalse, valueTrue:
		got = tag == valueTrue
	case valueFloat:
		f, _ := (*v).(float64)
		n := mathbits.ReverseBytes64(math.Float64bits(f)) // small for whole numbers
		c.number(&n)
		got = math.Float64frombits(mathbits.ReverseBytes64(n))
	case valueNumber:
		n, _ := (*v).(json.Number)
		c.text((*string)(&n))
		got = n
	case valueString:
		s, _ := (*v).(string)
		c.text(&s)
		got = s
	case valueList:
		l, _ := (*v).([]any)
		list(c, &l, func(e *any) { c.value(e, depth+1) })
		if got = l; l == nil {
			got = []any{}
		}
	case valueMap:
		m, _ := (*v).(map[string]any)
		keyed(c, &m, func(e *any) { c.value(e, depth+1) })
		if got = m; m == nil {
			got = map[string]any{}
		}
	default:
		c.fail("a default is of an unknown sort")
	}
	if c.decoding {
		*v = got
	}
}

// tagOf returns the tag of a value that is written, and 0 for one to read.
func (c *codec) tagOf(v any) uint64 {
	switch v := v.(type) {
	case nil:
		return valueNull
	case bool:
		if v {
			return valueTrue
		}
		return valueFalse
	case float64:
		return valueFloat
	case json.Number:
		return valueNumber
	case string:
		return valueString
	case []any:
		return valueList
	case map[string]any:
		return valueMap
	}
	c.fail("a default is a %T", v)
	return valueNull
}

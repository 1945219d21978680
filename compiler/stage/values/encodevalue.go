package values

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
)

func (e *encoder) limits(l limits) {
	whole := uint64(0)
	if l.integer {
		whole = 1
	}
	e.number(whole)
	e.text(l.pattern)
	e.count(len(l.bounds))
	for _, b := range l.bounds {
		e.text(b.op)
		e.text(b.n.String())
	}
	e.count(len(l.enum))
	for _, v := range l.enum {
		e.value(v, 0)
	}
}

// The tag in front of a value.
const (
	valueNull = iota
	valueFalse
	valueTrue
	valueFloat  // as 8 bytes
	valueWhole  // a float64 without fraction
	valueNumber // a json.Number
	valueString
	valueList
	valueMap
)

// exact is the limit below which a float64 represents every whole number.
const exact = 1 << 53

// value writes a value as encoding/json decodes it.
func (e *encoder) value(v any, depth int) {
	if depth > maxNested {
		e.fail("a default is too deep")
	}
	if e.err != nil {
		return
	}
	switch v := v.(type) {
	case nil:
		e.number(valueNull)
	case bool:
		e.number(map[bool]uint64{false: valueFalse, true: valueTrue}[v])
	case float64:
		e.float(v)
	case json.Number:
		e.number(valueNumber)
		e.text(v.String())
	case string:
		e.number(valueString)
		e.text(v)
	case []any:
		e.number(valueList)
		e.count(len(v))
		for _, x := range v {
			e.value(x, depth+1)
		}
	case map[string]any:
		e.number(valueMap)
		e.count(len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e.text(k)
			e.value(v[k], depth+1)
		}
	default:
		e.fail("a default is a %T", v)
	}
}

func (e *encoder) float(f float64) {
	if f == math.Trunc(f) && math.Abs(f) < exact && !math.Signbit(f) {
		e.number(valueWhole)
		e.number(uint64(f))
		return
	}
	e.number(valueFloat)
	e.b = binary.BigEndian.AppendUint64(e.b, math.Float64bits(f))
}

// texts writes the number of texts, and each text.
func (e *encoder) texts(all []string) {
	e.count(len(all))
	for _, s := range all {
		e.text(s)
	}
}

package values

import (
	"encoding/binary"
	"encoding/json"
	"math"
)

func (d *decoder) limits() limits {
	l := limits{integer: d.number() == 1, pattern: d.text()}
	for range d.count() {
		l.bounds = append(l.bounds, bound{op: d.text(), n: json.Number(d.text())})
		if d.err != nil {
			break
		}
	}
	if enum := d.values(0); len(enum) > 0 {
		l.enum = enum
	}
	return l
}

func (d *decoder) value(depth int) any {
	if depth > maxNested {
		d.fail("a default is too deep")
	}
	switch d.number() {
	case valueNull:
		return nil
	case valueFalse:
		return false
	case valueTrue:
		return true
	case valueFloat:
		var bits [8]byte
		for i := range bits {
			bits[i] = d.byte()
		}
		return math.Float64frombits(binary.BigEndian.Uint64(bits[:]))
	case valueWhole:
		return float64(d.number())
	case valueNumber:
		return json.Number(d.text())
	case valueString:
		return d.text()
	case valueList:
		return d.values(depth + 1)
	case valueMap:
		return d.valueMap(depth)
	}
	d.fail("a default is of an unknown sort")
	return nil
}

// values reads a list of values; it is never nil.
func (d *decoder) values(depth int) []any {
	n := d.count()
	l := make([]any, 0, min(n, maxAhead))
	for range n {
		l = append(l, d.value(depth))
		if d.err != nil {
			break
		}
	}
	return l
}

func (d *decoder) valueMap(depth int) map[string]any {
	n := d.count()
	m := make(map[string]any, min(n, maxAhead))
	for range n {
		k := d.text()
		m[k] = d.value(depth + 1)
		if d.err != nil {
			break
		}
	}
	return m
}

// texts reads texts; nil for none.
func (d *decoder) texts() []string {
	var all []string
	for range d.count() {
		if all = append(all, d.text()); d.err != nil {
			return nil
		}
	}
	return all
}

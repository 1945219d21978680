package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
)

// longKey is the length from which a key needs its explicit form: readers
// look for the colon of a plain one in a bounded number of bytes only.
const longKey = 128

// Encode returns the canonical YAML of an object: indented by two, keys sorted
// by their bytes, list items in the column of their key, no line folded, text
// of several lines as a literal block. Readers of YAML 1.1 (kubectl, the API
// server) and of YAML 1.2 alike get the JSON value of obj back.
//
// The values are those of unstructured objects: nil, bool, int, int64,
// float64, [json.Number], string, []any and map[string]any. Another type, a
// float that JSON does not have and a string that is not UTF-8 are faults whose
// path is that of the field.
func Encode(obj map[string]any) ([]byte, error) {
	if len(obj) == 0 {
		return []byte("{}\n"), nil
	}
	e := encoder{buf: make([]byte, 0, 1024)}
	if err := e.fields(obj, 0, false); err != nil {
		return nil, err
	}
	return bytes.Clone(e.buf), nil
}

// A hole is a value that is written later.
type hole struct{}

type encoder struct {
	buf  []byte
	hole int      // where it is in buf; 0 when there is none
	keys []string // of the maps that are being written, one after the other
}

// indent starts a line.
func (e *encoder) indent(n int) {
	const spaces = "                                                                "
	for n > len(spaces) {
		e.buf = append(e.buf, spaces...)
		n -= len(spaces)
	}
	e.buf = append(e.buf, spaces[:n]...)
}

// fields writes a map in the given column; when inline, its first line has
// already begun.
func (e *encoder) fields(m map[string]any, col int, inline bool) error {
	// The keys lie on a stack of the encoder's: allocating them for every map
	// costs a third of the time.
	base := len(e.keys)
	for key := range m {
		e.keys = append(e.keys, key)
	}
	end := len(e.keys)
	slices.Sort(e.keys[base:])
	defer func() { e.keys = e.keys[:base] }()
	for i := base; i < end; i++ {
		key := e.keys[i]
		if !inline {
			e.indent(col)
		}
		inline = false
		start := len(e.buf)
		explicit := len(key) > longKey
		if explicit {
			e.buf = append(e.buf, "? "...)
		}
		if err := e.key(key); err != nil {
			return err
		}
		if !explicit && len(e.buf)-start > longKey {
			// Its escapes made it long.
			e.buf = slices.Insert(e.buf, start, '?', ' ')
			explicit = true
		}
		if explicit {
			e.buf = append(e.buf, '\n')
			e.indent(col)
		}
		e.buf = append(e.buf, ':')
		if err := e.child(m[key], col, explicit); err != nil {
			return under(key, err)
		}
	}
	return nil
}

// items writes a list in the given column; when inline, its first line has
// already begun.
func (e *encoder) items(l []any, col int, inline bool) error {
	for i, v := range l {
		if !inline {
			e.indent(col)
		}
		inline = false
		e.buf = append(e.buf, '-')
		if err := e.child(v, col, true); err != nil {
			return under("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

// child writes a value and the end of its line. What precedes it in the line
// is a key's colon, or an indicator of one byte in the given column.
func (e *encoder) child(v any, col int, indicator bool) error {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		return e.fields(v, col+2, e.open(indicator))
	case []any:
		if len(v) == 0 {
			break
		}
		if indicator {
			col += 2
		}
		return e.items(v, col, e.open(indicator))
	}
	e.buf = append(e.buf, ' ')
	if err := e.scalar(v, col+2); err != nil {
		return err
	}
	e.buf = append(e.buf, '\n')
	return nil
}

// open goes to where a collection starts, and reports whether that is in the
// same line.
func (e *encoder) open(indicator bool) (inline bool) {
	if indicator {
		e.buf = append(e.buf, ' ')
	} else {
		e.buf = append(e.buf, '\n')
	}
	return indicator
}

// scalar writes a value without children. The lines of a literal block start
// in the given column.
func (e *encoder) scalar(v any, col int) error {
	switch v := v.(type) {
	case string:
		return e.text(v, col)
	case nil:
		e.buf = append(e.buf, "null"...)
	case hole:
		e.hole = len(e.buf)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case int64:
		e.buf = strconv.AppendInt(e.buf, v, 10)
	case int:
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	case float64:
		return e.float(v)
	case json.Number:
		return e.number(v)
	case map[string]any: // empty, but JSON tells it from a nil one
		e.buf = append(e.buf, either(v == nil, "null", "{}")...)
	case []any:
		e.buf = append(e.buf, either(v == nil, "null", "[]")...)
	default:
		return &diag.Diag{Msg: fmt.Sprintf("a %T is no value of a Kubernetes object", v)}
	}
	return nil
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// float writes a number as JSON does, except for exponents: without a point
// and a sign, YAML 1.1 takes them for text.
func (e *encoder) float(f float64) error {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return &diag.Diag{Msg: fmt.Sprintf("%v is no number of JSON", f)}
	case f == 0 && math.Signbit(f):
		e.buf = append(e.buf, "-0.0"...)
	case f == 0 || 1e-6 <= abs && abs < 1e21:
		e.buf = strconv.AppendFloat(e.buf, f, 'f', -1, 64)
	default:
		digits, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		e.buf = append(e.buf, digits...)
		if !strings.Contains(digits, ".") {
			e.buf = append(e.buf, ".0"...)
		}
		e.buf = append(append(e.buf, 'e'), exp...)
	}
	return nil
}

// number writes a number that was kept as text: an integer as it is, anything
// else as the float that every reader makes of it.
func (e *encoder) number(n json.Number) error {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return e.scalar(i, 0)
	}
	if u, err := strconv.ParseUint(string(n), 10, 64); err == nil {
		e.buf = strconv.AppendUint(e.buf, u, 10)
		return nil
	}
	f, err := n.Float64()
	if err != nil || !json.Valid([]byte(n)) {
		return &diag.Diag{Msg: fmt.Sprintf("%q is no number of 64 bits", string(n))}
	}
	return e.float(f)
}

// under returns the fault err as one of a field or item further up.
func under(step string, err error) error {
	out := *diag.All(err)[0]
	if out.Path != "" && !strings.HasPrefix(out.Path, "[") {
		step += "."
	}
	out.Path = step + out.Path
	return &out
}

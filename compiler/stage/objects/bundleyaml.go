package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// longKey is the length from which a key needs its explicit form: readers limit
// the bytes before the colon of a plain key.
const longKey = 128

// Encode returns the canonical YAML of an object: indentation by two, sorted
// keys, list items in the column of their key, no folded lines, and texts of
// several lines as literal blocks. Readers of YAML 1.1 (kubectl, the API
// server) and YAML 1.2 decode it to the JSON value of obj.
//
// Values have the types of unstructured objects: nil, bool, int, int64,
// float64, [json.Number], string, []any and map[string]any. Other types, floats
// that JSON does not support and invalid UTF-8 are faults with the path of the
// field.
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

// A placeholder marks a value that is written later.
type placeholder struct{}

type encoder struct {
	buf         []byte
	placeholder int      // offset of the placeholder in buf; 0 for none
	keys        []string // stack of the sorted keys of the maps that are being written
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

// fields writes a map in the given column; when inline, the caller has started
// its first line.
func (e *encoder) fields(m map[string]any, col int, inline bool) error {
	// The keys are on a stack of the encoder: allocating them for every map
	// takes a third of the time.
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
			// Escapes made the key long.
			e.buf = slices.Insert(e.buf, start, '?', ' ')
			explicit = true
		}
		if explicit {
			e.buf = append(e.buf, '\n')
			e.indent(col)
		}
		e.buf = append(e.buf, ':')
		if err := e.child(m[key], col, explicit); err != nil {
			return belowStep(key, err)
		}
	}
	return nil
}

// items writes a list in the given column; when inline, the caller has started
// its first line.
func (e *encoder) items(l []any, col int, inline bool) error {
	for i, v := range l {
		if !inline {
			e.indent(col)
		}
		inline = false
		e.buf = append(e.buf, '-')
		if err := e.child(v, col, true); err != nil {
			return belowStep("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

// child writes a value and its line end. Before it on the line is the colon of
// a key, or an indicator of one byte in the given column.
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

// open moves to the start of a collection, and reports whether that is on the
// same line.
func (e *encoder) open(indicator bool) (inline bool) {
	if indicator {
		e.buf = append(e.buf, ' ')
	} else {
		e.buf = append(e.buf, '\n')
	}
	return indicator
}

// scalar writes a value without children. The lines of a literal block start in
// the given column.
func (e *encoder) scalar(v any, col int) error {
	switch v := v.(type) {
	case string:
		return e.text(v, col)
	case nil:
		e.buf = append(e.buf, "null"...)
	case placeholder:
		e.placeholder = len(e.buf)
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
	case map[string]any: // empty, but JSON distinguishes it from a nil map
		e.buf = append(e.buf, either(v == nil, "null", "{}")...)
	case []any:
		e.buf = append(e.buf, either(v == nil, "null", "[]")...)
	default:
		return &diag.Diag{Code: diag.CodeManifestValue, Msg: fmt.Sprintf("a %T is not valid in a Kubernetes object", v)}
	}
	return nil
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

const numberHint = "write a smaller number, or a string in quotes"

// float writes a number like JSON, except for exponents: YAML 1.1 reads those
// without a point and a sign as text.
func (e *encoder) float(f float64) error {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return &diag.Diag{Code: diag.CodeManifestValue, Msg: fmt.Sprintf("%v is not a valid JSON number", f), Hint: numberHint}
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

// number writes a json.Number: an integer unchanged, any other number as the
// float that readers decode.
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
		return &diag.Diag{Code: diag.CodeManifestValue, Msg: fmt.Sprintf("%q is not a number of 64 bits", string(n)), Hint: numberHint}
	}
	return e.float(f)
}

// belowStep adds a step to the path of a fault.
func belowStep(step string, err error) error {
	out := *diag.All(err)[0]
	if out.Path != "" && !strings.HasPrefix(out.Path, "[") {
		step += "."
	}
	out.Path = step + out.Path
	return &out
}

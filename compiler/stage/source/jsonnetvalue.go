package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxValueDepth is the maximum nesting of values that are passed to Jsonnet.
// They become code, with limited brackets.
const maxValueDepth = maxBrackets / 2

// maxExact is the largest integer up to which all integers are exact in
// Jsonnet's numbers, which are 64-bit floats.
const maxExact = 1 << 53

// jsonnetPlain returns a deep copy of a value with Jsonnet's types: nil, bool,
// float64, string, []any and map[string]any. Other types are encoded by
// encoding/json. An integer that does not fit into a float is an error with the
// path of the value.
func jsonnetPlain(v any, depth int) (any, error) {
	if depth > maxValueDepth {
		return nil, &diag.Diag{Code: diag.CodeSourceLimits, Msg: fmt.Sprintf("nests more than %d deep", maxValueDepth), Hint: "nest the value less deep"}
	}
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case int:
		return whole(int64(v))
	case int64:
		return whole(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &diag.Diag{Code: diag.CodeRenderedObject, Msg: fmt.Sprintf("%v is not a valid JSON number", v), Hint: "return a finite number"}
		}
		return v, nil
	case json.Number:
		return number(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = jsonnetPlain(e, depth+1); err != nil {
				return nil, below("["+strconv.Itoa(i)+"]", err)
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			p, err := jsonnetPlain(e, depth+1)
			if err != nil {
				return nil, below("."+k, err)
			}
			out[k] = p
		}
		return out, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decodeJsonnet(data, depth)
}

// decodeJsonnet decodes JSON to Jsonnet's types.
func decodeJsonnet(data []byte, depth int) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return jsonnetPlain(v, depth)
}

func whole(n int64) (any, error) {
	if n > maxExact || n < -maxExact {
		return nil, inexact(strconv.FormatInt(n, 10))
	}
	return float64(n), nil
}

func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return whole(i)
	}
	f, err := n.Float64()
	if err != nil || f == math.Trunc(f) && math.Abs(f) > maxExact && !bytes.ContainsAny([]byte(n), ".eE") {
		return nil, inexact(n.String())
	}
	return f, nil
}

func inexact(n string) error {
	return &diag.Diag{Code: diag.CodeJsonnet, Msg: "Jsonnet cannot represent the number " + n + " exactly: its integers end at 2^53", Hint: "make it a string"}
}

// below adds a step to the path of a fault.
func below(step string, err error) error {
	d, ok := errors.AsType[*diag.Diag](err)
	if !ok {
		return err
	}
	out := *d
	out.Path = step + out.Path
	return &out
}

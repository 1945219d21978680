package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// equal reports whether two JSON values are equal. Values have the types of
// unstructured objects: nil, bool, int, int64, float64, [json.Number], string,
// []any, map[string]any, or secret. A nil map or list is null, as in JSON.
func equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || a == nil || m == nil {
			return a == nil && isNull(b)
		}
		return maps.EqualFunc(a, m, equal)
	case []any:
		l, ok := b.([]any)
		if !ok || a == nil || l == nil {
			return a == nil && isNull(b)
		}
		return slices.EqualFunc(a, l, equal)
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	case secret:
		b, ok := b.(secret)
		return ok && a == b
	case nil:
		return isNull(b)
	}
	x, ok := number(a)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	y, ok := number(b)
	return ok && x == y
}

func isNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return v == nil
	case []any:
		return v == nil
	}
	return false
}

// scalar returns the text of a string, number or bool, and whether v is one.
// Strings that look like numbers are quoted.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return quote(v), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	case json.Number:
		if !json.Valid([]byte(v)) {
			return "", false // it may be any text
		}
	}
	return number(v)
}

// number returns the canonical text of a number, and whether v is a number.
func number(v any) (text string, ok bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return float(v), true
	case json.Number:
		s := string(v)
		if digits := strings.TrimPrefix(s, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
			// An integer of any size.
			if digits = strings.TrimLeft(digits, "0"); digits == "" {
				return "0", true
			}
			return s[:len(s)-len(strings.TrimPrefix(s, "-"))] + digits, true
		}
		f, err := v.Float64()
		if err != nil {
			return s, true
		}
		return float(f), true
	}
	return "", false
}

func float(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// digest writes v to h. Only equal values write the same bytes.
func digest(h hash.Hash, v any) {
	switch v := v.(type) {
	case string:
		digestText(h, 's', v)
		return
	case bool:
		digestText(h, 'b', strconv.FormatBool(v))
		return
	case secret:
		digestText(h, 'x', string(v.sum[:]))
		return
	}
	if isNull(v) {
		digestText(h, 'n', "")
		return
	}
	switch v := v.(type) {
	case map[string]any:
		digestSize(h, 'm', len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			digestText(h, 'k', k)
			digest(h, v[k])
		}
	case []any:
		digestSize(h, 'l', len(v))
		for _, e := range v {
			digest(h, e)
		}
	default:
		if text, ok := number(v); ok {
			digestText(h, 'd', text)
			return
		}
		digestText(h, 'o', fmt.Sprintf("%T %v", v, v))
	}
}

func digestText(h hash.Hash, kind byte, s string) {
	digestSize(h, kind, len(s))
	h.Write([]byte(s))
}

func digestSize(h hash.Hash, kind byte, n int) {
	var b [9]byte
	b[0] = kind
	binary.BigEndian.PutUint64(b[1:], uint64(n))
	h.Write(b[:])
}

// A sum is the digest of a value.
type sum [sha256.Size]byte

func sumOf(v any) (s sum) {
	h := sha256.New()
	digest(h, v)
	h.Sum(s[:0])
	return s
}

package objects

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// The examples of RFC 7386, appendix A, with objects.
func TestRFC7386(t *testing.T) {
	for _, test := range []struct{ original, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":1}`, `{"a":{"b":{"c":null,"d":1}}}`, `{"a":{"b":{"d":1}}}`},
		{`{"a":1}`, `{"a":[{"b":null}]}`, `{"a":[{"b":null}]}`},
	} {
		original, patch := decodedMap(t, test.original), decodedMap(t, test.patch)
		MergeJSON(original, patch)
		if got := text(t, original); got != test.want {
			t.Errorf("%s with %s: %s, want %s", test.original, test.patch, got, test.want)
		}
		if got := text(t, patch); got != text(t, decoded(t, test.patch)) {
			t.Errorf("the patch %s becomes %s", test.patch, got)
		}
	}
}

func TestNative(t *testing.T) {
	for _, test := range []struct{ in, want any }{
		{json.Number("3"), int64(3)},
		{json.Number("9223372036854775807"), int64(math.MaxInt64)},
		{json.Number("12345678901234567890"), 12345678901234567890.0},
		{json.Number("0.5"), 0.5},
		{json.Number("1e400"), json.Number("1e400")},
		{2.0, int64(2)},
		{2.5, 2.5},
		{1e300, 1e300},
		{7, int64(7)},
		{int64(7), int64(7)},
		{map[string]any{"a": []any{1.0, nil, "1", true}}, map[string]any{"a": []any{int64(1), nil, "1", true}}},
	} {
		if got := native(test.in); !reflect.DeepEqual(got, test.want) {
			t.Errorf("native(%v) is %T %v, want %T %v", test.in, got, got, test.want, test.want)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true},
		{1.0, int64(1), true},
		{int64(1), 1.5, false},
		{int64(math.MaxInt64), float64(math.MaxInt64), false},
		{int64(math.MinInt64), float64(math.MinInt64), true},
		{int64(1), "1", false},
		{nil, nil, true},
		{nil, "", false},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{map[string]any{"a": []any{int64(1)}}, map[string]any{"a": []any{1.0}}, true},
		{[]any{}, map[string]any{}, false},
		{[]any{"a"}, []any{"a", "b"}, false},
		{[]string{"a"}, []string{"a"}, true}, // not JSON, must not panic
	} {
		if got := equal(test.a, test.b); got != test.want {
			t.Errorf("equal(%v, %v) is %t", test.a, test.b, got)
		}
		if got := equal(test.b, test.a); got != test.want {
			t.Errorf("equal(%v, %v) is %t", test.b, test.a, got)
		}
	}
}

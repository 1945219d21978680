package diff

import (
	"encoding/json"
	"math"
	"testing"
)

func TestEqual(t *testing.T) {
	var noMap map[string]any
	var noList []any
	classes := [][]any{ // values of one class are equal, and differ from all others
		{nil, noMap, noList},
		{map[string]any{}},
		{[]any{}},
		{true},
		{false},
		{"1"},
		{1, int64(1), 1.0, json.Number("1"), json.Number("1.0"), json.Number("10e-1")},
		{0, 0.0, math.Copysign(0, -1), json.Number("-0"), json.Number("0"), json.Number("0.0")},
		{0.5, json.Number("0.5"), json.Number("5e-1")},
		{-3, -3.0, json.Number("-3")},
		{int64(math.MaxInt64), json.Number("9223372036854775807")},
		{float64(math.MaxInt64), json.Number("9223372036854775808.0"), 1 << 63 * 1.0},
		{json.Number("18446744073709551615")},
		{json.Number("18446744073709551614")},
		{json.Number("1e999")},
		{math.NaN(), math.NaN()},
		{math.Inf(1)},
		{[]any{1}, []any{1.0}},
		{[]any{1, 2}},
		{[]any{2, 1}},
		{map[string]any{"a": nil}, map[string]any{"a": noMap}},
		{map[string]any{"b": nil}},
		{map[string]any{"a": 1}},
		{map[string]any{"a": 1, "b": 2}, map[string]any{"b": 2.0, "a": int64(1)}},
		{secret{size: 1}},
		{secret{size: 2}, secret{size: 2}},
		{uint8(1)}, // not in objects, but it must not panic
		{[]string{"a"}, []string{"a"}},
	}
	for i, class := range classes {
		for j, other := range classes {
			for _, a := range class {
				for _, b := range other {
					if equal(a, b) != (i == j) {
						t.Errorf("%T %v and %T %v: equal is %t", a, a, b, b, i != j)
					}
					// The length of a secret follows from its sum.
					_, isSecret := a.(secret)
					if (sumOf(a) == sumOf(b)) != (i == j) && !isSecret {
						t.Errorf("%T %v and %T %v: their digests are equal: %t", a, a, b, b, i != j)
					}
				}
			}
		}
	}
}

func TestDigestTellsNestingApart(t *testing.T) {
	seen := map[sum]string{}
	for _, text := range []string{
		`["a","b"]`, `["ab"]`, `[["a"],"b"]`, `[["a","b"]]`, `{"a":"b"}`, `{"a":["b"]}`, `["a",["b"]]`, `[[],"a"]`, `[["a"]]`, `["a",[]]`,
		`{"a":{},"b":1}`, `{"a":{"b":1}}`, `"a"`, `"true"`, `true`, `"null"`, `null`, `1`, `"1"`, `{}`, `[]`, `""`,
	} {
		s := sumOf(decoded(t, text))
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s have one digest", text, other)
		}
		seen[s] = text
	}
}

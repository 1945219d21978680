package fleet

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func TestTreeOf(t *testing.T) {
	v := map[string]any{
		"text": "a", "yes": true, "none": nil, "whole": int64(1 << 60), "part": 0.25, "large": 1e300,
		"list": []any{int64(1), []any{}, map[string]any{}}, "empty": map[string]any{},
	}
	tree, err := TreeOf(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := tree.Native(); !reflect.DeepEqual(got, v) {
		t.Errorf("%v becomes %v", v, got)
	}
	for text, want := range map[string]any{
		"1E+400": json.Number("1E+400"), "18446744073709551615": json.Number("18446744073709551615"), "9223372036854775808": json.Number("9223372036854775808"),
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64), "9007199254740993": int64(1<<53 + 1),
		"100000000000000000000": 1e20, "1E+3": 1000.0, "0.1": 0.1, "18446744073709551615.0": 18446744073709551615.0,
	} {
		if got := (&Tree{Scalar: json.Number(text)}).Native(); got != want {
			t.Errorf("the number %s becomes %#v", text, got)
		}
	}
	for _, bad := range []any{math.NaN(), map[string]any{"a": []any{math.Inf(1)}}} {
		if tree, err := TreeOf(bad); err == nil {
			t.Errorf("%v becomes %v", bad, tree.Value())
		}
	}
}

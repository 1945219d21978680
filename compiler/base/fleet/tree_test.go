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
	if got := (&Tree{Scalar: json.Number("1E+400")}).Native(); got != json.Number("1E+400") {
		t.Errorf("a number out of range becomes %#v", got)
	}
	for _, bad := range []any{math.NaN(), map[string]any{"a": []any{math.Inf(1)}}} {
		if tree, err := TreeOf(bad); err == nil {
			t.Errorf("%v becomes %v", bad, tree.Value())
		}
	}
}

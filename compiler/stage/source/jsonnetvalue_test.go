package source

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func TestPlain(t *testing.T) {
	type own struct {
		A int               `json:"a"`
		B map[string]string `json:"b,omitempty"`
	}
	for _, test := range []struct{ in, want any }{
		{nil, nil},
		{true, true},
		{"x", "x"},
		{1, 1.0},
		{int64(-1), -1.0},
		{1.5, 1.5},
		{json.Number("1e3"), 1000.0},
		{json.Number("1e300"), 1e300},
		{json.Number("9007199254740992"), 9007199254740992.0},
		{[]any{1, nil}, []any{1.0, nil}},
		{[]string{"a"}, []any{"a"}},
		{map[string]any{"a": []any{}}, map[string]any{"a": []any{}}},
		{own{A: 1}, map[string]any{"a": 1.0}},
		{uint8(3), 3.0},
	} {
		if got, err := jsonnetPlain(test.in, 0); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%#v: got %#v, %v", test.in, got, err)
		}
	}
}

func TestPlainFaults(t *testing.T) {
	deep := any("x")
	for range maxValueDepth + 1 {
		deep = []any{deep}
	}
	for _, test := range []struct {
		in        any
		path, msg string
	}{
		{map[string]any{"a": []any{int64(1<<53 + 1)}}, ".a[0]", "Jsonnet cannot represent the number 9007199254740993 exactly: its integers end at 2^53"},
		{json.Number("-9007199254740993"), "", "Jsonnet cannot represent the number -9007199254740993 exactly: its integers end at 2^53"},
		{json.Number("123456789012345678901234567890"), "", "Jsonnet cannot represent the number 123456789012345678901234567890 exactly: its integers end at 2^53"},
		{json.Number("1e999"), "", "Jsonnet cannot represent the number 1e999 exactly: its integers end at 2^53"},
		{math.Inf(1), "", "+Inf is not a valid JSON number"},
		{[]any{math.NaN()}, "[0]", "NaN is not a valid JSON number"},
	} {
		_, err := jsonnetPlain(test.in, 0)
		if d := diag.All(err); len(d) != 1 || d[0].Path != test.path || d[0].Msg != test.msg {
			t.Errorf("%v: got %v", test.in, err)
		}
	}
	if _, err := jsonnetPlain(deep, 0); err == nil || diag.All(err)[0].Msg != "nests more than 200 deep" {
		t.Errorf("got %v", err)
	}
	if _, err := jsonnetPlain(func() {}, 0); err == nil {
		t.Error("a function is a value")
	}
}

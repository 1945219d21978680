package validate

import (
	"math"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

// messages returns the faults of a value, without the release.
func messages(check func(w *walk)) string {
	v, _ := kube.Minor("1.36")
	w := &walk{object: object(map[string]any{"kind": "A"}), version: v, ordered: true, path: []step{{name: "x"}}}
	check(w)
	return strings.ReplaceAll(strings.ReplaceAll(comment(w.faults.Err()), "# x ", ""), "\n", ";")
}

func TestScalar(t *testing.T) {
	int32s := &kube.Schema{Type: kube.Integer, Format: "int32"}
	int64s := &kube.Schema{Type: kube.Integer, Format: "int64"}
	date := &kube.Schema{Type: kube.String, Format: "date-time"}
	base64s := &kube.Schema{Type: kube.String, Format: "byte"}
	enum := &kube.Schema{Type: kube.String, Enum: []string{"", "A", "B"}}
	for _, tt := range []struct {
		schema *kube.Schema
		value  any
		want   string
	}{
		{&kube.Schema{Type: kube.String}, "", ""},
		{&kube.Schema{Type: kube.String}, nil, ""},
		{&kube.Schema{Type: kube.String}, []any{}, "is a list, not a string;#   hint: write it as one text, in YAML as a block after |;"},
		{&kube.Schema{Type: kube.Boolean}, false, ""},
		{&kube.Schema{Type: kube.Boolean}, "yes", `is a string ("yes"), not a bool;`},
		{&kube.Schema{Type: kube.Boolean}, int64(1), "is a number (1), not a bool;"},
		{&kube.Schema{Type: kube.Number}, 1.5, ""},
		{&kube.Schema{Type: kube.Number}, int64(1), ""},
		{&kube.Schema{Type: kube.Number}, true, "is a bool (true), not a number;"},
		{int32s, int64(math.MaxInt32), ""},
		{int32s, int64(math.MinInt32), ""},
		{int32s, int64(math.MaxInt32 + 1), "is 2147483648, more than 32 bits can hold;"},
		{int32s, 3.0, ""},
		{int32s, 3.5, "is 3.5, not an integer;"},
		{int32s, math.Inf(1), "is +Inf, not an integer;"},
		{int32s, math.NaN(), "is a number, not an integer;"},
		{int64s, int64(math.MaxInt64), ""},
		{int64s, int64(math.MinInt64), ""},
		{int64s, float64(math.MaxInt64), "is " + show(float64(math.MaxInt64)) + ", more than 64 bits can hold;"},
		{int64s, 1e30, "is 1e+30, more than 64 bits can hold;"},
		{&kube.Schema{Type: kube.IntOrString}, "http", ""},
		{&kube.Schema{Type: kube.IntOrString}, int64(8080), ""},
		{&kube.Schema{Type: kube.IntOrString}, int64(math.MaxInt64), "is 9223372036854775807, more than 32 bits can hold;"},
		{&kube.Schema{Type: kube.IntOrString}, map[string]any{}, "is a map, not an integer or a string;"},
		{&kube.Schema{Type: kube.Quantity}, " 1Gi ", ""},
		{&kube.Schema{Type: kube.Quantity}, 0.5, ""},
		{&kube.Schema{Type: kube.Quantity}, "1e3", ""},
		{&kube.Schema{Type: kube.Quantity}, "12.5Mi", ""},
		{&kube.Schema{Type: kube.Quantity}, "1gb", `is "1gb", which is not a valid quantity;#   hint: write it as 100m, 0.5, 2, 512Mi or 1Gi;`},
		{date, "2026-01-02T03:04:05.678+02:00", ""},
		{date, "2026-01-02", `is "2026-01-02", which is not a valid date and time;#   hint: write it as 2006-01-02T15:04:05Z;`},
		{base64s, "YQ==", ""},
		{base64s, "Y\nQ=\r\n=", ""},
		{base64s, "YQ", "is not valid base64: its byte 0 does not belong there;#   hint: encode it in base64;"},
		{base64s, "YWJj-", "is not valid base64: its byte 4 does not belong there;#   hint: encode it in base64;"},
		{enum, "A", ""},
		{enum, "", ""},
		{enum, "b", `is "b", not one of A, B;#   hint: did you mean B?;`},
		{&kube.Schema{Type: kube.Any}, []any{nil}, ""},
	} {
		got := messages(func(w *walk) { w.value(tt.schema, tt.value) })
		if got != tt.want {
			t.Errorf("%+v of %v: got %s, want %s", *tt.schema, tt.value, got, tt.want)
		}
	}
}

// No message shows values of Secrets.
func TestQuiet(t *testing.T) {
	for _, s := range []*kube.Schema{
		{Type: kube.String, Enum: []string{"A"}},
		{Type: kube.String, Format: "date-time"},
		{Type: kube.String, Format: "byte"},
		{Type: kube.Integer},
		{Type: kube.Quantity},
		{Type: kube.List},
	} {
		got := messages(func(w *walk) {
			w.quiet = true
			w.value(s, "hunter2!")
		})
		if got == "" || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", s.Type, got)
		}
	}
}

func TestShow(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"a", `"a"`},
		{"a\x00\u202e\xff", `"a\x00\u202e\xff"`},
		{strings.Repeat("é", 40), `"` + strings.Repeat("é", 30) + `…"`},
		{1e6, "1e+06"},
		{int64(3), "3"},
		{true, "true"},
		{nil, "<nil>"},
		{map[string]any{}, "a map"},
	} {
		if got := show(tt.value); got != tt.want {
			t.Errorf("show(%v) = %s, want %s", tt.value, got, tt.want)
		}
	}
}

// Two values have the same text only if they are equal for the API server.
func TestScalarText(t *testing.T) {
	texts := map[string]any{}
	for _, v := range []any{"1", int64(1), 1.5, true, "true", "", nil} {
		text, ok := scalarText(v)
		if ok != (v != nil) {
			t.Errorf("scalarText(%v): %v", v, ok)
		}
		if other, twice := texts[text]; twice && ok {
			t.Errorf("%v and %v are the same", v, other)
		}
		texts[text] = v
	}
	whole, _ := scalarText(int64(80))
	float, _ := scalarText(80.0)
	if whole != float {
		t.Errorf("80 is %s and %s", whole, float)
	}
}

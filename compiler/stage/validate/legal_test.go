package validate

import (
	"strings"
	"testing"
)

func TestLegalTexts(t *testing.T) {
	for _, key := range []string{"a", "A_b-c.d", "example.com/a", strings.Repeat("a", 63)} {
		if !isLabelKey(key) {
			t.Errorf("the key %q is refused", key)
		}
	}
	for _, key := range []string{"", "a/b/c", "/a", "a/", "Example.com/a", "-a", "a b", strings.Repeat("a", 64)} {
		if isLabelKey(key) {
			t.Errorf("the key %q is taken", key)
		}
	}
	for _, value := range []string{"", "a", "1.2.3", "A_b"} {
		if !isLabelValue(value) {
			t.Errorf("the value %q is refused", value)
		}
	}
	for _, value := range []string{"a/b", "-", "a ", "é", strings.Repeat("a", 64)} {
		if isLabelValue(value) {
			t.Errorf("the value %q is taken", value)
		}
	}
}

func TestAnnotationsSize(t *testing.T) {
	check := func(n int) string {
		return messages(func(w *walk) {
			w.annotations(map[string]any{"annotations": map[string]any{"a": strings.Repeat("b", n-1)}})
		})
	}
	if got := check(maxAnnotations); got != "" {
		t.Errorf("256 KiB: %s", got)
	}
	if got, want := check(maxAnnotations+1), "# x.annotations is larger than 256 KiB in total;#   hint: keep long texts in a ConfigMap;"; got != want {
		t.Errorf("more: %s", got)
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		value     any
		low, high float64
		want      string
	}{
		{int64(0), 0, 10, ""},
		{10.0, 0, 10, ""},
		{int64(11), 0, 10, "# x.f is 11, not within 0 and 10;"},
		{int64(-1), 0, unbounded, "# x.f is -1, less than 0;"},
		{"11", 0, 10, ""},
		{nil, 1, 10, ""},
	} {
		if got := messages(func(w *walk) { w.within(map[string]any{"f": tt.value}, "f", tt.low, tt.high) }); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.value, got, tt.want)
		}
	}
}

func TestShare(t *testing.T) {
	for _, legal := range []any{int64(0), int64(3), "0%", "25%", "100%", nil} {
		if got := messages(func(w *walk) { w.share(map[string]any{"f": legal}, "f") }); got != "" {
			t.Errorf("%v: %s", legal, got)
		}
	}
	for _, illegal := range []any{int64(-1), "25", "a%", "%", "-1%"} {
		if got := messages(func(w *walk) { w.share(map[string]any{"f": illegal}, "f") }); got == "" {
			t.Errorf("%v is taken", illegal)
		}
	}
}

package main

import "testing"

// TestAppliedText checks how a note about a conflict shows a value: angle brackets,
// which a hidden value of a secret has, are not escaped.
func TestAppliedText(t *testing.T) {
	for _, c := range []struct {
		value  any
		exists bool
		want   string
	}{
		{"<secret 3 bytes #1a2b>", true, `"<secret 3 bytes #1a2b>"`},
		{"a & b\n", true, `"a & b\n"`},
		{int64(5), true, "5"},
		{nil, false, "none"},
	} {
		if got := appliedText(c.value, c.exists); got != c.want {
			t.Errorf("%v is shown as %s, want %s", c.value, got, c.want)
		}
	}
}

package cluster

import "testing"

// A truncated log contains only complete lines.
func TestCompleteLines(t *testing.T) {
	for _, test := range []struct{ log, want string }{
		{"", ""},
		{"a\nhunt", "a\nhunt"},
		{"ab\nhunter2", "ab\n"},
		{"hunter2hunter2", ""},
		{"hunter234\n", "hunter234\n"},
	} {
		if got := string(completeLines([]byte(test.log), 10)); got != test.want {
			t.Errorf("%q becomes %q, not %q", test.log, got, test.want)
		}
	}
}

package lsp

import "testing"

// The range of a position in an older, longer text is within the text.
func TestRangeOf(t *testing.T) {
	for _, test := range []struct {
		text       string
		line, col  int
		start, end position
	}{
		{"a: 1\nb: \"c d\" // x\n", 2, 4, position{1, 3}, position{1, 8}},
		{"a: 1\n\tb: 2\r\n", 2, 0, position{1, 1}, position{1, 5}},
		{"é𝄞: x\n", 1, 9, position{0, 5}, position{0, 6}},
		{"a: 1\nb", 7, 3, position{1, 1}, position{1, 1}},
		{"a: 1\n", 1, 99, position{0, 4}, position{0, 4}},
		{"", 3, 0, position{2, 0}, position{2, 0}}, // of a file that cannot be read
	} {
		if got := rangeOf(test.text, test.line, test.col); got != (textRange{test.start, test.end}) {
			t.Errorf("%d:%d of %q is %v", test.line, test.col, test.text, got)
		}
	}
}

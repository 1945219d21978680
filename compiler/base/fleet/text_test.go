package fleet

import (
	"crypto/sha256"
	"testing"
)

func TestText(t *testing.T) {
	const want = "one\ntwo\nthree\n"
	for _, text := range []Text{
		{[]byte(want)},
		{nil, []byte(want)},
		{nil, nil, []byte(want)},
		{[]byte("one\n"), []byte("two\n"), []byte("three\n")},
		{[]byte("o"), nil, []byte(want[1:])},
	} {
		if text.String() != want || text.Len() != len(want) || text.Sum() != sha256.Sum256([]byte(want)) {
			t.Errorf("%q is %q of %d bytes, %s", text, text.String(), text.Len(), text.Sum())
		}
		if got := string(text.AppendTo([]byte("zero\n"))); got != "zero\n"+want {
			t.Errorf("got %q", got)
		}
		for data, equal := range map[string]bool{want: true, want[1:]: false, want + "\n": false, "": false, "One\ntwo\nthree\n": false, "one\ntwo\nthreE\n": false} {
			if text.Equal([]byte(data)) != equal {
				t.Errorf("%q equals %q: %v", text, data, !equal)
			}
		}
	}
	if !(Text{}).Equal(nil) || (Text{}).Equal([]byte("x")) {
		t.Error("an empty text is not empty")
	}
}

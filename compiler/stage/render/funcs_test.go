package render

import (
	"reflect"
	"testing"
)

// FuzzFromYAML compares fromYaml with Helm's.
func FuzzFromYAML(f *testing.F) {
	for _, s := range []string{
		"", "~", "a", "- a", "a: 1\nb: -12\nc: 1.5\nd: [1, x]\ne:\n- f: 0\n", "a: 123456789012345678\n", "a: 1\na: 2\n", "a: b: c", "a: \"<&>\"\nb: '\u2027'\n", "{a: 1}", "1: a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := fromYAML(s), decodeMap(s, yamlUnmarshal); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v", s, got, want)
		}
	})
}

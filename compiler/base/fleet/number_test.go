package fleet

import (
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestInexactIntegers(t *testing.T) {
	for text, want := range map[string]int{
		"9223372036854775807": 0, "-9223372036854775808": 0, "9223372036854775808": 1, "-9223372036854775809": 1, "18446744073709551615": 1,
		"123456789012345678901234567890": 1, "100000000000000000000": 0, "0xffffffffffffffff": 1, "0x7fffffffffffffff": 0,
		`"18446744073709551615"`: 0, "1.8446744073709552e+19": 0, "|\n  18446744073709551615": 0, "[18446744073709551615, {a: 18446744073709551616}]": 2,
		"v18446744073709551615": 0, "!!str 18446744073709551615": 0,
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte("a: "+text), &doc); err != nil {
			t.Fatal(err)
		}
		if got := InexactIntegers(&doc); len(got) != want {
			t.Errorf("%s has %d inexact integers", text, len(got))
		}
	}
}

func TestFindRounded(t *testing.T) {
	// The quoted numbers are texts, which no tool rounds.
	const text = "a: \"9007199254740993\"\nb: '9007199254740993'\nc: '{\"a\": \"9007199254740993\"}'\nd: 9007199254740993\n"
	for _, test := range []struct {
		value any
		want  string
	}{
		{int64(9007199254740992), "f.yaml:4:4"},
		{float64(9007199254740992), "f.yaml:4:4"},
		{int64(9007199254740993), ""},
		{"9007199254740993", ""},
		{int64(1), ""},
		{[]any{map[string]any{"a": int64(9007199254740992)}}, "f.yaml:4:4"},
	} {
		o := Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"kind": "A", "spec": test.value}}}
		pos, _, _, _ := FindRounded([]Object{o}, map[string][]byte{"f.yaml": []byte(text)})
		if pos.String() != test.want {
			t.Errorf("%v is found at %q, not at %q", test.value, pos, test.want)
		}
		separated := []byte("d: 9_007_199_254_740_993\n")
		if pos, number, _, ok := FindRounded([]Object{o}, map[string][]byte{"f.yaml": separated}); ok != (test.want != "") || ok && (pos.Col != 4 || number != "9007199254740993") {
			t.Errorf("%v with separators: %v %s, %t", test.value, pos, number, ok)
		}
		o.Object["kind"] = "CustomResourceDefinition"
		if _, _, _, ok := FindRounded([]Object{o}, map[string][]byte{"f.yaml": []byte(text)}); ok {
			t.Errorf("%v is found in a CRD", test.value)
		}
	}
}

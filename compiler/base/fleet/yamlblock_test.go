package fleet

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// fully decodes a document with Kubernetes' libraries.
func fully(text string) (v any, err error) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(data, &v)
	}
	return v, err
}

// same tests that a decoded value equals that of the full parser, and reports
// whether the document is in the subset.
func same(t *testing.T, text string) bool {
	t.Helper()
	got, ok := DecodeYAML(text)
	if !ok {
		return false
	}
	want, err := fully(text)
	if err != nil {
		t.Errorf("%v is decoded, and there is an error: %v\n%s", got, err, text)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v\nwant %#v\nof\n%s", got, want, text)
	}
	return true
}

// simple are documents in the subset.
var simple = []string{
	"", "\n", "# c\n", "---\n", "a: \"x\n  y\"\n", "a: 'x\n\n  y''z\n   '\n", "a: \"x \\\"\n  # y\" # c\nb: c\n", "- 'x\n  y'\n- a\n", "a:\n  {}\nb:\n  []\nc:\n  x\n  y\nd:\n  'z'\n",
	"a: 1", "a: 1\n", "---\na: b\n", "# c\n\n---\n# d\na: b # c\n\n# e\n", "- a\n- b\n", "-\n  a: 1\n-\n- b: 2\n  c: 3\n", "a:\n", "a: # c\nb: x#y\n",
	"a:\n- 1\n- b\nc: d\n", "a:\n  - 1\n  -  b: c\n     d: e\n", "a:\n  b:\n    c: d\n  e: f\ng: h\n", "- - a\n  - b\n- - c\n",
	"a: true\nb: false\nc: null\nd: ~\ne: yesterday\nf: nothing\ng: on-call\n", "a: 0\nb: 12\nc: -12\nd: 1.5\ne: 0x1f\nf: 1e3x\ng: 1.2.3\nh: 10Gi\ni: 0.5\nj: 1_000\n",
	"c: 0o17\nd: 017\ne: +1\nf: .5\nh: 1e400\ni: 2001-12-14\nj: 2001-12-14T21:59:43Z\n", "a: 'x'\nb: \"y\"\nc: 'it''s'\nd: \"a \\\"b\\\" \\\\ \\n \\t\"\ne: '' # c\nf: \"\"\n",
	"\"a b\": 1\n'c': 2\n", "a: {}\nb: []\nc: [] # d\nd: [a, \"b\", 'c', 1, true]\ne: [\"\"]\n", "a: foo\n  bar\n\n\n  baz # c\nb: x\n",
	"a: foo\n  - bar\n  \"q\" x\nb: x\n", "- foo\n  bar\n- b\n", "a: |\n  x\n   y\n\n  z\nb: c\n", "a: |-\n  x\n\n\nb: c\n", "a: |+\n  x\n\n\nb: c\n",
	"a: |\n\n  x # no comment\n  # none either\n  \tb\n", "- |\n x\n- b\n", "a:\n- |-\n  x\n  y: z\n", "a: |\n  x\n    \n  \n", "a: ümlaut\nb: \"日本\"\n", "a: http://x/y?z=1#2\nb: a:b\nc: a,b\n",
	"a: \"x\\\n  y\"\n", "a: \"x \\\n  \\  y\\ z\\n\\\n\n\n  \\\n  z\"\n", "a: \"x\\\\\n  y\"\n", "a: \"x\\\\\\\n  y\"\n", "a: 'x\\\n  y'\n",
	"a: --flag=x\nb: -x\nc: $(A)\nd: (x)\ne: a - b\nf: /x\n", "a.b/c-d_e$f: x\n", "a: x\\ny\n", "  a: 1\n  b: 2\n",
}

// other are documents that need the full parser, or are invalid.
var other = []string{
	"a", "a: &x 1\nb: *x\n", "a: !!str 1\n", "<<: {a: 1}\n", "\"<<\": {a: 1}\n", "a: >\n  x\n", "a: |2\n  x\n", "a: {b: c}\n", "a: [[b]]\n", "a: [b\n c]\n",
	"a: \"x\n y\n", "a: 'x\ny'\n", "a: \"x\\ \n  y\"\n", "? a\n: b\n", "a: 1\na: 2\n", "a: b: c\n", "a: b\n c: d\n", "a:\n    b: 1\n  c: 2\n", "a: 1\n---\nb: 2\n", "a: 1\n...\n", "%YAML 1.1\n---\na: 1\n",
	"a:\tb\n", "a: yes\n", "yes: a\n", "1: a\n", "a: 1.0\n", "a: .inf\n", "a: .nan\n", "a: -.Inf\n", "a: 08\n", "a: 18446744073709551615\n", "a: @b\n", "a: `b`\n", "a: - b\n", "a: \"\\u0041\"\n",
	"a: x\r\n", "a: \u0085x\n", "a: \ufeffx\n", "a: \xff\n", "a: 12\n  13\n", "- a\nb: c\n", "a: - \n", "a: |\n", "a: |\n    \n  x\n", "a: |\n  x", "a:b\n", "a: x # c\n  y\n", "a: x:\n", "a : b\n",
	"a: 2001-12-14\n  21:59:43\n", "a: [b: c]\n", "a: 'b' c\n", strings.Repeat("- ", maxDepth+2) + "a\n", strings.Repeat("k", maxKey+1) + ": a\n",
	`"` + strings.Repeat(`\n`, 600) + `": a`, "'" + strings.Repeat("''", 600) + "': a",
}

func TestDecode(t *testing.T) {
	for _, text := range simple {
		if !same(t, text) {
			t.Errorf("not decoded:\n%s", text)
		}
	}
	for _, text := range other {
		if same(t, text) {
			t.Errorf("decoded:\n%s", text)
		}
	}
}

// TestDecodeFiles decodes exported files, files of charts and invalid files.
func TestDecodeFiles(t *testing.T) {
	decoded, all := 0, 0
	err := filepath.WalkDir("../../../testdata", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(file)
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			ok := same(t, doc) || same(t, doc+"\n")
			if strings.Contains(file, "golden") {
				all++
				if ok {
					decoded++
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all < 50 || decoded < all*9/10 {
		t.Errorf("%d of %d objects are decoded", decoded, all)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range append(simple, other...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { same(t, text) })
}

// TestMergeKeys checks that a key overrides that of a merged map, as in kubectl, and that
// duplicate keys are errors.
func TestMergeKeys(t *testing.T) {
	const merged = "a: &a {x: 1, k: 2}\n"
	for text, want := range map[string]string{
		"b: {<<: *a, k: 3}":                       `{"a":{"k":2,"x":1},"b":{"k":3,"x":1}}`,
		"b: {!!merge <<: *a, k: 3}":               `{"a":{"k":2,"x":1},"b":{"k":3,"x":1}}`,
		"b: {<<: [*a, {x: 4, z: 5}]}":             `{"a":{"k":2,"x":1},"b":{"k":2,"x":1,"z":5}}`,
		"b: {<<: *a, \"k\": 3}\nc: [{<<: *a}]":    `{"a":{"k":2,"x":1},"b":{"k":3,"x":1},"c":[{"k":2,"x":1}]}`,
		"b: {z: 3, <<: *a}":                       `{"a":{"k":2,"x":1},"b":{"k":2,"x":1,"z":3}}`,
		"b: {<<: *a, k: 3, k: 4}":                 "",
		"b: {k: 2, <<: *a, x: 3}":                 `{"a":{"k":2,"x":1},"b":{"k":2,"x":3}}`,
		"b: &b {<<: *a, x: 3}\nc: {x: 3, <<: *b}": `{"a":{"k":2,"x":1},"b":{"k":2,"x":3},"c":{"k":2,"x":3}}`,
		"b: &b {<<: *a, z: 3}\nc: {x: 3, <<: *b}": "",
		"b: {k: 3, <<: [{z: 1}, *a]}":             "",
		"b: {k: '2', <<: *a}":                     "",
		"b: {k: 3, <<: *a}":                       "",
		"b: {<<: *a, <<: *a}":                     "",
		"b: {<<: *a, k: 3}\nb: 1":                 "",
		"b: {<<: *a, k: 3}\nc: {yes: 1, on: 2}":   "",
		"b: {<<: *a, k: 3}\nc: {1: 1, 0x1: 2}":    "",
		"b: &b {<<: *b, k: 3, x: 1}":              "",
	} {
		data, err := YAMLToJSON([]byte(merged + text))
		if string(data) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v, want %s", text, data, err, want)
		}
		if v, err := UnmarshalYAML([]byte(merged + text)); (err == nil) != (want != "") {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
}

// TestReadersAgree checks on random documents with merge keys that yaml.v3, which follows
// YAML 1.2, reads what UnmarshalYAML reads.
func TestReadersAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	overrides := 0
	for range 8000 {
		var b strings.Builder
		for i := range 4 {
			fmt.Fprintf(&b, "k%d: &k%d {", i, i)
			for n := range random.IntN(4) {
				if n > 0 {
					b.WriteString(", ")
				}
				switch kind := random.IntN(6); {
				case kind == 0 && i > 0:
					fmt.Fprintf(&b, "<<: *k%d", random.IntN(i))
				case kind == 1 && i > 0:
					fmt.Fprintf(&b, "<<: [*k%d, {x: %d}]", random.IntN(i), random.IntN(2))
				default:
					fmt.Fprintf(&b, "%c: %d", "xzw"[random.IntN(3)], random.IntN(2))
				}
			}
			b.WriteString("}\n")
		}
		text := []byte(b.String())
		got, err := UnmarshalYAML(text)
		if err != nil || goyaml.UnmarshalStrict(text, new(any)) == nil {
			continue
		}
		overrides++
		var want any
		if err := yamlv3.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: %v, want %v", text, got, want)
		}
	}
	if overrides < 200 {
		t.Errorf("%d documents with overrides are accepted", overrides)
	}
}

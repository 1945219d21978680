package edit

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"go.yaml.in/yaml/v3"
)

func TestReplacePart(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("0a", 32), "sha256:"+strings.Repeat("0b", 32)
	for _, test := range []struct{ before, after, text, want string }{
		{"r.example/a:1.0", "r.example/a:1.1", "1.0", "1.1"},
		{"r.example/a:1.0", "r.example/a:1.1", "r.example/a:1.0", "r.example/a:1.1"},
		{"r.example/a:1.0", "r.example/a:1.1", "a:1.0", "a:1.1"},
		{"r.example/a:1.0", "r.example/a:1.1", "r.example", "r.example"},
		{"r.example/a:v1.0", "r.example/a:v1.1", "1.0", "1.1"},
		{"r.example/a:v1.0", "r.example/a:1.1", "1.0", ""}, // the chart writes v before it
		{"a:1.27-alpine", "a:1.28-alpine", "1.27", "1.28"},
		{"a:1.27-alpine", "a:1.28-alpine", "alpine", ""},
		{"a:1.0@" + a, "a:1.1@" + b, "1.0@" + a, "1.1@" + b},
		{"a:1.0@" + a, "a:1.1@" + b, a, b},
		{"a:1.0@" + a, "a:1.1@" + b, strings.TrimPrefix(a, "sha256:"), strings.TrimPrefix(b, "sha256:")},
		{"a:1.0@" + a, "a:1.1@" + b, "1.0", "1.1"},
		{"mirror.example/a:1.0", "mirror.example/a:1.1", "docker.io/a:1.0", "docker.io/a:1.1"}, // renamed by a patch
		{"a:1.0", "a:1.1", "b", ""},
	} {
		got, err := replacePart(fleet.ParseImage(test.before), fleet.ParseImage(test.after), test.text, strings.Index(test.before, test.text))
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s to %s: %q becomes %q, %v, want %q", test.before, test.after, test.text, got, err, test.want)
		}
	}
}

// A text in YAML is replaced only if it is written in one line as it is.
func TestEditYAML(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"image: a:1.0 # c\n", "image: a:1.1 # c\n"},
		{"image: \"a:1.0\"\n", "image: \"a:1.1\"\n"},
		{"x: {ü: ä, image: 'a:1.0' }\r\n", "x: {ü: ä, image: 'a:1.1' }\r\n"},
		{"a: b\n---\nargs: [--image=a:1.0]\n", "a: b\n---\nargs: [--image=a:1.1]\n"},
		{"image: |\n  a:1.0\n", ""},
		{"image: \"a\\x3a1.0\"\n", ""},
		{"image: &x a:1.0\nother: *x\n", ""},
	} {
		edits := load.Edits{"f.yaml": []byte(test.text)}
		_, ok := replaceScalars(t, edits)
		if got := string(edits["f.yaml"]); ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

// A tag that YAML would read as a number is written in quotes.
func TestSpliceScalar(t *testing.T) {
	for _, test := range []struct{ text, before, after, want string }{
		{"tag: b100 # c\n", "b100", "1234567", "tag: \"1234567\" # c\n"},
		{"tag: 1.9.1\n", "1.9.1", "1.10", "tag: \"1.10\"\n"},
		{"tag: 'b100'\n", "b100", "1234567", "tag: '1234567'\n"},
		{"tag: v1\n", "v1", "v2", "tag: v2\n"},
		{"tag: a\n", "a", "true", "tag: \"true\"\n"},
	} {
		var n *yaml.Node
		if err := scalars([]byte(test.text), func(one *yaml.Node) { n = one }); err != nil {
			t.Fatal(err)
		}
		if got, ok := spliceScalar([]byte(test.text), n, test.before, test.after); !ok || string(got) != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

// replaceScalars replaces a:1.0 by a:1.1 at each scalar with it.
func replaceScalars(t *testing.T, edits load.Edits) (load.Edits, bool) {
	t.Helper()
	line, column := 0, 0
	for i, l := range strings.Split(string(edits["f.yaml"]), "\n") {
		if j := strings.Index(l, "image: "); j >= 0 {
			line, column = i+1, len([]rune(l[:j]))+len("image: ")+1
		} else if j := strings.Index(l, "--image"); j >= 0 {
			line, column = i+1, j+1
		}
	}
	o := operation{before: "a:1.0", after: "a:1.1"}
	o.at.File, o.at.Line, o.at.Col = "f.yaml", line, column
	return edits, editYAML(t.TempDir(), o, edits) == nil
}

// The entry of a kustomization gets the tag, the digest or both.
func TestEditKustomization(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("0a", 32), "sha256:"+strings.Repeat("0b", 32)
	for _, test := range []struct{ before, after, text, want string }{
		{"r.example/a:1.0", "r.example/a:1.1", "images: [{name: r.example/a, newTag: '1.0'}] # c\n", "images: [{name: r.example/a, newTag: '1.1'}] # c\n"},
		{"r.example/a:1.0", "r.example/a:1.1@" + b, "images:\n- newTag: 1.0\n  name: x\n  newName: r.example/a\n", "images:\n- newTag: 1.1@" + b + "\n  name: x\n  newName: r.example/a\n"},
		{"r.example/a@" + a, "r.example/a@" + b, "images:\n- {name: r.example/a, digest: " + a + "}\n", "images:\n- {name: r.example/a, digest: " + b + "}\n"},
		{"r.example/a:1.0@" + a, "r.example/a:1.1@" + b, "images:\n- digest: " + a + "\n  name: r.example/a\n  newTag: \"1.0\"\n", "images:\n- digest: " + b + "\n  name: r.example/a\n  newTag: \"1.1\"\n"},
		{"r.example/a:1.0", "r.example/a:1.1", "images:\n- {name: r.example/a, newName: r.example/b, newTag: '1.0'}\n", ""},
		{"r.example/a:1.0", "r.example/a:1.1", "images:\n- {name: r.example/a, newTag: '2.0'}\n", ""},
		{"r.example/a:1.0", "r.example/a:1.1", "images:\n- {name: r.example/a}\nresources: [../../../etc/a.yaml, https://r.example/a.yaml]\n", ""},
	} {
		edits := load.Edits{"k/kustomization.yaml": []byte(test.text)}
		o := operation{before: test.before, after: test.after}
		o.at.File = "k"
		_, err := editKustomization(t.TempDir(), o, edits)
		if got := string(edits["k/kustomization.yaml"]); (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%q becomes %q, want %q; %v", test.text, got, test.want, err)
		}
	}
}

// An image without a tag keeps this form.
func TestNextDigest(t *testing.T) {
	v := ImageVersion{Image: "r.example/a@sha256:1", Repository: "r.example/a", Digest: "sha256:1", Newest: "1.2", NewestDigest: "sha256:2"}
	if v.Next() != "r.example/a@sha256:2" {
		t.Errorf("the next image is %s", v.Next())
	}
}

package load

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// at returns the position of a mark, which it removes from the text.
func at(text string) (string, diag.Pos) {
	i := strings.Index(text, "^")
	line := 1 + strings.Count(text[:i], "\n")
	return strings.Replace(text, "^", "", 1), diag.Pos{File: "f.cue", Line: line, Col: i - strings.LastIndexByte(text[:i], '\n')}
}

func TestReplaceText(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`x: ^"1.0" // c`, `x: "1.1" // c`},
		{`^x: "1.0"`, `x: "1.1"`},
		{`x: ^#"a:1.0"#`, `x: #"a:1.1"#`},
		{"x: ^\"\"\"\n\ta:1.0\n\t\"\"\"", "x: \"\"\"\n\ta:1.1\n\t\"\"\""},
		{`x: ^1.0`, `x: "1.1"`},
		{`x: ["a", ^"b:1.0"]`, `x: ["a", "b:1.1"]`},
		{`x: ^"\u0061:1.0\t"`, `x: "\u0061:1.1\t"`},
		{`x: ^"\u0031.\u0030"`, `x: "1.1"`},
		{`x: ^"1.0 1.0"`, ""},
		{`x: ^"a:\(tag)"`, ""},
		{`x: ^tag`, ""},
		{`x: ^"2.0"`, ""},
	} {
		text, pos := at(test.text)
		edits := Edits{"f.cue": []byte(text)}
		err := ReplaceText(t.TempDir(), pos, "1.0", "1.1", edits)
		if got := string(edits["f.cue"]); (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%s becomes %s, want %s; %v", text, got, test.want, err)
		}
	}
}

func TestSetBeside(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"r: a: tag: ^\"1\"\nz: 1\n", "r: a: tag: \"1\"\nr: a: digest: \"d\"\nz: 1\n"},
		{"r: a: tag: ^\"1\"", "r: a: tag: \"1\"\nr: a: digest: \"d\"\n"},
		{"r: a: {tag: ^\"1\", b: 2}\n", "r: a: {tag: \"1\", digest: \"d\", b: 2}\n"},
		{"r: {\n\ta: {\n\t\ttag: ^\"1\" // c\n\t\tb: 2\n\t}\n}\n", "r: {\n\ta: {\n\t\ttag: \"1\" // c\n\t\tdigest: \"d\"\n\t\tb: 2\n\t}\n}\n"},
		{"r: {\n\tb: tag: ^\"1\"\n}\n", "r: {\n\tb: tag: \"1\"\n\tb: digest: \"d\"\n}\n"},
		{"r: {tag: ^\"1\", digest: \"old\"}\n", "r: {tag: \"1\", digest: \"d\"}\n"},
		{"r: {tag: ^\"1\", digest: x}\n", ""},
		{"r: tag: ^x\n", ""},
	} {
		text, pos := at(test.text)
		edits := Edits{"f.cue": []byte(text)}
		err := SetBeside(t.TempDir(), pos, "digest", "d", edits)
		if got := string(edits["f.cue"]); (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%q becomes %q, want %q; %v", text, got, test.want, err)
		}
	}
}

func TestSetText(t *testing.T) {
	path := []string{"releases", "app", "defaults", "root", "image", "tag"}
	for _, test := range []struct{ text, want string }{
		{"", "\nreleases: \"app\": defaults: root: image: tag: \"2\"\n"},
		{"releases: app: defaults: root: image: tag: \"1\"\n", "releases: app: defaults: root: image: tag: \"2\"\n"},
		{"releases: app: {\n\tnamespace: \"a\"\n}\n", "releases: app: {\n\tdefaults: root: image: tag: \"2\"\n\tnamespace: \"a\"\n}\n"},
		{"releases: app: {defaults: root: image: {a: 1}}\n", "releases: app: {defaults: root: image: {tag: \"2\", a: 1}}\n"},
		{"releases: app: {defaults: root: image: repository: \"a\"}\n", "releases: app: {defaults: root: image: tag: \"2\", defaults: root: image: repository: \"a\"}\n"},
		{"releases: other: {a: 1}\nx: 1\n", "releases: other: {a: 1}\nreleases: \"app\": defaults: root: image: tag: \"2\"\nx: 1\n"},
		{"releases: app: defaults: root: image: tag: x\n", ""},
	} {
		root := write(t, "-- environments/f.cue --\npackage fleet\n"+test.text)
		edits := Edits{}
		file, err := SetText(root, fleet.Layer{Name: "root", Dir: "environments"}, path, "2", edits)
		if got := strings.TrimPrefix(string(edits[file]), "package fleet\n"); (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%q becomes %q, want %q; %v", test.text, got, test.want, err)
		}
	}
}

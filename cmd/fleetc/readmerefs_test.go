package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	embedded "github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

var (
	link       = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	makeTarget = regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9-]+)")
	inlineCode = regexp.MustCompile("`(fleetc [^`]+)`")
)

// TestReadmeReferences checks references in the pages: files, targets of the
// Makefile, commands and flags.
func TestReadmeReferences(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	readme := readPage(t, "README.md")
	pages := append(docs(t), readme, readPage(t, "CONTRIBUTING.md"), readPage(t, "CHANGELOG.md"))
	for _, p := range pages {
		checkLinks(t, p)
		for _, m := range makeTarget.FindAllStringSubmatch(p.text, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", p.file, m[1])
			}
		}
		for _, m := range inlineCode.FindAllStringSubmatch(p.text, -1) {
			checkUsage(t, p.file, m[1])
		}
		for _, b := range p.blocks {
			for i, line := range b.lines {
				if b.lang == "sh" && strings.HasPrefix(line, "fleetc ") {
					checkUsage(t, fmt.Sprintf("%s:%d", p.file, b.line+i), line)
				}
			}
		}
		if strings.HasPrefix(p.file, "docs/") && !strings.Contains(readme.text, "("+p.file+")") {
			t.Errorf("README.md does not name %s", p.file)
		}
	}
}

// checkLinks checks that the files and headings that a page links to exist.
func checkLinks(t *testing.T, p page) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(p.text, -1) {
		file, heading := p.file, m[2]
		if m[1] != "" {
			file = filepath.Join(filepath.Dir(p.file), m[1])
		}
		if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
			t.Errorf("%s: a link to nowhere: %v", p.file, err)
			continue
		}
		if heading != "" && !slices.Contains(readPage(t, file).anchors(), heading) {
			t.Errorf("%s: %s has no heading #%s", p.file, file, heading)
		}
	}
}

var (
	heading     = regexp.MustCompile("(?m)^#+ +(.+?) *$")
	fenced      = regexp.MustCompile("(?ms)^```.*?^```$")
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the fragments with which links name the headings of a page,
// as GitHub derives them from the text.
func (p page) anchors() []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(p.text, ""), -1) {
		text := linkText.ReplaceAllString(m[1], "$1")
		anchor := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		name := anchor
		for n := 1; slices.Contains(out, name); n++ {
			name = fmt.Sprintf("%s-%d", anchor, n)
		}
		out = append(out, name)
	}
	return out
}

// TestAnchors compares anchors with those of GitHub.
func TestAnchors(t *testing.T) {
	p := page{text: "# One `code` heading\n\n## Twice\n\n```sh\n# a comment\n```\n\n## Twice\n\n### See [a page](a.md): _x_, CRDs & more\n"}
	want := []string{"one-code-heading", "twice", "twice-1", "see-a-page-_x_-crds--more"}
	if got := p.anchors(); !slices.Equal(got, want) {
		t.Errorf("anchors are %q, want %q", got, want)
	}
}

// checkUsage checks that the command and flags of a command line exist.
func checkUsage(t *testing.T, at, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " |")
	args := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(line))[1:]
	if len(args) > 0 && args[0] == "help" || slices.Contains(args, "COMMAND") {
		return
	}
	cmd, rest, err := newRootCommand(&options{}).Find(args)
	if err == nil {
		err = cmd.ParseFlags(slices.DeleteFunc(rest, func(a string) bool { return a == "--help" }))
	}
	if err != nil {
		t.Errorf("%s: %s: %v", at, line, err)
	}
}

// TestReadmeIsComplete checks that the pages describe every field of the
// schema and of bundle.json.
func TestReadmeIsComplete(t *testing.T) {
	describes(t, readPage(t, "docs/export.md"), jsonFields(reflect.TypeFor[export.Index]()))
	for file, page := range map[string]string{"cluster.cue": "docs/releases.md", "release.cue": "docs/releases.md", "action.cue": "docs/actions.md"} {
		data, err := fs.ReadFile(embedded.Schema, file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(file, data)
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		ast.Walk(f, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			name, isIdent, err := ast.LabelName(field.Label)
			if err == nil && isIdent && !strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "_") {
				fields = append(fields, name)
			}
			return !strings.HasPrefix(name, "_") // alternatives repeat the names
		}, nil)
		describes(t, readPage(t, page), fields)
	}
}

// jsonFields returns the names of the JSON fields of a struct, including
// nested ones.
func jsonFields(t reflect.Type) []string {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(append(names, name), jsonFields(t.Field(i).Type)...)
	}
	return names
}

func describes(t *testing.T, p page, fields []string) {
	t.Helper()
	if len(fields) < 6 {
		t.Fatalf("only the fields %v", fields)
	}
	for _, f := range fields {
		if !strings.Contains(p.text, "`"+f+"`") {
			t.Errorf("%s does not describe `%s`", p.file, f)
		}
	}
}

package main

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	embedded "github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/query"
)

// TestCompareIsDescribed checks that the page describes every field of compare
// -o json and of the rules for --only.
func TestCompareIsDescribed(t *testing.T) {
	page := readPage(t, "docs/compare.md")
	describes(t, page, jsonFields(reflect.TypeFor[query.ComparisonReport]()))
	data, err := fs.ReadFile(embedded.Schema, "config.cue")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile("config.cue", data)
	if err != nil {
		t.Fatal(err)
	}
	for definition, prefix := range map[string]string{"#Difference": "", "#Allowance": "allow."} {
		n := 0
		for _, d := range file.Decls {
			field, ok := d.(*ast.Field)
			if !ok || field.Label.(*ast.Ident).Name != definition {
				continue
			}
			for _, e := range field.Value.(*ast.StructLit).Elts {
				name, _, _ := ast.LabelName(e.(*ast.Field).Label)
				n++
				if name != "allow" && !strings.Contains(page.text, "`"+prefix+name+"`") {
					t.Errorf("the page does not describe %s%s", prefix, name)
				}
			}
		}
		if n < 3 {
			t.Errorf("%s has %d fields", definition, n)
		}
	}
}

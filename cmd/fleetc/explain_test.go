package main

import (
	"reflect"
	"strings"
	"testing"
)

// TestExplainDocs checks that docs describe every field of explain -o json.
func TestExplainDocs(t *testing.T) {
	page := readPage(t, "docs/explain.md")
	for _, typ := range []reflect.Type{
		reflect.TypeFor[explainedField](), reflect.TypeFor[explainedStep](), reflect.TypeFor[explainedLine](), reflect.TypeFor[explainedLeaf](),
	} {
		var fields []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
			if !strings.Contains(page.text, "`"+name+"`") {
				t.Errorf("docs/explain.md does not describe `%s`", name)
			}
		}
		if len(fields) < 4 {
			t.Errorf("%s has only the fields %v", typ, fields)
		}
	}
}

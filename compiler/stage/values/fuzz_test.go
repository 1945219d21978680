package values

import (
	"encoding/json"
	"errors"
	"testing"

	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzDerive derives types from arbitrary values.yaml, schema and template
// files. The CUE must be formatted and accept the defaults, and Check must not
// panic.
func FuzzDerive(f *testing.F) {
	f.Add("a: {b: 1}\n# -- doc\nc: [{x: 1}]\n", `{"properties":{"a":{"type":"object"}}}`, "{{ .Values.a.b }}{{ range .Values.c }}{{ .x }}{{ end }}")
	f.Add("a: &x {b: null}\nd: *x\nglobal: {x: y}\n", `{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#"}}}`, "{{ toYaml .Values }}")
	f.Add("\"a\\n\": 'x'\n? [1]\n: 2", `{"anyOf":[{"enum":[1,"x",null]},{"items":{"pattern":"("}}]}`, "{{ if eq (typeOf .Values.a) \"string\" }}{{ end }}")
	f.Add("#Values: 1\nstring: s\nint: {number: 1}\n", `{"allOf":[true,{"patternProperties":{"^x":false}}]}`, "")
	f.Fuzz(func(t *testing.T, values, schema, template string) {
		files := map[string]string{"values.yaml": values, "templates/x.yaml": template}
		if schema != "" {
			files["values.schema.json"] = schema
		}
		ch := fleetChart(files)
		typ, err := Derive(ch)
		if err != nil {
			if _, ok := errors.AsType[*diag.Diag](err); !ok {
				t.Errorf("not a fault: %v", err)
			}
			return
		}
		text, err := typ.CUE("#Values")
		if err != nil {
			t.Fatalf("%v", err)
		}
		if _, err := parser.ParseFile("x.cue", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again, err := format.Source(text); err != nil || string(again) != string(text) {
			t.Fatalf("it is not formatted: %v\n%s\n%s", err, text, again)
		}
		loaded, err := load(ch)
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Values == nil {
			loaded.Values = map[string]any{}
		}
		if err := vetted(t, text, loaded.Values); err != nil {
			t.Errorf("the defaults: %v\n%s", err, text)
		}
		typ.Check(fleet.Map(nil), nil)
		var user any
		if json.Unmarshal([]byte(schema), &user) == nil {
			if m, ok := user.(map[string]any); ok {
				typ.Check(treeFrom(m), []fleet.Waiver{{Path: values, Reason: template}})
			}
		}
	})
}

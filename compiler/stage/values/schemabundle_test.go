package values

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const libraryURL = "https://example.com/lib-1.0.0/values.schema.json"

// libraryFiles is a library chart with a schema that refers to other files of
// the chart.
var libraryFiles = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
	"values.schema.json": `{"$schema":"http://json-schema.org/draft-07/schema","$id":"` + libraryURL + `","type":"object","properties":{
		"controllers":{"type":"object","additionalProperties":{"$ref":"schemas/controllers.json#/instance"}},"mode":{"type":"string","$ref":"#/word"}},
		"word":{"enum":["a","b"]}}`,
	"schemas/controllers.json": `{"instance":{"type":"object","additionalProperties":false,"properties":{
		"replicas":{"type":"integer"},"type":{"$ref":"#type"},"next":{"$ref":"#/instance"},"mode":{"$ref":"../values.schema.json#/word"}}},
		"definitions":{"t":{"$id":"#type","enum":["deployment"]}}}`,
	"templates/_all.tpl": `{{- define "lib.all" }}{{ toYaml .Values }}{{ end }}`,
}

// appWith returns a chart whose schema refers to the library.
func appWith(inArchive bool, without ...string) *fleet.Chart {
	files := map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: lib, version: 1.0.0}\n",
		"values.schema.json": `{"$ref":"` + libraryURL + `"}`,
		"templates/all.yaml": `{{ include "lib.all" . }}`,
	}
	var names []string
	for name := range libraryFiles {
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if !inArchive {
		for _, name := range names {
			files["charts/lib/"+name] = libraryFiles[name]
		}
		return fleetChart(files)
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, name := range names {
		_ = w.WriteHeader(&tar.Header{Name: "lib/" + name, Mode: 0o644, Size: int64(len(libraryFiles[name]))})
		_, _ = w.Write([]byte(libraryFiles[name]))
	}
	_, _ = w.Close(), zip.Close()
	files["charts/lib-1.0.0.tgz"] = b.String()
	return fleetChart(files)
}

// libraryValues are values with the path of their fault.
var libraryValues = []struct{ path, values string }{
	{"", `{"controllers":{"main":{"replicas":1,"type":"deployment","next":{"next":{"replicas":2}},"mode":"a"}},"mode":"b"}`},
	{"values.controllres", `{"controllres":{}}`},
	{"values.controllers.main.replcas", `{"controllers":{"main":{"replcas":1}}}`},
	{"values.controllers.main.replicas", `{"controllers":{"main":{"replicas":"three"}}}`},
	{"values.controllers.main.type", `{"controllers":{"main":{"type":"pod"}}}`},
	{"values.controllers.main.mode", `{"controllers":{"main":{"mode":"c"}}}`},
	{"values.mode", `{"mode":"c"}`},
	{"values.controllers.main.next.next.replcas", `{"controllers":{"main":{"next":{"next":{"replcas":2}}}}}`},
}

func TestSchemaOfOtherDocuments(t *testing.T) {
	pinned := appWith(true, "schemas/controllers.json")
	pinned.Schemas = []fleet.File{{Name: "https://example.com/lib-1.0.0/schemas/controllers.json", Data: []byte(libraryFiles["schemas/controllers.json"])}}
	all := appWith(true, "values.schema.json", "schemas/controllers.json")
	all.Schemas = append(slices.Clone(pinned.Schemas), fleet.File{Name: libraryURL, Data: []byte(libraryFiles["values.schema.json"])})
	for name, ch := range map[string]*fleet.Chart{"directory": appWith(false), "archive": appWith(true), "pinned": pinned, "all pinned": all} {
		t.Run(name, func(t *testing.T) {
			typ, err := Derive(ch)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := typ.Encode()
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := Decode(stored, ch)
			if err != nil {
				t.Fatal(err)
			}
			for _, typ := range []*Type{typ, decoded} {
				if missing := typ.Missing(); len(missing) > 0 {
					t.Errorf("missing: %v", missing)
				}
				for _, v := range libraryValues {
					var paths []string
					for _, d := range typ.Check(treeFrom(decodeJSON(t, v.values)), nil) {
						paths = append(paths, d.Path)
					}
					if got := strings.Join(paths, " "); got != v.path {
						t.Errorf("%s: faults at %q, want %q", v.values, got, v.path)
					}
				}
			}
		})
	}
}

// TestSchemaFaultOfOtherDocument checks that a fault names the document that has it.
func TestSchemaFaultOfOtherDocument(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"intger"}}}`: "JSON Schema: at https://example.com/other.json#/properties/a/type: value must be one of",
		`[1]`: "JSON Schema: at https://example.com/other.json: got array",
	} {
		c := fleetChart(map[string]string{
			"Chart.yaml":         "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"values.schema.json": `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"https://example.com/other.json"}`,
		})
		c.Schemas = append(c.Schemas, fleet.File{Name: "https://example.com/other.json", Data: []byte(text)})
		_, err := Derive(c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSchemaMissingDocument checks that Missing returns the name of a missing
// document, and that references to it allow everything.
func TestSchemaMissingDocument(t *testing.T) {
	typ, err := Derive(appWith(true, "schemas/controllers.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(typ.Missing()); got != "[https://example.com/lib-1.0.0/schemas/controllers.json]" {
		t.Errorf("missing %s", got)
	}
	for _, v := range libraryValues[2:6] {
		if faults := typ.Check(treeFrom(decodeJSON(t, v.values)), nil); len(faults) > 0 {
			t.Errorf("%s: %v", v.values, faults)
		}
	}
	if len(typ.Check(treeFrom(decodeJSON(t, `{"mode":"c"}`)), nil)) == 0 {
		t.Error("the part of the schema that is there does not count")
	}
}

// TestSchemaReferencesInCircles checks that cyclic references terminate.
func TestSchemaReferencesInCircles(t *testing.T) {
	wide := make([]string, 400)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"p%d":{"$ref":"b.json#/p%d"}`, i, (i+1)%400)
	}
	for name, files := range map[string]map[string]string{
		"each other": {"values.schema.json": `{"$ref":"a.json"}`, "a.json": `{"$ref":"b.json"}`, "b.json": `{"$ref":"a.json"}`},
		"within":     {"values.schema.json": `{"properties":{"a":{"$ref":"b.json"}}}`, "b.json": `{"properties":{"a":{"$ref":"b.json"},"b":{"$ref":"values.schema.json"}}}`},
		"no pointer": {"values.schema.json": `{"properties":{"a":{"$ref":"b.json#/none"}}}`, "b.json": `{}`},
		"no JSON":    {"values.schema.json": `{"properties":{"a":{"$ref":"b.json#/none"}}}`, "b.json": `{`},
		"outside":    {"values.schema.json": `{"properties":{"a":{"$ref":"../../b.json"},"b":{"$ref":"file:///etc/passwd"}}}`},
		"wide":       {"values.schema.json": `{"properties":{"a":{"$ref":"b.json"}}}`, "b.json": "{" + strings.Join(wide, ",") + `,"properties":{` + strings.Join(wide, ",") + "}}"},
		"dialects": {
			"values.schema.json": `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"b.json#/a"}}}`,
			"b.json":             `{"$schema":"https://json-schema.org/draft/2020-12/schema","a":{"$ref":"#/i","minimum":3},"i":{"type":"integer"}}`,
		},
	} {
		typ, err := Derive(fleetChart(files))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		faults := typ.Check(treeFrom(decodeJSON(t, `{"a":1}`)), nil)
		if refused := len(faults) > 0; refused != (name == "dialects" || name == "each other") {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

func decodeJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

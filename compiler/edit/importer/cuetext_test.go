package importer

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"testing"

	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/edit"
)

// CUE reads each value back as it was, also after formatting.
func TestPrintedValues(t *testing.T) {
	texts := []string{
		"", "a", "two\nlines", "two\nlines\n", "\n\nx\n", "\ttab\n\tmore\n", `back\slash`, "back\\slash\nlines", `"""` + "\nx", "a\"\"\"#\nb\\#", "\\(x)", "\\(x)\ny",
		"\r\nwindows\n", "\x01\nx", "\u2028\nx", "trailing \nblank", "  indented\n\n   more\n", "<&>", "{{ .Values.x }}\n{{ end }}",
	}
	list := []any{}
	object := map[string]any{"cluster": "x", "releases": "y", "for": 1.0, "a-b": true, "": nil, "_hidden": "h", "#def": "d", "$x": []any{}, "empty": map[string]any{}}
	for i, text := range texts {
		list = append(list, text, map[string]any{"t": text})
		object[text] = text
		object["n"+string(rune('a'+i))] = map[string]any{"deep": map[string]any{"er": text, "er2": []any{text}}}
	}
	object["list"], object["numbers"] = list, []any{1.0, -2.5, 1e21, 1e-9, 1048576.0}
	p := &cuePrinter{}
	p.field("value", nodeOf(object, nil))
	formatted, err := edit.FormatSource("/", "x.cue", p.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, p.String())
	}
	again, err := edit.FormatSource("/", "x.cue", formatted)
	if err != nil || string(again) != string(formatted) {
		t.Errorf("formatting again changes the text: %v", err)
	}
	data, err := cuecontext.New().CompileBytes(formatted).MarshalJSON()
	if err != nil {
		t.Fatalf("%v\n%s", err, formatted)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range object {
		if value := got["value"].(map[string]any)[key]; !reflect.DeepEqual(value, want) {
			t.Errorf("%q is %#v, want %#v", key, value, want)
		}
	}
}

// CUE reads references to secrets back as the text that stands for them, also in texts of
// several lines and in base64, and below keys with the names that references use.
func TestPrintedReferences(t *testing.T) {
	a, other := "((fleetc:a))", "((fleetc:b-c.d))"
	values := map[string]any{}
	for _, text := range []string{
		a, other, "pg://" + a + ":" + other + "@db", "\"" + a + "\\", "x: " + a + "\ny: z\n", `back\slash` + "\n" + other + "\n", "\\(x)" + a, a + a,
		base64.StdEncoding.EncodeToString([]byte(a)), base64.StdEncoding.EncodeToString([]byte("x" + other + "\n\\")), "((fleetc:))", "((fleetc:a",
	} {
		values[text] = map[string]any{"secrets": text, "base64": []any{text, map[string]any{"k": text, "l": 1.0}}}
	}
	p := &cuePrinter{}
	p.field("value", nodeOf(values, nil))
	if !p.encodes {
		t.Error("the text needs encoding/base64")
	}
	text := "import \"encoding/base64\"\nsecrets: {a: ref: \"((fleetc:a))\", \"b-c.d\": ref: \"((fleetc:b-c.d))\"}\n" + p.String()
	data, err := cuecontext.New().CompileString(text).MarshalJSON()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got["value"], any(values)) {
		t.Errorf("got %v\nwant %v\n%s", got["value"], values, text)
	}
}

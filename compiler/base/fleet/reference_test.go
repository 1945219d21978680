package fleet

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// A value in a JSON document is escaped, also in base64.
func TestMapReferencesInJSON(t *testing.T) {
	const value = "a \"quote\"\nand \\ <b>"
	text := `{"password": "x((fleetc:db))", "list": ["((fleetc:db))"]}`
	got := MapReferences(b64(text), func(string, string) string { return value })
	decoded, err := base64.StdEncoding.DecodeString(got)
	var document struct {
		Password string
		List     []string
	}
	if err == nil {
		err = json.Unmarshal(decoded, &document)
	}
	if err != nil || document.Password != "x"+value || document.List[0] != value {
		t.Errorf("%+v, %v from %s", document, err, decoded)
	}
	if got := MapReferences(`{"a": ((fleetc:db))`, func(string, string) string { return value }); got != `{"a": `+value {
		t.Errorf("text that is not JSON becomes %s", got)
	}
}

// References are found as they are and in base64, at each alignment and depth.
func TestMapReferences(t *testing.T) {
	const db, other = "((fleetc:db@0a1b))", "((fleetc:other.one))"
	for text, want := range map[string]string{
		"":                           "",
		"no reference":               "no reference",
		db:                           "VALUE db",
		"a" + db + "b" + other + "c": "aVALUE dbbVALUE other.onec",
		"((fleetc:a b))":             "((fleetc:a b))",
		"((fleetc:a)":                "((fleetc:a)",
		"((fleetc:-a))":              "((fleetc:-a))",
		"((vault:a))":                "((vault:a))",
		b64(db):                      b64("VALUE db"),
		b64("x" + db):                b64("xVALUE db"),
		b64("xy" + db):               b64("xyVALUE db"),
		b64("user:" + db + "@host"):  b64("user:VALUE db@host"),
		b64(b64("u:" + db)):          b64(b64("u:VALUE db")),
		`{"auth":"` + b64("u:"+db) + `","b":"` + db + `"}`: `{"auth":"` + b64("u:VALUE db") + `","b":"VALUE db"}`,
		"Basic " + b64("u:"+db):                            "Basic " + b64("u:VALUE db"),
		b64("nothing in here at all"):                      b64("nothing in here at all"),
	} {
		got := MapReferences(text, func(_, name string) string { return "VALUE " + name })
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestReferringFields(t *testing.T) {
	object := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "((fleetc:a))"}},
			"data":       map[string]any{"one": b64("((fleetc:b))"), "tls.crt": "none"},
			"stringData": map[string]any{"two": "((fleetc:c)) ((fleetc:d))"},
			"spec":       map[string]any{"list": []any{"x", map[string]any{"y": "((fleetc:e))"}}},
		}}
	}
	label, spec := ReferringField{"metadata.labels.x", "a"}, ReferringField{"spec.list[1].y", "e"}
	data := []ReferringField{{"data.one", "b"}, {"stringData.two", "c"}, {"stringData.two", "d"}}
	inside, outside := ReferringFields(object("Secret"))
	if !reflect.DeepEqual(inside, data) || !reflect.DeepEqual(outside, []ReferringField{label, spec}) {
		t.Errorf("inside %v, outside %v", inside, outside)
	}
	inside, outside = ReferringFields(object("ConfigMap"))
	if inside != nil || !reflect.DeepEqual(outside, []ReferringField{data[0], label, spec, data[1], data[2]}) {
		t.Errorf("inside %v, outside %v", inside, outside)
	}
	if inside, outside := ReferringFields(nil); inside != nil || outside != nil {
		t.Error("nothing refers to secrets")
	}
}

// Objects and trees without references are shared, and others are copied.
func TestWithReferences(t *testing.T) {
	replace := func(_, name string) string { return strings.ToUpper(name) }
	plain := &unstructured.Unstructured{Object: map[string]any{"kind": "A", "list": []any{"x", int64(1), nil, true}}}
	if WithReferences(plain, replace) != plain {
		t.Error("an object without references is copied")
	}
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "A", "((fleetc:a))": []any{"x((fleetc:b))", int64(1), nil, true}}}
	want := map[string]any{"kind": "A", "A": []any{"xB", int64(1), nil, true}}
	if got := WithReferences(o, replace); !reflect.DeepEqual(got.Object, want) || o.Object["((fleetc:a))"] == nil {
		t.Errorf("got %v from %v", got, o)
	}
	tree, err := TreeOf(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if got := tree.WithReferences(replace).Native(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if other, err := TreeOf(plain.Object); err != nil || other.WithReferences(replace) != other {
		t.Error("a tree without references is copied")
	}
}

// A bundle gets the values in objects, hooks and values, and keeps its texts.
func TestBundleWithReferences(t *testing.T) {
	r := &Release{Name: "r", Values: Map(map[string]*Tree{"a": {Scalar: "((fleetc:a))"}})}
	u := &unstructured.Unstructured{Object: map[string]any{"kind": "A", "a": "((fleetc:a))"}}
	b := &Bundle{Cluster: &Cluster{Releases: []*Release{r}}, Objects: []Object{{Unstructured: u, Release: r}}, Hooks: []Object{{Unstructured: u, Release: r}}, YAML: []Text{{[]byte("x")}}}
	out := b.WithReferences(func(string, string) string { return "VALUE" })
	for _, o := range []Object{out.Objects[0], out.Hooks[0]} {
		if o.Object["a"] != "VALUE" || o.Release != out.Cluster.Releases[0] {
			t.Errorf("%v of %v", o.Object, o.Release)
		}
	}
	if out.Cluster.Releases[0].Values.Fields["a"].Scalar != "VALUE" || r.Values.Fields["a"].Scalar != "((fleetc:a))" || u.Object["a"] != "((fleetc:a))" {
		t.Error("the values are not replaced in a copy")
	}
	if !reflect.DeepEqual(out.YAML, b.YAML) {
		t.Error("texts change")
	}
}

// Values in a YAML document are quoted where they must be, and only there.
func TestMapReferencesInYAML(t *testing.T) {
	const odd = "a: \"b\" # 'c'\nd"
	for name, c := range map[string]struct{ text, value, want string }{
		"plain":           {"a: ((fleetc:db))\nb: 1\n", "x1", "a: x1\nb: 1\n"},
		"a number":        {"a: ((fleetc:db))\nb: 1\n", "0123", "a: \"0123\"\nb: 1\n"},
		"a part":          {"url: postgres://((fleetc:db))@db # why\n", "a #b", "url: \"postgres://a #b@db\" # why\n"},
		"odd":             {"- a: ((fleetc:db))\n", odd, `- a: "a: \"b\" # 'c'\nd"` + "\n"},
		"double":          {`a: "x((fleetc:db))"`, odd, `a: "xa: \"b\" # 'c'\nd"`},
		"single":          {"a: 'x((fleetc:db))'", "it's", "a: 'xit''s'"},
		"block":           {"a: |\n  x\n  ((fleetc:db))\nb: 1\n", "1\n2", "a: |\n  x\n  1\n  2\nb: 1\n"},
		"flow":            {"[((fleetc:db)), x]", "1, 2", `["1, 2", x]`},
		"two":             {"a: ((fleetc:db))-((fleetc:db))\nü: {b: ((fleetc:db))}\n", "#", "a: \"#-#\"\nü: {b: \"#\"}\n"},
		"two documents":   {"a: 1\n---\nb: ((fleetc:db))\n", "true", "a: 1\n---\nb: \"true\"\n"},
		"an alias":        {"a: &x ((fleetc:db))\nb: *x\n", "true", "a: &x \"true\"\nb: *x\n"},
		"a comment":       {"# ((fleetc:db))\na: ((fleetc:db)) # ((fleetc:db))\n", "1", "# 1\na: \"1\" # 1\n"},
		"in base64":       {b64("a: ((fleetc:db))\n"), "1", b64("a: \"1\"\n")},
		"not a document":  {"password = ((fleetc:db))", "a: #", "password = a: #"},
		"a text":          {"((fleetc:db))", "a: 1", "a: 1"},
		"a list in JSON":  {`["((fleetc:db))"]`, `"`, `["\""]`},
		"bare in JSON":    {`{"a": ((fleetc:db)), "b": [((fleetc:db))]}`, "x", `{"a": "x", "b": ["x"]}`},
		"a tab in JSON":   {`["((fleetc:db))"]`, "a\tb", `["a\tb"]`},
		"a word of YAML":  {"a: ((fleetc:db))\nb: x\n", "yes", "a: \"yes\"\nb: x\n"},
		"a time of YAML":  {"a: ((fleetc:db))\n", "12:30", "a: \"12:30\"\n"},
		"a colon":         {"a: [((fleetc:db)), x]\n", "b:", "a: [\"b:\", x]\n"},
		"a line in block": {"a: |\n  p = ((fleetc:db))\n", "a: #", "a: |\n  p = a: #\n"},
	} {
		replace := func(string, string) string { return c.value }
		if got := MapReferences(c.text, replace); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if !FitsDocument(c.text, replace) {
			t.Errorf("%s does not fit", name)
		}
	}
	// A text in single quotes cannot contain a line break.
	if FitsDocument("a: 'x((fleetc:db))'", func(string, string) string { return "1\n2" }) {
		t.Error("a line break fits into single quotes")
	}
}

// A replaced text has no reference any more, and one without references is unchanged.
func FuzzMapReferences(f *testing.F) {
	f.Add("a((fleetc:db))b")
	f.Add(b64("x((fleetc:db@00))"))
	f.Add("((fleetc:((fleetc:a))))")
	f.Fuzz(func(t *testing.T, text string) {
		names := References(text)
		got := MapReferences(text, func(string, string) string { return "" })
		if len(names) == 0 && got != text {
			t.Errorf("%q becomes %q", text, got)
		}
		if same := MapReferences(text, func(reference, _ string) string { return reference }); same != text {
			t.Errorf("%q becomes %q", text, same)
		}
	})
}

// A YAML document with any value has the same nodes, or is reported.
func FuzzMapReferencesInYAML(f *testing.F) {
	f.Add("a: x((fleetc:db))\nb: [1, '((fleetc:db))']\n", "a: #\n")
	f.Add("a: |\n  ((fleetc:db))\n---\nb: &x >\n ((fleetc:db))\n", " 'b'\n")
	f.Fuzz(func(t *testing.T, text, value string) {
		replace := func(string, string) string { return value }
		var before, after any
		if yamlDocuments(text) == nil || !FitsDocument(text, replace) || isJSON(text) || yaml.Unmarshal([]byte(text), &before) != nil {
			return
		}
		err := yaml.Unmarshal([]byte(MapReferences(text, replace)), &after)
		want := mapTexts(before, func(text string) string { return MapReferences(text, replace) })
		if _, isMap := before.(map[string]any); isMap && (err != nil || fmt.Sprintf("%#v", after) != fmt.Sprintf("%#v", want)) {
			t.Errorf("%q becomes %q: %#v, %v", text, MapReferences(text, replace), after, err)
		}
	})
}

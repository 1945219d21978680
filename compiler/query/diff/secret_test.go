package diff

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestSecretFields(t *testing.T) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for _, test := range []struct{ name, before, after, want string }{
		{"equal", `data: {a: aGVsbG8=}`, `data: {a: aGVsbG8=}`, ``},
		{"changed", `data: {a: aGVsbG8=}`, `data: {a: aGVsbG9z}`, `data.a "<secret 5 bytes #H>" > "<secret 6 bytes #I>"`},
		{"added, removed", `data: {a: YQ==}`, `data: {b: YQ==}`, "data.a - \"<secret 1 byte #H>\"\ndata.b + \"<secret 1 byte #H>\""},
		{"whole data", ``, `data: {b: YQ==}`, `data + {"b":"<secret 1 byte #H>"}`},
		{"moved to stringData", `data: {a: aGVsbG8=}`, `stringData: {a: hello}`, "data - {\"a\":\"<secret 5 bytes #H>\"}\nstringData + {\"a\":\"<secret 5 bytes #H>\"}"},
		{"the same bytes in another text", `data: {a: aGVsbG8=}`, `data: {a: aGVsbG9=}`, `data.a "<secret 5 bytes #H>" > "<secret 8 bytes #I>"`},
		{"no base64", `data: {a: "%%"}`, `data: {a: ""}`, `data.a "<secret 2 bytes #H>" > "<secret 0 bytes #I>"`},
		{"no text", `data: {a: 12345678}`, `data: {a: {b: hello}}`, `data.a "<secret #H>" > "<secret #I>"`},
		{"not null", `data: {a: null}`, `data: {a: ""}`, `data.a null > "<secret 0 bytes #H>"`},
		{"no map", `data: hello`, `data: [hello, {name: hello}]`, `data "<secret 5 bytes #H>" > "<secret #I>"`},
		{"the rest is seen", "type: Opaque\nimmutable: true", `type: other`, "immutable - true\ntype \"Opaque\" > \"other\""},
	} {
		changes := Objects(objects(t, head+test.before), objects(t, head+test.after), key)
		var fields []FieldChange
		for _, c := range changes {
			fields = c.Fields
		}
		if got := hashes(short(fields)); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
		for _, f := range fields {
			if f.Secret != strings.Contains(fmt.Sprint(f.Before, f.After), "<secret") {
				t.Errorf("%s: Secret is %t of %v and %v", test.name, f.Secret, f.Before, f.After)
			}
		}
	}
}

// hashes replaces each hash in a text by a letter.
func hashes(s string) string {
	names := map[string]string{}
	parts := strings.Split(s, "#")
	for i, p := range parts[1:] {
		hash, rest, ok := strings.Cut(p, ">")
		if !ok || len(hash) != 8 {
			continue
		}
		if names[hash] == "" {
			names[hash] = string(rune('H' + len(names)))
		}
		parts[i+1] = names[hash] + ">" + rest
	}
	return strings.Join(parts, "#")
}

func TestSecretKeys(t *testing.T) {
	before := objects(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: hello}\n")
	after := objects(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: world}\n")
	shown := func(key string) string { return short(Objects(before, after, []byte(key))[0].Fields) }
	one := shown("one")
	if again := shown("one"); again != one {
		t.Error("one key gives two hashes")
	}
	if shown("two") == one {
		t.Error("two keys give one hash")
	}
	// Hashes without a key are not shown.
	if got := shown(""); got != `stringData.a "<secret>" > "<secret>"` {
		t.Errorf("without a key: %s", got)
	}
}

// TestNoSecretComesOut puts a value into every part of a Secret, in every
// form, and searches all outputs for it.
func TestNoSecretComesOut(t *testing.T) {
	const hidden, other = "c0rrect-h0rse-battery", "staple-0f-an0ther-kind"
	secretWith := func(value string) map[string]any {
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		data := map[string]any{
			"password": encoded, "bad": value + "=", "list": []any{value, map[string]any{"name": value}},
			"map": map[string]any{value: value}, "lines": value + "\n" + value,
		}
		s := map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": data,
			"stringData": map[string]any{"password": value, "items": []any{map[string]any{"name": value}}},
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		s["metadata"] = map[string]any{"name": "a", "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": string(text), "objectset.rio.cattle.io/applied": string(text),
		}}
		return s
	}
	without := func(s map[string]any, key string) map[string]any { delete(s, key); return s }
	with := func(s map[string]any, key string, v any) map[string]any { s[key] = v; return s }
	forms := map[string]func(value string) map[string]any{
		"plain":       secretWith,
		"data text":   func(v string) map[string]any { return with(secretWith(v), "data", v) },
		"data list":   func(v string) map[string]any { return with(secretWith(v), "data", []any{map[string]any{"name": v}}) },
		"lower case":  func(v string) map[string]any { return with(secretWith(v), "kind", "secret") },
		"no version":  func(v string) map[string]any { return without(secretWith(v), "apiVersion") },
		"bad version": func(v string) map[string]any { return with(secretWith(v), "apiVersion", "a/b/c") },
		"list":        func(v string) map[string]any { return map[string]any{"kind": "List", "items": []any{secretWith(v)}} },
		"secret list": func(v string) map[string]any {
			return map[string]any{"kind": "SecretList", "items": []any{without(secretWith(v), "kind")}}
		},
		"template": func(v string) map[string]any {
			s := secretWith(v)
			return map[string]any{
				"kind": "Template", "apiVersion": "example.com/v1", "objects": []any{map[string]any{"name": "a", "manifest": s}},
				"metadata": map[string]any{"name": "t", "annotations": s["metadata"].(map[string]any)["annotations"]},
			}
		},
	}
	seen := 0
	for name, form := range forms {
		objs := func(value string) []fleet.Object {
			return []fleet.Object{{Unstructured: &unstructured.Unstructured{Object: form(value)}}}
		}
		var g Grouper
		for cluster, changes := range map[string][]Change{
			"updated":    Objects(objs(hidden), objs(other), key),
			"created":    Objects(nil, objs(hidden), key),
			"deleted":    Objects(objs(other), nil, key),
			"from empty": Objects([]fleet.Object{{Unstructured: &unstructured.Unstructured{Object: without(without(form(hidden), "data"), "items")}}}, objs(other), key),
		} {
			if len(changes) != 1 {
				t.Errorf("%s, %s: %d changes", name, cluster, len(changes))
			}
			g.Add(cluster, changes)
		}
		text, markdown, json := checkWritten(t, g.Result(), Style{Content: true})
		for _, out := range []string{text, markdown, json, fmt.Sprintf("%+v", g.Result())} {
			seen += strings.Count(out, "<secret ")
			for _, value := range []string{hidden, other} {
				for _, part := range []string{value, value[:8], base64.StdEncoding.EncodeToString([]byte(value))[:12]} {
					if strings.Contains(out, part) {
						t.Errorf("%s: %s is in\n%s", name, part, out)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d values are masked", seen)
	}
}

func TestMaskChangesNothing(t *testing.T) {
	obj := decoded(t, `{"kind":"Secret","metadata":{"annotations":{"x/last-applied":"a"}},"data":{"a":"YQ=="}}`)
	before := fmt.Sprint(obj)
	if _, found := mask(obj, key); !found || fmt.Sprint(obj) != before {
		t.Errorf("found is %t, and the object %v", found, obj)
	}
	// An object without Secrets is not copied or masked.
	plain := decoded(t, `{"kind":"ConfigMap","metadata":{"annotations":{"x/last-applied":"a"}},"data":{"a":"YQ=="},"ref":{"kind":"SecretStore"}}`)
	if out, found := mask(plain, key); found || !equal(out, plain) {
		t.Errorf("found is %t, and the object %v", found, out)
	}
}

// TestFieldsWithSecrets checks that values of secrets beside the data of Secrets are
// masked, also in lists.
func TestFieldsWithSecrets(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	before := objects(t, head+"data: {dsn: hunter1, rest: one}\nlist: [{token: hunter3}]\n")
	after := objects(t, head+"data: {dsn: hunter2, rest: two}\nlist: [{token: hunter4}]\n")
	for _, o := range [][]fleet.Object{before, after} {
		o[0].SecretFields = [][]string{{"data", "dsn"}, {"list", "0", "token"}}
	}
	text := fmt.Sprint(Objects(before, after, key))
	if strings.Contains(text, "hunter") || !strings.Contains(text, "two") {
		t.Error(text)
	}
	if text := fmt.Sprint(Objects(nil, after, key)); strings.Contains(text, "hunter") {
		t.Error(text)
	}
}

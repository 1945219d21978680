package validate

import (
	"strings"
	"testing"
)

// Changes without influence on the validation do not change the text; all
// others do.
func TestText(t *testing.T) {
	text := func(crd string) string {
		d, ok := read(customObjects(t, crd)[0])
		if !ok {
			t.Fatalf("not a CRD: %s", crd)
		}
		out, problem := d.text()
		if problem != "" {
			t.Fatal(problem)
		}
		return string(out)
	}
	change := func(old, with string) string {
		if !strings.Contains(gadgets, old) {
			t.Fatalf("%q is not in the CRD", old)
		}
		return text(strings.Replace(gadgets, old, with, 1))
	}
	plain := text(gadgets)
	for _, same := range []string{
		change("a: {type: string}", "a: {description: \"a\\u0001 'text'\", type: string}"),
		change("metadata: {name", "metadata: {labels: {a: b}, annotations: {c: d}, name"),
		change("\nspec:\n", "\nstatus: {storedVersions: [v1]}\nspec:\n"),
	} {
		if same != plain {
			t.Errorf("got\n%s\nwant\n%s", same, plain)
		}
	}
	for _, other := range []string{
		change("a: {type: string}", "a: {type: string, title: x}"),
		change("a: {type: string}", "a: {type: string, default: x}"),
		change("a: {type: string}", "a: {type: object, default: {description: x}}"),
		change("a: {type: string}", "description: {type: string}"),
		change("a: {type: string}", "description: x"),
		change("storage: true", "storage: false"),
		change("metadata: {name", "metadata: {annotations: {api-approved.kubernetes.io: x}, name"),
	} {
		if other == plain {
			t.Errorf("a change makes none in the text:\n%s", other)
		}
	}
}

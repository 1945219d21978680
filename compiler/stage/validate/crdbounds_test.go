package validate

import (
	"math"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
)

// definitionFaults returns the faults of the gadgets CRD with a property.
func definitionFaults(t *testing.T, property string) string {
	t.Helper()
	text := strings.Replace(gadgets, "a: {type: string}", property, 1)
	return short(checkCustom(t, customObjects(t, text)), "CustomResourceDefinition.apiextensions.k8s.io gadgets.example.com")
}

func TestHostileDefinitions(t *testing.T) {
	deep := "{type: string}"
	for range maxCRDDepth/2 + 1 {
		deep = "{type: object, properties: {a: " + deep + "}}"
	}
	rules := "a: {type: integer, x-kubernetes-validations: [" + strings.Repeat("{rule: 'self > 1'}, ", maxRules/2+1) + "]}"
	nested := "{type: object, default: {}, x-kubernetes-validations: [" + strings.Repeat("{rule: 'has(self.a)'}, ", 30) + "]}"
	for range 20 {
		nested = "{type: object, default: {}, properties: {a: " + nested + "}, x-kubernetes-validations: [" +
			strings.Repeat("{rule: 'has(self.a)'}, ", 30) + "]}"
	}
	for name, tt := range map[string]struct{ property, want string }{
		"deep":              {"a: " + deep, "it is nested deeper than 500 levels [FL1604]\n"},
		"large":             {"a: {type: string, title: " + strings.Repeat("x", maxCRDBytes) + "}", "it is larger than the 3 MiB that the API server accepts [FL1604]\n"},
		"pattern":           {"a: {type: string, pattern: '(abcdefghijklmnopqrstuvwxyz){1,1000}'}", "its pattern \"(abcdefghijklmnopqrstuvwxyz){1,1000}\" repeats too often to be checked [FL1604]\n"},
		"patterns":          {"a: {type: object, properties: {" + patterns(600) + "}}", "its patterns are larger than fleetc checks [FL1604]\n"},
		"rules":             {rules, "it has more rules than fleetc checks [FL1604]\n"},
		"rules in defaults": {"a: " + nested, "it has more rules than fleetc checks [FL1604]\n"},
		"recursive":         {"a: {$ref: '#/properties/spec'}", root + ".properties.spec.properties.a.$ref: $ref is not supported [FL1604]\n"},
	} {
		if got := definitionFaults(t, tt.property); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func patterns(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("p" + strings.Repeat("x", i) + ": {type: string, pattern: '[a-z]{1,999}'}, ")
	}
	return b.String()
}

// Items with defaults whose items have defaults would fill any memory.
func TestNestedDefaults(t *testing.T) {
	const many = "[{}, {}, {}, {}, {}, {}, {}, {}, {}, {}]"
	items := "{type: object, properties: {a: {type: string, default: x}}}"
	for range 12 {
		items = "{type: object, properties: {a: {type: array, default: " + many + ", items: " + items + "}}}"
	}
	objs := customObjects(t, strings.Replace(gadgets, "a: {type: string}", "a: "+items, 1),
		"{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: {a: {}}}")
	got := short(checkCustom(t, objs), "Gadget.example.com a")
	if want := "it would be too large with the defaults of its CRD [FL1604]\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Rules have a cost budget, each and for an object.
func TestCostOfRules(t *testing.T) {
	schema := "l: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: 'self.all(x, self.all(y, x + y != \"no\"))'}]}"
	known := customObjects(t, strings.Replace(gadgets, "l: {type: array, items: {type: string}}", schema, 1))
	objs := customObjects(t, "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: {l: ["+strings.Repeat(strings.Repeat("abcde", 100)+", ", 300)+"]}}")
	var k CRDChecker
	got := short(faults(t, k.Objects(customCluster("1.37"), objs, known)), "Gadget.example.com a")
	if !strings.HasPrefix(got, "spec.l: ") || !strings.Contains(got, "actual cost limit exceeded") {
		t.Errorf("got\n%s", got)
	}
	checkStyle(t, got)
}

// Objects that are too large for their schema are refused.
func TestWork(t *testing.T) {
	d := &compiledSchema{nodes: 100_000}
	if got := d.check(map[string]any{"l": anys(40_000)}); len(got) != 1 || !strings.Contains(got[0].text, "too large for a check") {
		t.Errorf("got %v", got)
	}
}

func anys(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = "x"
	}
	return out
}

func TestSteps(t *testing.T) {
	for pattern, want := range map[string]int{
		"abc": 3, "[a-z]": 1, `\pL{1,63}`: 64 - 1, "(ab){10}": 30, "(a{2}|b){5}": 25, "(x{100}){10}": 1010, "": 1,
	} {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := patternSize(re); got < want/2 || got > want*2 {
			t.Errorf("%s has %d steps, want about %d", pattern, got, want)
		}
	}
}

// A panic in the validation is a fault of the object.
func TestPanic(t *testing.T) {
	got := guarded(func() []problem { panic("dunno what to do here") })
	if len(got) != 1 || !strings.Contains(got[0].text, "the validation fails on it") || got[0].cause == nil || strings.Contains(got[0].text, "dunno") {
		t.Errorf("got %v", got)
	}
	if got := (&compiledSchema{}).check(map[string]any{"spec": map[string]any{}}); len(got) != 1 || got[0].cause == nil {
		t.Errorf("a schema that is none: got %v", got)
	}
}

// Many faults with long words do not take longer than others.
func TestManyLongWords(t *testing.T) {
	long := strings.Repeat("x", 1000)
	text := strings.Replace(gadgets, "a: {type: string}", "a: {type: string, enum: ["+long+", "+long+"y]}\n                "+long+": {type: string}", 1)
	text = strings.Replace(text, "num: {type: integer}", "map: {type: object, additionalProperties: {type: integer}}", 1)
	spec := "{a: " + long + "z, " + long + "y: 1, map: {"
	for i := range 5_000 {
		spec += "k" + strconv.Itoa(i) + ": a, "
	}
	objs := customObjects(t, text, "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: "+spec+"}}}")
	got := checkCustom(t, objs)
	if len(got) > 20_000 || strings.Count(got, "Gadget.example.com a: ") != maxCustomFaults+1 {
		t.Errorf("%d bytes:\n%.2000s", len(got), got)
	}
}

// TestSameProblem measures objects that exceed several limits: each always has the same
// problem.
func TestSameProblem(t *testing.T) {
	deep := any("x")
	for range maxCRDDepth + 1 {
		deep = []any{deep}
	}
	object := map[string]any{"a": math.NaN(), "b": deep}
	for _, want := range []string{"nested deeper", "larger"} {
		for range 20 {
			var m meter
			m.normalize(object, 0)
			if !strings.Contains(m.problem, want) {
				t.Fatalf("%q, want %q", m.problem, want)
			}
		}
		object["c"] = strings.Repeat("x", maxCRDBytes+1)
	}
}

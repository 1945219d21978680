package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A mutation is a user's values that change one value of the chart.
type mutation struct {
	what string
	path []string
	user map[string]any
}

// mutations returns wrong and doubtful values for each default: other kinds,
// null, a negative number, a text outside an enumeration, an unknown key next to
// it.
func mutations(defaults map[string]any) []mutation {
	var out []mutation
	var walk func(v any, path []string)
	set := func(what string, path []string, v any) {
		user := v
		for _, k := range slices.Backward(path) {
			user = map[string]any{k: user}
		}
		out = append(out, mutation{what, slices.Clone(path), user.(map[string]any)})
	}
	walk = func(v any, path []string) {
		if len(path) > 0 {
			set("null", path, nil)
			for _, other := range []any{"some text", -3.0, 1.5, true, []any{"a"}, map[string]any{"zz": "y"}} {
				if kindOf(other) != kindOf(v) || kindOf(v) != Map {
					set(fmt.Sprint(other), path, other)
				}
			}
		}
		if m, ok := v.(map[string]any); ok {
			set("unknown", append(slices.Clone(path), "zzUnknown"), 1.0)
			for _, k := range slices.Sorted(maps.Keys(m)) {
				walk(m[k], append(slices.Clone(path), k))
			}
		}
	}
	walk(defaults, nil)
	return out
}

// treeFrom returns values without source positions.
func treeFrom(v any) *fleet.Tree {
	switch v := v.(type) {
	case map[string]any:
		fields := map[string]*fleet.Tree{}
		for k, e := range v {
			fields[k] = treeFrom(e)
		}
		return fleet.Map(fields)
	case []any:
		t := &fleet.Tree{List: []*fleet.Tree{}}
		for _, e := range v {
			t.List = append(t.List, treeFrom(e))
		}
		return t
	case float64:
		data, _ := json.Marshal(v)
		return &fleet.Tree{Scalar: json.Number(data)}
	}
	return &fleet.Tree{Scalar: v}
}

// agreeOn compares Check with Helm's validator for one mutation. Check must
// reject everything that Helm rejects. It may reject more only where the chart's
// schema does not restrict the kinds of a value.
func agreeOn(t *testing.T, name string, typ *Type, loaded *chart.Chart, m mutation) (refused bool) {
	t.Helper()
	on, values, err := typ.chart.root.with(m.user)
	if err != nil {
		return false
	}
	helm := helmRefuses(loaded, on, values)
	faults := typ.Check(treeFrom(m.user), nil)
	at, known := typ.At(m.path...)
	ours := len(faults) > 0
	kinds := slices.ContainsFunc(faults, func(d *diag.Diag) bool { return strings.Contains(d.Msg, "and the chart expects") })
	switch {
	case helm != nil && !ours:
		t.Errorf("%s: %s = %s: Helm refuses it (%v), Check does not", name, strings.Join(m.path, "."), m.what, helm)
	case helm == nil && kinds && known && at.typed:
		t.Errorf("%s: %s = %s: Helm takes it, Check does not: %v", name, strings.Join(m.path, "."), m.what, faults)
	}
	return helm != nil
}

// helmRefuses returns the error of Helm's own validator for the enabled charts.
func helmRefuses(c *chart.Chart, n *node, values map[string]any) error {
	if c.Schema != nil {
		if err := chartutil.ValidateAgainstSingleSchema(values, c.Schema); err != nil {
			return err
		}
	}
	deps := subcharts(c)
	for _, d := range n.deps {
		i := slices.IndexFunc(deps, func(o subchart) bool { return o.name == d.name })
		if v, ok := values[d.name].(map[string]any); ok {
			if err := helmRefuses(deps[i].chart, d, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// agreement compares all mutations of a chart.
func agreement(t *testing.T, ch *fleet.Chart) (refused, all int) {
	t.Helper()
	loaded, err := load(ch)
	if err != nil {
		t.Fatal(err)
	}
	typ := derive(t, ch)
	for _, m := range mutations(loaded.Values) {
		all++
		if agreeOn(t, ch.Ref.Path, typ, loaded, m) {
			refused++
		}
	}
	return refused, all
}

func TestAgreesWithHelmsValidator(t *testing.T) {
	dirs := append(chartDirs(t), istio(t)...)
	for _, dir := range dirs {
		ch := chartAt(t, dir)
		if !slices.ContainsFunc(ch.Files, func(f fleet.File) bool { return filepath.Base(f.Name) == "values.schema.json" }) {
			continue
		}
		refused, all := agreement(t, ch)
		t.Logf("%s: %d of %d mutations refused", filepath.Base(dir), refused, all)
		if refused == 0 || refused == all {
			t.Errorf("%s: %d of %d mutations are refused by Helm: the schema is not looked at", dir, refused, all)
		}
	}
}

func TestAgreesWithHelmsValidatorByHand(t *testing.T) {
	values := "a: {b: 1, c: x, d: true, e: [1], f: {g: h}, n: null, free: {}}\nmode: fast\nport: 80\nimage: {tag: v1}\n"
	for name, schema := range map[string]string{
		"types":       `{"properties":{"a":{"type":"object","properties":{"b":{"type":"integer","minimum":0},"c":{"type":["string","null"]},"d":{"type":"boolean"},"e":{"type":"array","items":{"type":"integer"}},"n":{"type":"string"}},"additionalProperties":false,"required":["b"]}}}`,
		"enum":        `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"mode":{"enum":["fast","slow",null]},"port":{"const":80}}}`,
		"anyOf":       `{"properties":{"port":{"anyOf":[{"type":"integer","maximum":100},{"type":"string","pattern":"^h"}]},"mode":{"oneOf":[{"type":"string"},{"type":"boolean"}]},"a":{"anyOf":[{"type":"object","properties":{"b":{"type":"number"}}},{"type":"string"}]}}}`,
		"allOf":       `{"allOf":[{"properties":{"port":{"type":"number"}}},{"properties":{"port":{"minimum":1}}}]}`,
		"ref":         `{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"p":{"type":"integer"},"o":{"type":"object","properties":{"b":{"$ref":"#/$defs/p"}}}},"properties":{"port":{"$ref":"#/$defs/p","minimum":10},"a":{"$ref":"#/$defs/o"}}}`,
		"old ref":     `{"$schema":"http://json-schema.org/draft-04/schema#","definitions":{"p":{"type":"integer","minimum":0,"exclusiveMinimum":true}},"properties":{"port":{"$ref":"#/definitions/p","minimum":1000}}}`,
		"if":          `{"if":{"properties":{"mode":{"const":"fast"}}},"then":{"properties":{"port":{"type":"number"}}},"else":{"properties":{"port":{"type":"string"}}}}`,
		"not":         `{"properties":{"mode":{"not":{"type":"string"}},"port":{"not":{"const":12}}}}`,
		"pattern":     `{"properties":{"a":{"patternProperties":{"^[b-f]$":{}},"additionalProperties":false},"image":{"propertyNames":{"pattern":"^t"}}}}`,
		"recursive":   `{"$ref":"#/definitions/x","definitions":{"x":{"properties":{"a":{"$ref":"#/definitions/x"},"b":{"type":"integer"},"f":{"$ref":"#"}}}}}`,
		"false":       `{"properties":{"mode":false}}`,
		"dependents":  `{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentSchemas":{"port":{"properties":{"mode":{"type":"string"}}}},"dependentRequired":{"port":["mode"]}}`,
		"unevaluated": `{"$schema":"https://json-schema.org/draft/2020-12/schema","allOf":[{"properties":{"a":{},"mode":{}}}],"properties":{"port":{"type":"number"},"image":{},"global":{}},"unevaluatedProperties":false}`,
	} {
		ch := fleetChart(map[string]string{"values.yaml": values, "values.schema.json": schema, "templates/x.yaml": "a: {{ .Values | toYaml }}"})
		ch.Ref.Path = name
		if refused, _ := agreement(t, ch); refused == 0 && name != "if" {
			t.Errorf("%s: Helm refuses none", name)
		}
	}
}

func TestSchemaTypes(t *testing.T) {
	for name, c := range map[string]struct{ schema, values, want string }{
		"scalars": {
			`{"properties":{"i":{"type":"integer","minimum":1,"maximum":9},"n":{"type":"number","exclusiveMinimum":0},"s":{"type":"string","pattern":"^a+$","description":"A word."},"b":{"type":"boolean"},"e":{"enum":["x","y"]},"m":{"type":["string","integer"]}}}`,
			"", `
	b?: bool | null
	e?: "x" | "y" | null
	i?: int & >=1 & <=9 | null
	m?: int | string | null
	n?: number & >0 | null

	// A word.
	s?: string & =~"^a+$" | null
`,
		},
		"a default outside of the limits loosens them": {
			`{"properties":{"e":{"enum":["x"]},"s":{"type":"string","pattern":"^a"},"i":{"type":"integer","minimum":5}}}`,
			"e: ''\ns: b\ni: 1\n", `
	e?: string | null

	// Default: "b"
	s?: string | null

	// Default: 1
	i?: int | null
`,
		},
		"maps and lists": {
			`{"properties":{"o":{"type":"object","properties":{"x":{"type":"string"}}},"free":{"type":"object"},"any":{"additionalProperties":true,"properties":{"x":{}}},"by":{"type":"object","additionalProperties":{"type":"integer"}},"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},"s":{"type":"array","items":{"type":"string"}}}}`,
			"", `
	any?: _
	by?: {
		[string]: int | null
	} | null
	free?: {...} | null
	l?: [...{
		x?: string | null
	}] | null
	o?: {
		x?: string | null
	}
	s?: [...string | null] | null
`,
		},
		"alternatives": {
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{"oneOf":[{"enum":["x"]},{"enum":["y"]}]},"c":{"anyOf":[{"type":"integer","minimum":1},{"type":"string","pattern":"%$"}]}}}`,
			"", `
	a?: int | string | null
	b?: "x" | "y" | null
	c?: int & >=1 | string & =~"%$" | null
`,
		},
		"words of CUE": {
			`{"properties":{"string":{"type":"string"},"for":{"type":"string"},"a-b":{"type":"string"},"__x":{"type":"string"},"number":{"type":"object","properties":{"number":{"type":"number"}}}}}`,
			"", `
	"__x"?: string | null
	"a-b"?: string | null
	for?:   string | null
	"number"?: {
		"number"?: number | null
	}
	"string"?: string | null
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ch := fleetChart(map[string]string{"values.yaml": c.values, "values.schema.json": c.schema})
			if got := definitionOf(t, derive(t, ch)); got != c.want {
				t.Errorf("got%s\nwant%s", got, c.want)
			}
		})
	}
}

// definitionOf returns the fields of the CUE definition of a type, without
// global, which all charts have.
func definitionOf(t testing.TB, typ *Type) string {
	t.Helper()
	text, err := typ.CUE("#Values")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(text), "#Values: {")
	if !ok {
		t.Fatalf("no definition in\n%s", text)
	}
	body = strings.TrimSuffix(body, "}\n")
	if i := strings.Index(body, "\tglobal?: {...} | null\n"); i >= 0 {
		body = body[:i] + body[i+len("\tglobal?: {...} | null\n"):]
	}
	return body
}

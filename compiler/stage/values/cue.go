package values

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// CUE returns the type as a CUE definition with the given name, in the format of
// `cue fmt`. All fields are optional because users set only some of the values.
// Schema conditions that span several values are omitted; Check evaluates them.
func (t *Type) CUE(name string) ([]byte, error) {
	text := fmt.Sprintf(`// %[1]s are the values of the chart. Their types come from its values.yaml,
// its schema and its templates. null deletes a value of the chart.
%[1]s: %[2]s
`, name, writer{t}.fields(t))
	out, err := format.Source([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("format the types of a chart: %w", err)
	}
	return out, nil
}

// A writer writes the types of a chart as CUE, without indentation.
type writer struct {
	root *Type // has the global values, which are written once
}

// predeclared are the identifiers in written types. An unquoted field of the
// same name would shadow the identifier.
var predeclared = []string{"bool", "bytes", "error", "float", "int", "number", "rune", "schema", "self", "string", "uint"}

// label returns a field name, quoted if necessary.
func label(key string) string {
	if ast.StringLabelNeedsQuoting(key) || slices.Contains(predeclared, key) || strings.HasPrefix(key, "__") {
		return literal.String.Quote(key)
	}
	return key
}

// fields returns the type of a map.
func (w writer) fields(t *Type) string {
	if len(t.Keys) == 0 && t.Elem == nil {
		if t.further() {
			return "{...}"
		}
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for i, k := range t.Keys {
		f := t.Fields[k]
		doc := comment(f)
		if doc != "" && i > 0 {
			b.WriteByte('\n')
		}
		for l := range strings.Lines(doc) {
			b.WriteString(strings.TrimRight("// "+l, " \n") + "\n")
		}
		value := "{...}"
		if t == w.root || f != w.root.Fields[chartutil.GlobalKey] {
			value = w.value(f)
		}
		b.WriteString(label(k) + "?: " + value + "\n")
	}
	switch {
	case t.shape != nil && t.shape.names:
		b.WriteString("[=~" + literal.String.Quote(resourceName) + "]: _\n")
	case t.further() && t.Elem != nil && len(t.Keys) == 0:
		b.WriteString("[string]: " + w.value(t.Elem) + "\n")
	case t.further():
		b.WriteString("...\n")
	}
	b.WriteByte('}')
	return b.String()
}

// further reports whether the CUE definition of a map accepts keys that are not
// among its fields. Fields that Kubernetes defines below those are ignored.
func (t *Type) further() bool {
	if t.Open || !t.shape.closed() {
		return t.Open
	}
	if t.shape.names || t.shape.grows {
		return t.shape.grows || len(t.Keys) == 0
	}
	for name := range t.shape.fields {
		if t.Fields[name] == nil {
			return true
		}
	}
	return false
}

// comment returns the comment lines above a field: its documentation and its
// default.
func comment(t *Type) string {
	doc := t.Doc
	switch d := t.Default.(type) {
	case bool, float64:
		doc += "\nDefault: " + diag.AsJSON(d)
	case string:
		if s := diag.AsJSON(d); d != "" && len(s) <= 60 && tidy(s) == s {
			doc += "\nDefault: " + s
		}
	}
	return strings.TrimPrefix(doc, "\n")
}

// value returns the type of a value. Closed maps are not part of a disjunction,
// because CUE reports a misspelt field there with a confusing message. So null
// cannot delete such a map; it can delete the fields below.
func (w writer) value(t *Type) string {
	const scalars = Bool | Number | String
	switch {
	case t.Kinds&Map != 0 && !t.Open && t.Kinds&^(Map|Null) == 0 && t.seen&Null == 0,
		t.Kinds&Map != 0 && len(t.Keys) > 0 && t.Kinds&^(Map|Null) == 0:
		text := w.fields(t)
		if t.seen&Null != 0 || t.Open {
			text += " | null"
		}
		return text
	case t.Kinds == Any && t.limits.none():
		return "_"
	}
	var parts []string
	if t.Kinds&scalars != 0 {
		parts = append(parts, w.scalar(t)...)
	}
	if t.Kinds&Map != 0 {
		text := "{...}"
		if t.Elem != nil && t.Kinds&^(Map|Null) == 0 && len(t.Keys) == 0 {
			text = w.fields(t)
		}
		parts = append(parts, text)
	}
	if t.Kinds&List != 0 {
		text := "[...]"
		if t.Elem != nil && t.Elem.Kinds != Any && t.Kinds&^(List|Null) == 0 {
			text = "[..." + w.value(t.Elem) + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(slices.Compact(append(parts, "null")), " | ")
}

// scalar returns the alternatives of a value that is neither a map nor a list.
func (w writer) scalar(t *Type) []string {
	l := t.limits
	if len(l.enum) > 0 && t.Kinds&(List|Map) == 0 && l.allows(t.Default, t.seen) {
		var out []string
		for _, v := range l.enum {
			if v != nil {
				out = append(out, diag.AsJSON(v))
			}
		}
		return out
	}
	var out []string
	if t.Kinds&Bool != 0 {
		out = append(out, "bool")
	}
	if t.Kinds&Number != 0 {
		n := "number"
		if l.integer && l.whole(t.Default) {
			n = "int"
		}
		for _, b := range l.bounds {
			if b.holds(t.Default) {
				n += " & " + b.op + b.n.String()
			}
		}
		out = append(out, n)
	}
	if t.Kinds&String != 0 {
		s := "string"
		if l.pattern != "" && l.matches(t.Default) && t.seen&String == 0 || l.pattern != "" && t.Default != nil && l.matches(t.Default) {
			s += " & =~" + literal.String.Quote(l.pattern)
		}
		out = append(out, s)
	}
	return out
}

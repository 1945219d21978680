package values

import (
	"bytes"
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
	w := &writer{global: t.Fields[chartutil.GlobalKey]}
	fmt.Fprintf(&w.b, "// %s are the values of the chart. Their types come from its values.yaml,\n", name)
	w.b.WriteString("// its schema and its templates. null deletes a value of the chart.\n")
	fmt.Fprintf(&w.b, "%s: ", name)
	w.fields(t, 0)
	w.b.WriteString("\n")
	out, err := format.Source(w.b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format the types of a chart: %w", err)
	}
	return out, nil
}

// A writer writes types as CUE.
type writer struct {
	b      bytes.Buffer
	global *Type // type of the global values, written once
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

func (w *writer) indent(depth int) {
	for range depth {
		w.b.WriteByte('\t')
	}
}

// fields writes a map.
func (w *writer) fields(t *Type, depth int) {
	if len(t.Keys) == 0 && t.Elem == nil {
		if t.further() {
			w.b.WriteString("{...}")
		} else {
			w.b.WriteString("{}")
		}
		return
	}
	w.b.WriteString("{\n")
	for i, k := range t.Keys {
		f := t.Fields[k]
		doc := comment(f)
		if doc != "" && i > 0 {
			w.b.WriteByte('\n')
		}
		for l := range strings.Lines(doc) {
			w.indent(depth + 1)
			w.b.WriteString(strings.TrimRight("// "+strings.TrimRight(l, "\n"), " ") + "\n")
		}
		w.indent(depth + 1)
		w.b.WriteString(label(k) + "?: ")
		if f == w.global && depth > 0 {
			w.b.WriteString("{...}")
		} else {
			w.value(f, depth+1)
		}
		w.b.WriteByte('\n')
	}
	switch {
	case t.shape != nil && t.shape.names:
		w.indent(depth + 1)
		w.b.WriteString("[=~" + literal.String.Quote(resourceName) + "]: _\n")
	case t.further():
		w.indent(depth + 1)
		if t.Elem != nil && len(t.Keys) == 0 {
			w.b.WriteString("[string]: ")
			w.value(t.Elem, depth+1)
		} else {
			w.b.WriteString("...")
		}
		w.b.WriteByte('\n')
	}
	w.indent(depth)
	w.b.WriteByte('}')
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

// value writes the type of a value. Closed maps are not part of a disjunction,
// because CUE reports a misspelt field there with a confusing message. So null
// cannot delete such a map; it can delete the fields below.
func (w *writer) value(t *Type, depth int) {
	const scalars = Bool | Number | String
	switch {
	case t.Kinds&Map != 0 && !t.Open && t.Kinds&^(Map|Null) == 0 && t.seen&Null == 0,
		t.Kinds&Map != 0 && len(t.Keys) > 0 && t.Kinds&^(Map|Null) == 0:
		w.fields(t, depth)
		if t.seen&Null != 0 || t.Open {
			w.b.WriteString(" | null")
		}
		return
	case t.Kinds == Any && t.limits.none():
		w.b.WriteString("_")
		return
	}
	var parts []string
	if t.Kinds&scalars != 0 {
		parts = append(parts, w.scalar(t)...)
	}
	before := w.b.Len()
	if t.Kinds&Map != 0 {
		parts = append(parts, w.openMap(t, depth))
	}
	if t.Kinds&List != 0 {
		parts = append(parts, w.list(t, depth))
	}
	w.b.Truncate(before)
	parts = append(parts, "null")
	w.b.WriteString(strings.Join(slices.Compact(parts), " | "))
}

// list returns the type of a list.
func (w *writer) list(t *Type, depth int) string {
	if t.Elem == nil || t.Elem.Kinds == Any || t.Kinds&^(List|Null) != 0 {
		return "[...]"
	}
	from := w.b.Len()
	w.b.WriteString("[...")
	w.value(t.Elem, depth)
	w.b.WriteString("]")
	return w.b.String()[from:]
}

// openMap returns the type of a map that is one of several alternatives.
func (w *writer) openMap(t *Type, depth int) string {
	if t.Elem == nil || t.Kinds&^(Map|Null) != 0 || len(t.Keys) > 0 {
		return "{...}"
	}
	from := w.b.Len()
	w.fields(t, depth)
	return w.b.String()[from:]
}

// scalar returns the alternatives of a value that is neither a map nor a list.
func (w *writer) scalar(t *Type) []string {
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

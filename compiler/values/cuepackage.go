package values

import (
	"bytes"
	"fmt"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// Package returns the text of the CUE package of a chart: that of its pin, in
// which #Release is a schema.#Release & {...}, with the types of values and
// defaults attached and #Values added. It errs when the pin is none.
//
// The types are attached to the fields themselves, since editors complete
// fields only then; for defaults to those of the given layers, and to those of
// any other layer without completion.
func (t *Type) Package(pin []byte, layers []string) ([]byte, error) {
	f, err := parser.ParseFile("pin.cue", pin, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the pin of a chart: %w", err)
	}
	body := releaseBody(f)
	if body == nil {
		return nil, fmt.Errorf("read the pin of a chart: it has no #Release: schema.#Release & {...}")
	}
	types, err := t.CUE("#Values")
	if err != nil {
		return nil, err
	}
	end := body.Rbrace.Offset()
	if end <= 0 || end >= len(pin) {
		return nil, fmt.Errorf("read the pin of a chart: #Release has no end")
	}
	out, err := format.Source(bytes.Join([][]byte{pin[:end], attached(layers), pin[end:], []byte("\n"), types}, nil))
	if err != nil {
		return nil, fmt.Errorf("format the package of a chart: %w", err)
	}
	return out, nil
}

// attached returns the fields that are added to #Release.
func attached(layers []string) []byte {
	var b bytes.Buffer
	b.WriteString(`
	// values are what must hold, of the chart's values.
	values: #Values

	// defaults are what may be said otherwise below, by layer.
	defaults?: {
`)
	for _, l := range layers {
		fmt.Fprintf(&b, "%q?: #Values\n", l)
	}
	b.WriteString("[string]: #Values\n}\n")
	return b.Bytes()
}

// releaseBody returns the struct of #Release.
func releaseBody(f *ast.File) *ast.StructLit {
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, ok := field.Label.(*ast.Ident)
		if !ok || name.Name != "#Release" {
			continue
		}
		if and, ok := field.Value.(*ast.BinaryExpr); ok && and.Op == token.AND {
			body, _ := and.Y.(*ast.StructLit)
			return body
		}
	}
	return nil
}

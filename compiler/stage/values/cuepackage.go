package values

import (
	"bytes"
	"fmt"
	"regexp"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Version is one version of a chart in a package.
type Version struct {
	Version string
	Types   *Type
}

// Package returns the text of the CUE package of a chart. pin is the package
// without types, in which #Release is a schema.#Release & {...}. Package adds
// #Values and attaches the types to the fields for values and defaults. With
// several versions, the first is the default, and the types are those of the
// version that the release selects. It returns an error when the pin does not
// have this form.
//
// The types are attached directly to the fields, because editors complete only
// such fields. Defaults of the given layers have completion; those of other
// layers are only checked.
func Package(pin []byte, layers []string, versions ...Version) ([]byte, error) {
	f, err := parser.ParseFile("pin.cue", pin, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the pin of a chart: %w", err)
	}
	body := releaseBody(f)
	if body == nil {
		return nil, fmt.Errorf("read the pin of a chart: it has no #Release: schema.#Release & {...}")
	}
	end := body.Rbrace.Offset()
	if end <= 0 || end >= len(pin) {
		return nil, fmt.Errorf("read the pin of a chart: #Release has no end")
	}
	var attached, types bytes.Buffer
	names := map[string]bool{}
	for i, v := range versions {
		name := "#Values"
		if i > 0 {
			name += "_" + notInIdentifier.ReplaceAllString(v.Version, "_")
		}
		for names[name] {
			name += "_"
		}
		names[name] = true
		if len(versions) == 1 {
			attach(&attached, name, layers)
		} else {
			fmt.Fprintf(&attached, "\nif chart.version == %s {", diag.AsJSON(v.Version))
			attach(&attached, name, layers)
			attached.WriteString("}\n")
		}
		text, err := v.Types.CUE(name)
		if err != nil {
			return nil, err
		}
		types.WriteString("\n")
		types.Write(text)
	}
	out, err := format.Source(bytes.Join([][]byte{pin[:end], attached.Bytes(), pin[end:], types.Bytes()}, nil))
	if err != nil {
		return nil, fmt.Errorf("format the package of a chart: %w", err)
	}
	return out, nil
}

var notInIdentifier = regexp.MustCompile(`[^a-zA-Z0-9]`)

// attach writes the fields that Package adds to #Release.
func attach(b *bytes.Buffer, types string, layers []string) {
	fmt.Fprintf(b, `
	// values of all layers are unified.
	values: %[1]s

	// defaults are values that lower layers can override, by layer.
	defaults?: {
`, types)
	for _, l := range layers {
		fmt.Fprintf(b, "%q?: %s\n", l, types)
	}
	fmt.Fprintf(b, "[string]: %s\n}\n", types)
}

// releaseBody returns the struct literal of #Release.
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

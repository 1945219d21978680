package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// addEnums adds the enums to the definitions. The OpenAPI documents of
// Kubernetes lack them, but the generated Go code has them.
func addEnums(all map[string]*definition, file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	functions := map[string]*definition{}
	for name, d := range all {
		functions[functionOf(name)] = d
	}
	found := 0
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || functions[f.Name.Name] == nil {
			continue
		}
		for _, statement := range f.Body.List {
			r, ok := statement.(*ast.ReturnStmt)
			if !ok || len(r.Results) != 1 {
				continue
			}
			n, err := addEnum(functions[f.Name.Name], r.Results[0])
			if err != nil {
				return fmt.Errorf("%s: %s: %w", file, f.Name.Name, err)
			}
			found += n
		}
	}
	if found == 0 {
		return fmt.Errorf("%s: no enums", file)
	}
	return nil
}

// functionOf returns the name of the generated function for a definition: the
// last four parts of its package, without punctuation, and its name.
func functionOf(name string) string {
	parts := strings.Split(strings.Replace(name, "io.k8s.", "k8s.io.", 1), ".")
	if len(parts) > 2 && parts[0] == "k8s" {
		parts = append([]string{"k8sio"}, parts[2:]...)
	}
	parts = parts[max(0, len(parts)-5):]
	return "schema_" + strings.ReplaceAll(strings.Join(parts, "_"), "-", "")
}

// addEnum adds the enums in an expression that builds a definition, and returns
// their number.
func addEnum(d *definition, x ast.Expr) (found int, err error) {
	for _, e := range elements(x) {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key := ""
		if id, ok := kv.Key.(*ast.Ident); ok {
			key = id.Name
		}
		n := 0
		switch key {
		case "Enum":
			n = 1
			d.Enum, err = texts(kv.Value)
		case "Items":
			n, err = addInner(d.Items, kv.Value)
		case "AdditionalProperties":
			n, err = addInner(d.Values, kv.Value)
		case "Properties":
			n, err = addFields(d, kv.Value)
		case "Schema", "SchemaProps":
			n, err = addEnum(d, kv.Value)
		}
		if err != nil {
			return 0, err
		}
		found += n
	}
	return found, nil
}

func addInner(d *definition, x ast.Expr) (found int, err error) {
	if d == nil {
		// The documents do not describe this type, so its enums are ignored.
		d = &definition{}
	}
	found, err = addEnum(d, x)
	if found > 0 && d.Type == "" {
		return 0, fmt.Errorf("an enum inside of a type that the documents do not have")
	}
	return found, err
}

func addFields(d *definition, x ast.Expr) (found int, err error) {
	for _, e := range elements(x) {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name, err := text(kv.Key)
		if err != nil {
			return 0, err
		}
		n, err := addInner(d.Properties[name], kv.Value)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		found += n
	}
	return found, nil
}

// elements returns the elements of a composite literal, or of a pointer to one.
func elements(x ast.Expr) []ast.Expr {
	if u, ok := x.(*ast.UnaryExpr); ok {
		x = u.X
	}
	if c, ok := x.(*ast.CompositeLit); ok {
		return c.Elts
	}
	return nil
}

// texts returns the strings of a composite literal, sorted.
func texts(x ast.Expr) ([]string, error) {
	var out []string
	for _, e := range elements(x) {
		s, err := text(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out, nil
}

func text(x ast.Expr) (string, error) {
	b, ok := x.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", fmt.Errorf("%T is not a string", x)
	}
	return strconv.Unquote(b.Value)
}

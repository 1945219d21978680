package load

import (
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc"
)

// configTypes are the definitions that the schema's #Config gives to its fields, by the name of
// the field: "#Releases" for releases.
var configTypes = sync.OnceValues(func() (map[string]string, error) {
	const name = "config.cue"
	data, err := fs.ReadFile(fleetc.Schema, name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(name, data)
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	for _, config := range fields(file.Decls, "#Config") {
		ast.Walk(config.Value, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				field, _, _ := ast.LabelName(f.Label)
				if id, ok := f.Value.(*ast.Ident); ok {
					types[field] = id.Name
				}
			}
			return true
		}, nil)
	}
	return types, nil
})

// dropRepeatedTypes removes the types of top-level fields that #Config already gives them, such
// as releases: schema.#Releases. Every cluster is unified with #Config, and CUE would check the
// same constraints twice. The fields remain, because expressions may refer to them.
//
// The user may add files to the schema in cue.mod/usr: then the types differ, and stay.
func dropRepeatedTypes(in *build.Instance) error {
	types, err := configTypes()
	if err != nil {
		return err
	}
	embedded, err := fs.Glob(fleetc.Schema, "*.cue")
	if err != nil {
		return err
	}
	isExtended := func(of *build.Instance) bool {
		return of.ImportPath == fleetc.SchemaPath && len(of.Files) != len(embedded)
	}
	if slices.ContainsFunc(in.Dependencies(), isExtended) {
		return nil
	}
	for _, file := range in.Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name, _, err := ast.LabelName(f.Label)
			if t := types[name]; err == nil && t != "" && schemaType(f.Value) == t {
				f.Value = &ast.Ident{Name: "_", NamePos: f.Value.Pos()}
			}
		}
	}
	return nil
}

// schemaType returns the name of the definition in the imported schema that an expression is,
// such as #Releases for schema.#Releases, or "".
func schemaType(x ast.Expr) string {
	selector, ok := x.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	from, _ := selector.X.(*ast.Ident)
	name, _ := selector.Sel.(*ast.Ident)
	if from == nil || name == nil {
		return ""
	}
	if spec, ok := from.Node.(*ast.ImportSpec); ok && spec.Path.Value == strconv.Quote(fleetc.SchemaPath) {
		return name.Name
	}
	return ""
}

package load

import (
	"io/fs"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
)

// dropRepeatedTypes removes the types of top-level fields that #Config already gives them, such
// as releases: schema.#Releases. Every cluster is unified with #Config, and CUE would check the
// same constraints twice. The fields remain, because expressions may refer to them.
//
// The user may add files to the schema in cue.mod/usr: then the types differ, and stay.
func dropRepeatedTypes(in *build.Instance) {
	embedded, _ := fs.Glob(fleetc.Schema, "*.cue") // the pattern is valid
	isExtended := func(of *build.Instance) bool {
		return of.ImportPath == fleetc.SchemaPath && len(of.Files) != len(embedded)
	}
	if slices.ContainsFunc(in.Dependencies(), isExtended) {
		return
	}
	for _, file := range in.Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name, _, err := ast.LabelName(f.Label)
			if written := diag.SchemaDefinition(f.Value); err == nil && written != "" && repeats(written, diag.SchemaTypeOf("#Config").Field(name)) {
				f.Value = &ast.Ident{Name: "_", NamePos: f.Value.Pos()}
			}
		}
	}
}

// repeats reports whether a type is the definition alone.
func repeats(definition string, t diag.SchemaType) bool {
	if len(t) != 1 {
		return false
	}
	id, ok := t[0].(*ast.Ident)
	return ok && id.Name == definition
}

package diag

import (
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// stackReference matches a reference to a parameter of a stack.
var stackReference = regexp.MustCompile(`(#\w+)\.(\w+)`)

// stackParameter turns the fault of a value that is a parameter of a stack without a value
// into the fault of the parameter, which is the same for all its uses. It reports whether it did.
func (x *explanation) stackParameter() bool {
	for _, at := range x.At {
		line, col := x.lineAt(at)
		rest := line[max(0, min(col-1, len(line))):]
		inserted := strings.HasPrefix(rest, `"`)
		for _, i := range stackReference.FindAllStringSubmatchIndex(rest, -1) {
			stack, name := rest[i[2]:i[3]], rest[i[4]:i[5]]
			if before := rest[:i[0]]; before != "" && !(inserted && strings.HasSuffix(before, `\(`)) {
				break
			}
			v := x.v.LookupPath(cue.MakePath(cue.Def(stack), cue.Str(name)))
			if value, _ := v.Default(); v.Exists() && v.Err() == nil && !value.IsConcrete() {
				x.parameterNotSet(stack, name, v)
				return true
			}
		}
	}
	return false
}

// parameterNotSet explains a parameter of a stack without a value: layers set it, where they
// name the type of the parameters.
func (x *explanation) parameterNotSet(stack, name string, v cue.Value) {
	of := x.v.LookupPath(cue.MakePath(cue.Def(stack)))
	declared := x.written(name, v)
	in := func(p Pos) bool {
		return slices.ContainsFunc(declared, func(d Pos) bool { return d.File == p.File })
	}
	at := slices.DeleteFunc(x.written(stack, of), in)
	x.Code, x.Path = CodeMissingValue, stack+"."+name
	x.Msg = "has no value: it must be " + kindName(v.IncompleteKind().String())
	x.Hint = "set the parameter in a layer: " + stack + ": " + name + ": ..."
	if at = append(at[:min(1, len(at))], declared...); len(at) > 0 {
		x.At = at
	}
}

// written returns the positions where a file of the user has the label of a field.
func (x *explanation) written(name string, v cue.Value) []Pos {
	var out []Pos
	for _, c := range append(Conjuncts(v), v) {
		f, ok := c.Source().(*ast.Field)
		if !ok {
			continue
		}
		label, _, err := ast.LabelName(f.Label)
		if p := CUEPos(x.root, f.Label.Pos()); err == nil && label == name && p.IsValid() && !IsTypeFile(p.File) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

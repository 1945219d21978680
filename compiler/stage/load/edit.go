package load

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FindLayer returns the layer with the given name, or with the given path
// below environments, in the fleet at root. Clusters are layers too.
func FindLayer(root, name string) (fleet.Layer, error) {
	t, err := scan(root)
	if err != nil {
		return fleet.Layer{}, err
	}
	want := strings.TrimPrefix(path.Clean(filepath.ToSlash(name)), environments+"/")
	var named, names []string
	for _, dir := range t.dirs {
		switch {
		case dir == environments && (want == rootLayer || want == environments):
			return fleet.Layer{Name: rootLayer, Dir: dir}, nil
		case dir == environments:
			names = append(names, rootLayer)
			continue
		case idOf(dir) == want:
			return fleet.Layer{Name: path.Base(dir), Dir: dir}, nil
		case path.Base(dir) == want:
			named = append(named, dir)
		}
		names = append(names, idOf(dir))
	}
	switch len(named) {
	case 0:
		if dir := t.emptyDir(root, want); dir != "" {
			return fleet.Layer{}, &diag.Diag{
				Code: diag.CodeNoMatch, Msg: dir + " is not a layer: it has no CUE file of package " + pkg,
				Hint: "write " + dir + "/env.cue with the line package " + pkg,
			}
		}
		return fleet.Layer{}, &diag.Diag{Code: diag.CodeNoMatch, Msg: "the fleet has no layer " + name, Hint: cmp.Or(diag.OneOf(want, names), "name a directory below environments")}
	case 1:
		return fleet.Layer{Name: want, Dir: named[0]}, nil
	}
	return fleet.Layer{}, &diag.Diag{
		Code: diag.CodeSeveralMatches,
		Msg:  fmt.Sprintf("%d layers are called %s", len(named), name), Hint: "write one of " + strings.Join(named, ", "),
	}
}

// emptyDir returns the directory below environments with a name or path that has no files
// of package fleet, and "" if there is none.
func (t *tree) emptyDir(root, want string) string {
	for _, dir := range t.dirs {
		for ; dir != environments; dir = path.Dir(dir) {
			if path.Base(dir) == want {
				return dir
			}
		}
	}
	dir := path.Join(environments, want)
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil || !info.IsDir() || !fleet.IsWithin(dir, environments) || !filepath.IsLocal(filepath.FromSlash(want)) {
		return ""
	}
	return dir
}

// SetVersion sets the chart version of a release in a layer, see [SetText].
func SetVersion(root string, layer fleet.Layer, release, version string, edits Edits) (file string, err error) {
	return SetText(root, layer, []string{"releases", release, "chart", "version"}, version, edits)
}

// SetText sets the field at a path in a layer to a text, see [SetValue].
func SetText(root string, layer fleet.Layer, path []string, value string, edits Edits) (file string, err error) {
	return SetValue(root, layer, path, literal.String.Quote(value), edits)
}

// SetValue sets the field at a path in a layer, of at least two keys, to a value of CUE. It adds the changed
// file to the edits and leaves the rest of it unchanged: it replaces an existing literal,
// or adds a line to the innermost struct with braces below the release, or else adds a
// line at the end. It returns the file, relative to the root. A field that is an expression
// is a fault.
func SetValue(root string, layer fleet.Layer, path []string, value string, edits Edits) (file string, err error) {
	t, err := scanLayer(root, layer.Dir)
	if err != nil {
		return "", err
	}
	var best fieldMatch
	files := diag.Each(t.files[layer.Dir], func(name string) string { return layer.Dir + "/" + name })
	isLink := func(name string) bool { return t.links[name] != "" }
	for _, name := range slices.Concat(diag.Filter(files, func(name string) bool { return !isLink(name) }), diag.Filter(files, isLink)) {
		file := cmp.Or(t.links[name], name)
		text, parsed, err := edits.parse(root, file)
		if err != nil {
			return "", err
		}
		p := find(parsed.Decls, path)
		p.file, p.text = file, text
		// Other layers may have the file of a link.
		if best.file == "" || p.depth > best.depth && (!isLink(name) || p.depth == len(path)) {
			best = p
		}
	}
	if best.file == "" {
		return "", &diag.Diag{Code: diag.CodeCannotEdit, Msg: "the layer " + layer.Name + " has no files", Hint: "add one of package " + pkg + " to " + layer.Dir}
	}
	text, err := best.set(root, path, value)
	if err != nil {
		return "", err
	}
	edits[best.file] = text
	return best.file, nil
}

// A fieldMatch is the field of a file that matches the longest prefix of a
// path.
type fieldMatch struct {
	file   string
	text   []byte
	depth  int            // number of matched names
	field  *ast.Field     // the last matched field
	braces *ast.StructLit // the innermost struct with braces on the path; nil if there is none
	inside int            // number of names before those in braces
	top    ast.Decl       // the top-level declaration that contains it
}

// find follows names through fields. It does not search comprehensions and
// references.
func find(decls []ast.Decl, names []string) fieldMatch {
	var best fieldMatch
	for _, d := range decls {
		if labelOf(d) != names[0] {
			continue
		}
		f := d.(*ast.Field)
		here := fieldMatch{depth: 1, field: f}
		if len(names) > 1 {
			for _, lit := range structs(f.Value) {
				p := find(lit.Elts, names[1:])
				if p.braces != nil {
					p.inside++
				} else if lit.Lbrace.IsValid() && lit.Rbrace.IsValid() {
					p.braces, p.inside = lit, 1
				}
				if p.depth+1 > here.depth || here.braces == nil && p.depth+1 == here.depth {
					here = fieldMatch{depth: p.depth + 1, field: cmp.Or(p.field, f), braces: p.braces, inside: p.inside}
				}
			}
		}
		if here.depth > best.depth {
			here.top = d
			best = here
		}
	}
	return best
}

// structs returns the struct literals that an expression unifies.
func structs(e ast.Expr) []*ast.StructLit {
	switch e := e.(type) {
	case *ast.StructLit:
		return []*ast.StructLit{e}
	case *ast.ParenExpr:
		return structs(e.X)
	case *ast.BinaryExpr:
		return slices.Concat(structs(e.X), structs(e.Y))
	}
	return nil
}

// set returns the text with the value at the path.
func (p fieldMatch) set(root string, path []string, value string) ([]byte, error) {
	const inRelease = 2 // number of matched names
	if p.depth == len(path) {
		lit, ok := p.field.Value.(*ast.BasicLit)
		if !ok {
			return nil, &diag.Diag{
				Code: diag.CodeCannotEdit,
				At:   []diag.Pos{diag.CUEPos(root, p.field.Value.Pos())}, Path: strings.Join(path, "."),
				Msg: "this layer sets the value with an expression", Hint: "write " + value + " here",
			}
		}
		return p.splice(lit.Pos().Offset(), lit.End().Offset(), value), nil
	}
	if p.braces != nil && p.inside >= inRelease {
		return p.into(p.braces, labels(path[p.inside:])+value), nil
	}
	line := labels(path[:1]) + literal.String.Quote(path[1]) + ": " + labels(path[inRelease:]) + value + "\n"
	at := len(p.text)
	if p.top != nil {
		at = p.top.End().Offset()
		if end := bytes.IndexByte(p.text[at:], '\n'); end >= 0 {
			at += end + 1
		} else {
			at = len(p.text)
		}
	}
	switch {
	case at > 0 && p.text[at-1] != '\n':
		line = "\n" + line
	case p.top == nil && at > 0:
		line = "\n" + line // after an empty line
	}
	return p.splice(at, at, line), nil
}

// labels returns the keys as labels of CUE, each with a colon.
func labels(keys []string) string {
	var out strings.Builder
	for _, key := range keys {
		if ast.StringLabelNeedsQuoting(key) {
			key = literal.Label.Quote(key)
		}
		out.WriteString(key + ": ")
	}
	return out.String()
}

// into inserts a line at the beginning of a struct, indented like the next
// line.
func (p fieldMatch) into(lit *ast.StructLit, line string) []byte {
	at := lit.Lbrace.Offset() + 1
	rest := p.text[at:]
	body := bytes.TrimLeft(rest, " \t")
	if len(body) == 0 || body[0] != '\n' && body[0] != '\r' {
		if lit.Lbrace.Line() == lit.Rbrace.Line() {
			sep := ""
			if len(lit.Elts) > 0 {
				sep = ", "
			}
			return p.splice(at, at, line+sep)
		}
		line += "\n" + p.indent(at) + "\t"
	}
	return p.splice(at, at, "\n"+p.indent(at)+"\t"+line)
}

// indent returns the indentation of the line of an offset.
func (p fieldMatch) indent(at int) string {
	line := p.text[bytes.LastIndexByte(p.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (p fieldMatch) splice(from, to int, text string) []byte {
	return slices.Concat(p.text[:from], []byte(text), p.text[to:])
}

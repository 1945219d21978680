package load

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A ChangedPackage is a generated package whose version another program may have
// changed since fleetc wrote it. Its pins are those that fleetc wrote, with their
// digests: the comment of the package lists their versions. They are empty if the
// file does not have them any more.
type ChangedPackage struct {
	Package
	Chart  string // name of the chart, from the comment
	Stated []Pin  // the pins in the file now, the default first; digests may belong to other versions

	sameVersions bool // as fleetc wrote
}

// ChangedPackages returns the generated packages of the fleet at root, sorted by
// name. The error holds the faults of packages that cannot be read.
func ChangedPackages(root string) ([]ChangedPackage, error) {
	names, err := packageNames(root)
	if err != nil {
		return nil, err
	}
	var out []ChangedPackage
	var faults diag.List
	for _, name := range names {
		p, err := changedPackage(root, name)
		switch {
		case err != nil:
			faults.Add(err)
		case p != nil:
			out = append(out, *p)
		}
	}
	return out, faults.Err()
}

// changedPackage returns nil if the package is not generated.
func changedPackage(root, name string) (*ChangedPackage, error) {
	file := PackageFile(name)
	full := filepath.Join(root, filepath.FromSlash(file))
	data, err := os.ReadFile(full)
	if err != nil || !bytes.HasPrefix(data, []byte(GeneratedBy)) {
		return nil, nil
	}
	parsed, err := ParseFile(full, data, parser.ParseComments)
	if err != nil {
		return nil, diag.CUEFaults(root, err, cue.Value{}).Err()
	}
	again := &diag.Diag{Code: diag.CodeGeneratedFile, At: []diag.Pos{{File: file}}, Hint: "restore the file from git, or run fleetc chart add REF --name " + name}
	p := &ChangedPackage{Package: Package{Name: name, File: file}}
	var recorded []string
	if p.Chart, recorded = pinComment(data, name); p.Chart == "" {
		again.Msg = "the comment of the package does not say which versions fleetc pinned"
		return nil, again
	}
	chart := chartField(parsed)
	if chart == nil {
		again.Msg = "the package has no #Release with a chart"
		return nil, again
	}
	version := fieldOf(chart.Elts, "version")
	var stated []string
	if version != nil {
		var ok bool
		if stated, ok = alternatives(version.Value); !ok {
			again.At = []diag.Pos{diag.CUEPos(root, version.Value.Pos())}
			again.Msg = "the version of the chart is not a quoted string"
			return nil, again
		}
	}
	p.sameVersions = slices.Equal(stated, recorded)
	p.Stated = statedPins(full, data, stated)
	if len(p.Stated) == 0 {
		again.Msg = "the fields of the chart cannot be read"
		return nil, again
	}
	p.Pins = pinsOf(withVersions(full, data, recorded))
	return p, nil
}

// pinComment reads the chart and its versions from the comment that [GeneratedBy]
// precedes: "// Package web pins the Helm chart web 2.0.0, 1.0.0: Serves pages."
func pinComment(data []byte, name string) (chart string, versions []string) {
	for line := range strings.Lines(string(data)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "// Package "+name+" pins the Helm chart ")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, ": ")
		chart, text, _ = strings.Cut(strings.TrimSuffix(text, "."), " ")
		for version := range strings.SplitSeq(text, ", ") {
			if version != "" {
				versions = append(versions, version)
			}
		}
		return chart, versions
	}
	return "", nil
}

// chartField returns the fields of the chart in #Release.
func chartField(f *ast.File) *ast.StructLit {
	if body := releaseBody(f); body != nil {
		if field := fieldOf(body.Elts, "chart"); field != nil {
			chart, _ := field.Value.(*ast.StructLit)
			return chart
		}
	}
	return nil
}

// alternatives returns the strings of "a" or *"a" | "b".
func alternatives(e ast.Expr) (out []string, ok bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		left, ok := alternatives(e.X)
		right, ok2 := alternatives(e.Y)
		return append(left, right...), ok && ok2 && e.Op == token.OR
	case *ast.UnaryExpr:
		if e.Op == token.MUL {
			return alternatives(e.X)
		}
	case *ast.BasicLit:
		text, err := literal.Unquote(e.Value)
		return []string{text}, err == nil && e.Kind == token.STRING
	}
	return nil, false
}

// disjunction is the inverse of alternatives.
func disjunction(versions []string) string {
	quoted := diag.Each(versions, literal.String.Quote)
	if len(quoted) > 1 {
		quoted[0] = "*" + quoted[0]
	}
	return cmp.Or(strings.Join(quoted, " | "), "_|_")
}

// statedPins returns a pin for each stated version, even if tables by version lack it.
// It has no digest, dependencies and schemas then.
func statedPins(file string, data []byte, stated []string) []Pin {
	if len(stated) == 0 {
		return pinsOf(withVersions(file, data, nil))
	}
	var out []Pin
	for i, v := range stated {
		if slices.Contains(stated[:i], v) {
			continue
		}
		pins := pinsOf(withVersions(file, data, []string{v}))
		if len(pins) == 0 {
			pins = pinsOf(withoutTables(withVersions(file, data, []string{v})))
		}
		if len(pins) == 0 {
			return nil
		}
		out = append(out, pins[0])
	}
	return out
}

// withVersions parses the file with other versions of its chart, if it has one. It replaces
// the text, because the parser has resolved references to the version.
func withVersions(file string, data []byte, versions []string) *ast.File {
	parsed, err := parser.ParseFile(file, data)
	if err != nil {
		panic("parse a file again: " + err.Error()) // cannot happen: it was parsed before
	}
	version := fieldOf(chartField(parsed).Elts, "version")
	if version == nil {
		return parsed
	}
	from, to := version.Value.Pos().Offset(), version.Value.End().Offset()
	text := slices.Concat(data[:from], []byte(disjunction(versions)), data[to:])
	if parsed, err = parser.ParseFile(file, text); err != nil {
		panic("parse a file with another version: " + err.Error()) // cannot happen: disjunction quotes versions
	}
	return parsed
}

// withoutTables returns the file without the fields that are tables by version.
func withoutTables(f *ast.File) *ast.File {
	chart := chartField(f)
	out := ast.StructLit{Elts: slices.DeleteFunc(slices.Clone(chart.Elts), func(d ast.Decl) bool {
		field, ok := d.(*ast.Field)
		if !ok {
			return false
		}
		_, isTable := field.Value.(*ast.IndexExpr)
		return isTable
	})}
	body := &ast.StructLit{Elts: []ast.Decl{&ast.Field{Label: ast.NewIdent("chart"), Value: &out}}}
	release := &ast.Field{Label: ast.NewIdent("#Release"), Value: ast.NewBinExpr(token.AND, ast.NewIdent("_"), body)}
	return &ast.File{Filename: f.Filename, Decls: []ast.Decl{release}}
}

// Complete reports whether the package has the versions that fleetc wrote, with digests.
func (p ChangedPackage) Complete() bool {
	return p.sameVersions && !slices.ContainsFunc(p.Stated, func(s Pin) bool { return p.Written(s.Version) == nil })
}

// Written returns the pin that fleetc wrote for a version, nil if there is none.
func (p ChangedPackage) Written(version string) *Pin {
	for i, pin := range p.Pins {
		if pin.Version == version && pin.Ref.Path == "" && pin.Ref.Digest != "" {
			return &p.Pins[i]
		}
	}
	return nil
}

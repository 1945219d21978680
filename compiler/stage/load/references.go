package load

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A ReleaseReference is a line in which the configuration of a release refers to another
// release of its cluster.
type ReleaseReference struct {
	From, To string   // names of releases
	Path     string   // the referenced field below the other release, such as values.host
	Pos      diag.Pos // of the reference
}

// ReleaseReferences returns the references between releases in CUE files, sorted: those of
// the given layers, and of packages beside the layers, such as stacks. It reads the text of
// the files, so it includes references in conditions that do not hold.
func ReleaseReferences(root string, layers []LayerFiles) ([]ReleaseReference, error) {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	files := slices.Concat(diag.Each(layers, func(l LayerFiles) []string { return l.Files })...)
	others, err := packageFiles(tree)
	if err != nil {
		return nil, err
	}
	var out []ReleaseReference
	for _, name := range append(files, others...) {
		if path.Ext(name) != ".cue" {
			continue
		}
		parsed, err := parseIn(tree, name)
		if err != nil {
			return nil, err
		}
		out = append(out, fileReferences(parsed, name)...)
	}
	slices.SortFunc(out, func(a, b ReleaseReference) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Path, b.Path), a.Pos.Compare(b.Pos))
	})
	return slices.Compact(out), nil
}

// packageFiles returns the CUE files below environments that are in another package than the
// layers, without those of generated packages.
func packageFiles(tree *os.Root) ([]string, error) {
	var out []string
	err := fs.WalkDir(tree.FS(), environments, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == environments+"/"+charts || strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case !e.Type().IsRegular() || path.Ext(name) != ".cue":
			return nil
		}
		parsed, err := parseIn(tree, name)
		if err == nil && parsed.PackageName() != pkg { // the pipeline reports faults of used files
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// parseIn parses a file below a directory.
func parseIn(tree *os.Root, name string) (*ast.File, error) {
	f, err := tree.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return nil, err
	}
	return parseFile(name, text, parser.NewConfig())
}

// fileReferences returns the references in a file.
func fileReferences(parsed *ast.File, file string) []ReleaseReference {
	aliases := map[string][]ReleaseReference{} // without From, by the name of the field that has them
	var releases []ast.Expr
	ast.Walk(parsed, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		name, _, err := ast.LabelName(f.Label)
		switch {
		case err != nil:
		case name == "releases":
			releases = append(releases, f.Value)
			return false
		case strings.HasPrefix(name, "#") || strings.HasPrefix(name, "_"):
			aliases[name] = append(aliases[name], expressionReferences(f.Value, "", file, nil)...)
		}
		return true
	}, nil)
	var out []ReleaseReference
	for _, all := range releases {
		lit, ok := all.(*ast.StructLit)
		if !ok {
			continue
		}
		for _, d := range lit.Elts {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			if from, _, err := ast.LabelName(f.Label); err == nil {
				out = append(out, expressionReferences(f.Value, from, file, aliases)...)
			}
		}
	}
	return out
}

// expressionReferences returns the references in the configuration of a release, also those
// by a definition or hidden field of the same file.
func expressionReferences(expr ast.Expr, from, file string, aliases map[string][]ReleaseReference) []ReleaseReference {
	var out []ReleaseReference
	ast.Walk(expr, func(n ast.Node) bool {
		keys, at := chain(n)
		if len(keys) == 0 {
			return true
		}
		pos := diag.Pos{File: file, Line: at.Line(), Col: at.Column()}
		switch {
		case keys[0] == "releases" && len(keys) > 1:
			if keys[1] != from {
				out = append(out, ReleaseReference{from, keys[1], fleet.FieldText(keys[2:]), pos})
			}
		default:
			for _, ref := range aliases[keys[0]] {
				if ref.To != from {
					out = append(out, ReleaseReference{from, ref.To, ref.Path, pos})
				}
			}
		}
		return false
	}, nil)
	return out
}

// chain returns the keys of a reference such as a.b["c"], and its position; none for another
// expression. It stops at an index that is not a string.
func chain(n ast.Node) ([]string, token.Pos) {
	switch n := n.(type) {
	case *ast.Ident:
		return []string{n.Name}, n.Pos()
	case *ast.SelectorExpr:
		keys, at := chain(n.X)
		name, _, err := ast.LabelName(n.Sel)
		if len(keys) == 0 || err != nil {
			return nil, at
		}
		return append(keys, name), at
	case *ast.IndexExpr:
		keys, at := chain(n.X)
		lit, ok := n.Index.(*ast.BasicLit)
		if len(keys) == 0 || !ok || !strings.HasPrefix(lit.Value, `"`) {
			return keys, at
		}
		key, err := literal.Unquote(lit.Value)
		if err != nil {
			return nil, at
		}
		return append(keys, key), at
	}
	return nil, token.NoPos
}

// Mentioning returns those of the clusters whose layers contain one of the words, which is
// quick to find out: others need not be evaluated to know that they do not set a field. It
// does not look into the file except.
func Mentioning(dir string, edits Edits, ids, words []string, except string) ([]string, error) {
	root, _, err := Root(dir)
	if err != nil {
		return nil, err
	}
	t, err := scan(root)
	if err != nil {
		return nil, err
	}
	layers := map[string]bool{} // whether a layer contains a word, by directory
	mentions := func(l fleet.Layer) bool {
		found, ok := layers[l.Dir]
		if !ok {
			found = slices.ContainsFunc(t.files[l.Dir], func(name string) bool {
				file := path.Join(l.Dir, name)
				text, err := edits.read(root, file)
				return err == nil && file != except && slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
			})
			layers[l.Dir] = found
		}
		return found
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return !slices.ContainsFunc(t.layers(path.Join(environments, id)), mentions)
	}), nil
}

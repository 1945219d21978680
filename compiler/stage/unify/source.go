package unify

import (
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// labelPos returns the position of the field of v, or of v itself if it has no
// field.
func labelPos(v cue.Value) token.Pos {
	if s := v.Source(); s != nil {
		return s.Pos()
	}
	return v.Pos()
}

// valuePos returns the position of the value of v's field.
func valuePos(v cue.Value) token.Pos {
	switch s := v.Source().(type) {
	case nil:
		return v.Pos()
	case *ast.Field:
		return s.Value.Pos()
	default:
		return s.Pos()
	}
}

// sourcePos returns the position of the concrete value v: its last conjunct
// that is concrete by itself and not part of a type.
func (e *evaluation) sourcePos(v cue.Value) token.Pos {
	parts := diag.Conjuncts(v)
	for _, a := range slices.Backward(parts) {
		if p := valuePos(a); a.IsConcrete() && p.IsValid() && e.layerOf(p) != "" {
			return p
		}
	}
	for _, a := range slices.Backward(parts) {
		if p := valuePos(a); p.IsValid() && !diag.IsTypeFile(diag.CUEFile(e.root, p)) {
			return p
		}
	}
	return valuePos(parts[len(parts)-1])
}

// fieldPos returns the position where v's field is written: the first one in the layers, from
// the root on, or else the first one in a package that they import. Positions of patterns
// such as [string] and of types come last.
func (e *evaluation) fieldPos(v cue.Value) diag.Pos { return e.firstPos(v, diag.Conjuncts(v)) }

// firstPos is fieldPos of a value with known conjuncts.
func (e *evaluation) firstPos(v cue.Value, parts []cue.Value) diag.Pos {
	imported := len(e.layers)
	best, rank := labelPos(v), 2*(imported+1)
	for _, a := range parts {
		p := labelPos(a)
		i := layerIndex(e.layers, e.layerOf(p))
		if i < 0 {
			i = imported
		}
		if f, ok := a.Source().(*ast.Field); ok && isPattern(f.Label) {
			i += imported + 1
		}
		if i < rank && p.IsValid() && !diag.IsTypeFile(diag.CUEFile(e.root, p)) {
			best, rank = p, i
		}
	}
	return diag.CUEPos(e.root, best)
}

// releasePos returns the position of a release of v: where a layer writes its name and sets
// its source, or else where a layer writes it first.
func (e *evaluation) releasePos(v cue.Value, name string, release cue.Value) diag.Pos {
	parts := e.releaseParts(v, name, release)
	for _, p := range parts {
		f, ok := p.Source().(*ast.Field)
		if ok {
			label, _, err := ast.LabelName(f.Label)
			ok = err != nil || label != name // a pattern, or a label that a loop computes
		}
		if !ok && e.layerOf(labelPos(p)) != "" && len(present(p, sourceFields...)) > 0 {
			return diag.CUEPos(e.root, labelPos(p))
		}
	}
	return e.firstPos(release, parts)
}

// layerIndex returns the index of the layer with a name; -1 if there is none.
func layerIndex(layers []fleet.Layer, name string) int {
	return slices.IndexFunc(layers, func(l fleet.Layer) bool { return l.Name == name })
}

// layerOf returns the layer of the file at a position, or an empty string for
// imported packages and types.
func (e *evaluation) layerOf(p token.Pos) string { return e.layerOfFile(diag.CUEFile(e.root, p)) }

func (e *evaluation) layerOfFile(file string) string {
	if name, ok := e.embedded.names[file]; ok {
		file = name
	}
	dir := path.Dir(file)
	if by, ok := e.embedded.embedders[file]; ok {
		dir = by
	}
	for _, l := range e.layers {
		if l.Dir == dir {
			return l.Name
		}
	}
	// CUE also unifies files between the module root and the environments
	// directory.
	if file != "" && !path.IsAbs(file) && (dir == "." || strings.HasPrefix(e.layers[0].Dir, dir+"/")) {
		return e.layers[0].Name
	}
	return ""
}

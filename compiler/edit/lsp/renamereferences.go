package lsp

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// references replaces references to the release, such as releases.web.values, comparisons with
// its name in a loop over the releases, and references to the defaults of the layer.
func (r *renamer) references(parsed *ast.File) {
	ast.Walk(parsed, func(n ast.Node) bool {
		var name ast.Node
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name = n.Sel
		case *ast.IndexExpr:
			name = n.Index
			if r.isComputedLayer(parsed, n) {
				r.computed = append(r.computed, r.pos(name))
			}
		case *ast.Ident:
			name = n
		case *ast.BinaryExpr:
			r.comparison(parsed, n)
		}
		if name == nil {
			return true
		}
		if id, ok := name.(*ast.Ident); ok && id.Name != r.before {
			return true
		}
		if lit, ok := name.(*ast.BasicLit); ok && !isText(lit, r.before) {
			return true
		}
		c := r.cursor(parsed, name)
		if !r.isReference(c.reference) || slices.ContainsFunc(r.edits[r.file], func(e replacement) bool { return e.from == name.Pos().Offset() }) {
			return true
		}
		if r.kind == namedLayer && !r.isInLayer("") && r.isShared {
			r.ambiguous = append(r.ambiguous, r.pos(n))
			return true
		}
		if _, bare := n.(*ast.Ident); bare && ast.StringLabelNeedsQuoting(r.after) && !strings.HasSuffix(r.text[:c.offset], ".") {
			r.computed = append(r.computed, r.pos(n))
			return true
		}
		r.replace(name, r.after)
		return true
	}, nil)
}

// isReference reports whether a reference is to the release or to defaults of the layer. Above
// the layer, it may be to those of another layer with the name.
func (r *renamer) isReference(p []string) bool {
	if r.kind == namedRelease {
		return slices.Equal(p, []string{"releases", r.before})
	}
	return isLayerLabel(p) && p[3] == r.before && r.isInLayer("overridden")
}

// isComputedLayer reports whether an index of defaults is computed, as in
// releases.web.defaults[_layer].
func (r *renamer) isComputedLayer(parsed *ast.File, n *ast.IndexExpr) bool {
	x := ast.Node(n.X)
	if s, ok := n.X.(*ast.SelectorExpr); ok {
		x = s.Sel
	}
	_, isWritten := n.Index.(*ast.BasicLit)
	return r.kind == namedLayer && !isWritten && r.isReference(append(r.cursor(parsed, x).reference, r.before))
}

// cursor returns the cursor at a node of the file.
func (r *renamer) cursor(parsed *ast.File, n ast.Node) *cursor {
	c := &cursor{file: r.file, root: r.root, text: r.text, offset: n.Pos().Offset(), syntax: parsed}
	c.findNodes()
	c.findPath(false)
	return c
}

// comparison replaces the name in a comparison with the key of a loop over the releases:
// for name, r in releases if name != "web".
func (r *renamer) comparison(parsed *ast.File, e *ast.BinaryExpr) {
	if r.kind != namedRelease || e.Op != token.EQL && e.Op != token.NEQ {
		return
	}
	id, ok := e.X.(*ast.Ident)
	text := e.Y
	if !ok {
		id, ok = e.Y.(*ast.Ident)
		text = e.X
	}
	if !ok || !isText(text, r.before) {
		return
	}
	for _, n := range slices.Backward(r.cursor(parsed, id).nodes) {
		loop, ok := n.(*ast.Comprehension)
		if !ok {
			continue
		}
		for _, clause := range loop.Clauses {
			clause, ok := clause.(*ast.ForClause)
			if !ok || clause.Key == nil || clause.Key.Name != id.Name {
				continue
			}
			if slices.Equal(r.cursor(parsed, clause.Source).reference, []string{"releases"}) {
				r.replace(text, r.after)
			}
			return
		}
	}
}

// changedRule returns the position of a text in a rule that matches the release under only
// one of its names, or an invalid position. An expression may compute such a text.
func (r *renamer) changedRule(before, after *compiler.Fleet) diag.Pos {
	for i, b := range before.Clusters {
		old, texts := r.ruleTexts(b, r.before, r.after), r.ruleTexts(after.Clusters[i], "", "")
		for j, t := range old {
			if j >= len(texts) || (fleet.PathPattern{t.Text}).Matches(r.before) != (fleet.PathPattern{texts[j].Text}).Matches(r.after) {
				return t.Pos
			}
		}
	}
	return diag.Pos{}
}

// ruleTexts returns the patterns of releases in the rules of a cluster. Rules of releases are
// in the order of their names, with one replaced.
func (r *renamer) ruleTexts(c *fleet.Cluster, before, after string) (out []fleet.MatchText) {
	if r.kind != namedRelease {
		return nil
	}
	for _, p := range c.Policies {
		out = append(out, p.Texts...)
		for _, w := range p.Waivers {
			out = append(out, w.Texts...)
		}
	}
	add := func(health []fleet.HealthRule, ignore []fleet.IgnoreRule) {
		for _, h := range health {
			out = append(out, h.Texts...)
		}
		for _, i := range ignore {
			out = append(out, i.Texts...)
		}
	}
	add(c.Health, slices.Concat(c.Ignore, c.DriftIgnore))
	as := func(release *fleet.Release) string {
		if release.Name == before {
			return after
		}
		return release.Name
	}
	for _, release := range slices.SortedStableFunc(slices.Values(c.Releases), func(a, b *fleet.Release) int { return strings.Compare(as(a), as(b)) }) {
		add(release.Health, slices.Concat(release.Ignore, release.DriftIgnore))
	}
	return slices.DeleteFunc(out, func(t fleet.MatchText) bool { return t.Field != "releases" })
}

// changedValue returns the path and the position of a value or an object of a release that
// the rename would change by more than the name in its texts. An expression may compare names
// of releases or layers, or look them up.
func (r *renamer) changedValue(before, after []*fleet.Cluster) (path string, at diag.Pos) {
	if r.kind == namedStage {
		return "", diag.Pos{}
	}
	for i, b := range before {
		for _, old := range b.Releases {
			next := after[i].Release(old.Name)
			if r.kind == namedRelease && old.Name == r.before {
				next = after[i].Release(r.after)
			}
			if next == nil {
				continue
			}
			if field, at, changed := r.changed(old.Values, next.Values, nil); changed {
				return old.Path(append([]string{"values"}, field...)...), cmp.Or(at, next.Pos)
			}
			if len(old.Objects) != len(next.Objects) {
				return old.Path("objects"), next.Pos
			}
			for i := range old.Objects {
				if _, at, changed := r.changed(old.Objects[i], next.Objects[i], nil); changed {
					return old.Path("objects", strconv.Itoa(i)), cmp.Or(at, next.Pos)
				}
			}
		}
	}
	return "", diag.Pos{}
}

// changed returns the first difference between two trees at a path, except for the name in
// texts and keys.
func (r *renamer) changed(before, after *fleet.Tree, path []string) (at []string, pos diag.Pos, changed bool) {
	if len(before.Fields) != len(after.Fields) || len(before.List) != len(after.List) || before.IsMap() != after.IsMap() {
		return path, after.Pos, true
	}
	for _, key := range before.Keys() {
		next := cmp.Or(after.Fields[key], after.Fields[r.renamed(key)])
		if next == nil {
			return path, after.Pos, true
		}
		if at, pos, changed := r.changed(before.Fields[key], next, append(path, key)); changed {
			return at, pos, true
		}
	}
	for i := range before.List {
		if at, pos, changed := r.changed(before.List[i], after.List[i], append(path, strconv.Itoa(i))); changed {
			return at, pos, true
		}
	}
	if before.Scalar == after.Scalar {
		return nil, diag.Pos{}, false
	}
	text, ok := before.Scalar.(string)
	return path, after.Pos, !ok || r.renamed(text) != after.Scalar
}

// renamed returns a text with the new name in place of the old one.
func (r *renamer) renamed(text string) string {
	return strings.ReplaceAll(text, r.before, r.after)
}

package lsp

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// changedValue returns the path and the position of a value or an object of a release that
// the rename would change by more than the name in its texts. An expression may compare names
// of releases, or look them up.
func (r *renamer) changedValue(before, after *compiler.Fleet) (path string, at diag.Pos) {
	if r.kind != namedRelease {
		return "", diag.Pos{}
	}
	for i, b := range before.Clusters {
		for _, old := range b.Releases {
			next := after.Clusters[i].Release(old.Name)
			if old.Name == r.before {
				next = after.Clusters[i].Release(r.after)
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

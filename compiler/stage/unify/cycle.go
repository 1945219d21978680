package unify

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// cycle reports reference cycles among values that are not concrete after the
// last pass.
func (b *binding) cycle(v cue.Value) error {
	waiting := map[string]cue.Value{}
	for _, p := range b.pending {
		waiting[diag.ValuesPath(p.Path().String())] = p
	}
	b.releases(v, func(name string, release cue.Value) {
		values := b.lookups.values(b.reader, name, release)
		if len(values.pending) == 0 && values.v.Err() == nil {
			return // all values are concrete
		}
		values.v.Walk(func(x cue.Value) bool {
			// CUE accepts two fields that refer to each other: any value
			// satisfies them.
			if x.IncompleteKind() == cue.TopKind {
				waiting[x.Path().String()] = x
			}
			return true
		}, nil)
	})
	refs := referencesAmong(waiting)
	done := map[string]bool{}
	var faults diag.List
	for _, path := range slices.Sorted(maps.Keys(waiting)) {
		circle := circleFrom(path, refs, done)
		if circle == nil {
			continue
		}
		d := &diag.Diag{
			Code: diag.CodeCycle,
			Path: circle[0],
			Msg:  "refers to itself: " + strings.Join(append(circle, circle[0]), " -> "),
			Hint: "set one of them to a value",
		}
		for _, member := range circle {
			d.At = append(d.At, diag.CUEPos(b.root, valuePos(waiting[member])))
		}
		diag.ExplainShadowing(b.root, d)
		faults.Add(d)
	}
	return faults.Err()
}

// maxFollowed limits the values outside of releases that references are followed to.
const maxFollowed = 1000

// referencesAmong returns the references between values that are not concrete. It adds the
// values that they refer to, if any value satisfies those.
func referencesAmong(waiting map[string]cue.Value) map[string][]string {
	refs := map[string][]string{}
	todo := slices.Sorted(maps.Keys(waiting))
	for followed := 0; len(todo) > 0; todo = todo[1:] {
		path := todo[0]
		for ref, of := range references(waiting[path]) {
			if _, ok := waiting[ref]; !ok {
				if followed == maxFollowed || of.IncompleteKind() != cue.TopKind {
					continue
				}
				followed++
				waiting[ref], todo = of, append(todo, ref)
			}
			refs[path] = append(refs[path], ref)
		}
		slices.Sort(refs[path])
	}
	return refs
}

// circleFrom follows the references from path and returns the first cycle that
// it finds, or nil. It skips nodes in done.
func circleFrom(path string, refs map[string][]string, done map[string]bool) []string {
	var trail []string
	var visit func(at string) []string
	visit = func(at string) []string {
		if i := slices.Index(trail, at); i >= 0 {
			return slices.Clone(trail[i:])
		}
		if done[at] {
			return nil
		}
		done[at] = true
		trail = append(trail, at)
		for _, next := range refs[at] {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		trail = trail[:len(trail)-1]
		return nil
	}
	return visit(path)
}

// references returns the values that the expression of v refers to, by path.
func references(v cue.Value) map[string]cue.Value {
	out := map[string]cue.Value{}
	var collect func(v cue.Value, depth int)
	collect = func(v cue.Value, depth int) {
		if root, path := v.ReferencePath(); root.Exists() {
			out[path.String()] = root.LookupPath(path)
		}
		if op, args := v.Expr(); op != cue.NoOp && depth > 0 {
			for _, a := range args {
				collect(a, depth-1)
			}
		}
	}
	collect(v, 8)
	return out
}

// divergence reports the values that still change after the last pass.
func (b *binding) divergence(next *binding) error {
	d := &diag.Diag{
		Code: diag.CodeCycle,
		Msg:  "depends on itself: each evaluation changes the value",
		Hint: "refer to a default of a layer above, as in releases.NAME.defaults.root.FIELD, and not to the value",
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(next.merged)) {
		at := []cue.Selector{cue.Str("releases"), cue.Str(name), cue.Str("values")}
		eachChange(at, b.merged[name], next.merged[name], func(at []cue.Selector, t *fleet.Tree) {
			paths, d.At = append(paths, cue.MakePath(at...).String()), append(d.At, t.Pos)
		})
	}
	const maxPaths = 5
	if len(paths) > 0 {
		d.Path = paths[0]
	}
	if len(paths) > 1 {
		d.Msg += "; so do " + strings.Join(paths[1:min(len(paths), maxPaths)], ", ")
	}
	return d
}

// eachChange calls f for the lists, scalars and new fields of after that differ from before,
// which may be nil, in the order of their paths.
func eachChange(at []cue.Selector, before, after *fleet.Tree, f func(at []cue.Selector, t *fleet.Tree)) {
	switch {
	case before != nil && reflect.DeepEqual(before.Value(), after.Value()):
	case before == nil || before.Fields == nil || after.Fields == nil:
		f(at, after)
	default:
		for _, key := range slices.Sorted(maps.Keys(after.Fields)) {
			eachChange(append(slices.Clip(at), cue.Str(key)), before.Fields[key], after.Fields[key], f)
		}
	}
}

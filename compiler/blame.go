package compiler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// maxTrials bounds how many releases of the whole fleet are rendered again to
// find the values behind faults.
const maxTrials = 300

// blame puts the line that set a field in front of the faults about it: of an
// object in CUE its own, of one that a chart renders that of the value which
// ends in the field.
func (f *Fleet) blame(ctx context.Context, all *clusterRendering, err error) error {
	var out diag.List
	for _, d := range diag.All(err) {
		at, ok := errors.AsType[*fleet.FieldError](d.Cause)
		if ok {
			if pos := f.setBy(ctx, all, at); pos.IsValid() && !slices.Contains(d.At, pos) {
				blamed := *d
				blamed.At = append([]diag.Pos{pos}, d.At...)
				d = &blamed
			}
		}
		out = append(out, d)
	}
	return out.Err()
}

// setBy returns the line that set a field; none when no line, or more than one,
// did.
func (f *Fleet) setBy(ctx context.Context, all *clusterRendering, at *fleet.FieldError) diag.Pos {
	i := slices.Index(all.releases, at.Object.Release)
	if i < 0 {
		return diag.Pos{}
	}
	r := all.releases[i]
	if f.charts[r.Chart].Chart == nil {
		return writtenAt(r, at)
	}
	var found diag.Pos
	for _, c := range candidates(r.Values, at) {
		if !f.sets(ctx, all, i, c, at) {
			continue
		}
		if found.IsValid() {
			return diag.Pos{}
		}
		found = c.tree.Pos
	}
	return found
}

// writtenAt returns where a field of an object in CUE is written, or that which
// it is missing in.
func writtenAt(r *fleet.Release, at *fleet.FieldError) diag.Pos {
	i := slices.IndexFunc(r.Objects, func(t *fleet.Tree) bool { return t.Pos == at.Object.Pos })
	if i < 0 {
		return diag.Pos{}
	}
	t, pos := r.Objects[i], diag.Pos{}
	for _, key := range at.Field {
		next := t.Fields[key]
		if next == nil {
			var index int
			if _, err := fmt.Sscanf(key, "%d", &index); err != nil || index < 0 || index >= len(t.List) {
				break
			}
			next = t.List[index]
		}
		if t = next; t.Pos.IsValid() {
			pos = t.Pos
		}
	}
	return pos
}

// A candidate is a value that a user has set and that may end in a field.
type candidate struct {
	path []string
	tree *fleet.Tree
}

// candidates returns the values that have the text of the field, and those that
// are called like it.
func candidates(values *fleet.Tree, at *fleet.FieldError) []candidate {
	const most = 8 // more say nothing
	v, _ := fleet.Lookup(at.Object.Object, at.Field)
	text, name := scalarText(v), at.Field[len(at.Field)-1]
	var out []candidate
	var walk func(t *fleet.Tree, path []string)
	walk = func(t *fleet.Tree, path []string) {
		for _, k := range t.Keys() {
			next, below := t.Fields[k], append(path[:len(path):len(path)], k)
			isScalar := next.Fields == nil && next.List == nil
			if next.Pos.IsValid() && len(out) < most && (k == name || isScalar && text != "" && scalarText(next.Scalar) == text) {
				out = append(out, candidate{below, next})
			}
			walk(next, below)
		}
	}
	walk(values, nil)
	return out
}

// scalarText returns a string, number or bool as text; empty for anything else.
func scalarText(v any) string {
	switch v.(type) {
	case string, bool, int64, float64, json.Number:
		return fmt.Sprint(v)
	}
	return ""
}

// A trial is whether a value sets a field, of a chart.
type trial struct {
	chart fleet.ChartRef
	value diag.Pos
	field string
}

// sets reports whether the field is another when the value is: the release is
// rendered once more with another value in its place.
func (f *Fleet) sets(ctx context.Context, all *clusterRendering, i int, c candidate, at *fleet.FieldError) bool {
	r := all.releases[i]
	key := trial{r.Chart, c.tree.Pos, at.Error()}
	if known, ok := f.trials.Load(key); ok {
		return known.(bool)
	}
	if f.tried.Add(1) > maxTrials {
		return false
	}
	changed := *r
	changed.Values = replaced(r.Values, c.path)
	result, err := f.templates.Release(ctx, all.cluster, &changed, f.charts[r.Chart].Chart, all.renderings[i].saw)
	sets := false
	if err == nil {
		was, _ := fleet.Lookup(at.Object.Object, at.Field)
		for _, o := range result.Objects {
			if o.GetKind() == at.Object.GetKind() && o.GetName() == at.Object.GetName() {
				is, there := fleet.Lookup(o.Object, at.Field)
				sets = !there || scalarText(was) != scalarText(is)
			}
		}
	}
	f.trials.Store(key, sets)
	return sets
}

// replaced returns the values with another one at the path: another text or
// number, or none in the place of a map or list.
func replaced(t *fleet.Tree, path []string) *fleet.Tree {
	if len(path) > 0 {
		out := *t
		out.Fields = make(map[string]*fleet.Tree, len(t.Fields))
		for k, f := range t.Fields {
			switch {
			case k != path[0]:
				out.Fields[k] = f
			case len(path) > 1 || f.Fields == nil && f.List == nil:
				out.Fields[k] = replaced(f, path[1:])
			}
		}
		return &out
	}
	out := *t
	switch v := t.Scalar.(type) {
	case string:
		out.Scalar = v + "x"
	case bool:
		out.Scalar = !v
	case json.Number:
		out.Scalar = v + "1"
	}
	return &out
}

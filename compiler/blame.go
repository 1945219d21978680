package compiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/trial"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxTrials bounds how many values of the whole fleet are tried to find those
// behind faults.
const maxTrials = 300

// blame puts the line that set a field in front of the faults about it: of an
// object in CUE its own, of one that a chart renders that of the value which
// ends in the field.
func (f *Fleet) blame(ctx context.Context, all *ClusterRendering, err error) error {
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
func (f *Fleet) setBy(ctx context.Context, all *ClusterRendering, at *fleet.FieldError) diag.Pos {
	i := slices.Index(all.Releases, at.Object.Release)
	if i < 0 {
		return diag.Pos{}
	}
	r := all.Releases[i]
	if f.Charts[r.Chart].Chart == nil {
		return WrittenPos(r, at)
	}
	var p *Provenance // made when it is needed
	found := map[trial.How][]diag.Pos{}
	for _, c := range candidates(r.Values, at) {
		key := tried{r.Chart, c.tree.Pos, at.Error()}
		how, known := f.trials.Load(key)
		if !known {
			if f.trialCount.Add(1) > maxTrials {
				continue
			}
			if p == nil {
				var err error
				if p, err = f.Provenance(ctx, all, at.Object, at.Field); err != nil || p.Subject == nil {
					return diag.Pos{}
				}
			}
			how = p.Subject.Try(ctx, c.path...)
			f.trials.Store(key, how)
		}
		found[how.(trial.How)] = append(found[how.(trial.How)], c.tree.Pos)
	}
	for _, how := range []trial.How{trial.Holds, trial.Changes} {
		if len(found[how]) == 1 {
			return found[how][0]
		}
	}
	return diag.Pos{}
}

// A tried is a value of a chart and a field that may depend on it.
type tried struct {
	chart fleet.ChartRef
	value diag.Pos
	field string
}

// WrittenPos returns the source position of a field of an object in CUE. For a field
// that is missing, it is the position of the nearest part above it.
func WrittenPos(r *fleet.Release, at *fleet.FieldError) diag.Pos {
	t, _ := WrittenIn(r, at.Object)
	if t == nil {
		return diag.Pos{}
	}
	pos := diag.Pos{}
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

// WrittenIn returns an object of a release as it is written in CUE, and its path among
// the objects of the release; nil when the release has no object of its kind and name.
func WrittenIn(r *fleet.Release, o fleet.Object) (*fleet.Tree, []string) {
	same := func(t *fleet.Tree) bool {
		m, _ := t.Native().(map[string]any)
		u := unstructured.Unstructured{Object: m}
		return m != nil && u.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind() && u.GetName() == o.GetName() &&
			(u.GetNamespace() == "" || u.GetNamespace() == o.GetNamespace())
	}
	for i, t := range r.Objects {
		key := strconv.Itoa(i)
		if r.Keys != nil {
			key = r.Keys[i]
		}
		if same(t) {
			return t, []string{key}
		}
		if items := t.Fields["items"]; items != nil {
			if n := slices.IndexFunc(items.List, same); n >= 0 {
				return items.List[n], []string{key, "items", strconv.Itoa(n)}
			}
		}
	}
	return nil, nil
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
	text, name := fleet.ScalarText(v), at.Field[len(at.Field)-1]
	var out []candidate
	var walk func(t *fleet.Tree, path []string)
	walk = func(t *fleet.Tree, path []string) {
		for _, k := range t.Keys() {
			next, below := t.Fields[k], append(path[:len(path):len(path)], k)
			isScalar := next.Fields == nil && next.List == nil
			if next.Pos.IsValid() && len(out) < most && (k == name || isScalar && text != "" && fleet.ScalarText(next.Scalar) == text) {
				out = append(out, candidate{below, next})
			}
			walk(next, below)
		}
	}
	walk(values, nil)
	return out
}

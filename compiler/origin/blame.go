package origin

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxTrials limits the perturbation tests for the faults of one cluster. Those of other
// clusters that are memoized count, too: the result must not depend on their order.
const maxTrials = 100

// Blamer finds the values behind faults in rendered objects. It memoizes which values the
// fields depend on, for all clusters of a fleet.
type Blamer struct {
	trials par.Memo[trialKey, Influence]
}

// Blame puts the line that set a field in front of the faults about the field: that of the
// last patch that changed it, for an object in CUE the line of the field, for an object of a
// chart the line of the value that the field depends on. rendered returns how a release was
// rendered, false for a release without a rendering.
func (b *Blamer) Blame(ctx context.Context, f Renderer, rendered func(*fleet.Release) (RenderedRelease, bool), err error) error {
	var out diag.List
	left := maxTrials
	for _, d := range diag.All(err) {
		at, ok := errors.AsType[*fleet.FieldError](d.Cause)
		if ok {
			if r, ok := rendered(at.Object.Release); ok {
				set := slices.DeleteFunc(b.setBy(ctx, f, r, at, &left), func(pos diag.Pos) bool { return !pos.IsValid() || slices.Contains(d.At, pos) })
				if len(set) > 0 {
					blamed := *d
					blamed.At = append(set, d.At...)
					d = &blamed
				}
			}
		}
		out = append(out, d)
	}
	return out.Err()
}

// setBy returns the line that set a field, or the lines of the values of which its text
// consists, such as the repository and the tag of an image. It returns none if it is not
// clear which of several values sets it.
func (b *Blamer) setBy(ctx context.Context, f Renderer, in RenderedRelease, at *fleet.FieldError, left *int) []diag.Pos {
	r := in.Release
	if len(r.Patches) > 0 {
		o := &Origin{cluster: in.Cluster, Release: r, object: at.Object}
		if err := o.unpatch(in.Result.Objects, at.Field); err == nil && len(o.Patches) > 0 {
			return []diag.Pos{o.Patches[len(o.Patches)-1].PosOf(at.Field)}
		}
	}
	if f.ChartOf(r) == nil {
		return []diag.Pos{WrittenPos(r, at)}
	}
	subject := sync.OnceValue(func() *Subject {
		o, err := Of(ctx, f, in, at.Object, at.Field)
		if err != nil {
			return nil
		}
		return o.Subject
	})
	whole, parts := fleetValues(r.Values, at)
	found := b.try(ctx, subject, r.Chart, at, whole, left)
	for _, how := range []Influence{Holds, Changes} {
		if len(found[how]) == 1 {
			return found[how]
		}
	}
	found = b.try(ctx, subject, r.Chart, at, parts, left)
	lines := slices.Concat(found[Holds], found[Changes])
	slices.SortStableFunc(lines, func(a, b diag.Pos) int { return b.Depth() - a.Depth() }) // inner layers first
	return lines
}

// try returns the positions of values of a chart by their influence on a field. The subject
// is nil if the field has no origin.
func (b *Blamer) try(ctx context.Context, subject func() *Subject, chart fleet.ChartRef, at *fleet.FieldError, all []fleetValue, left *int) map[Influence][]diag.Pos {
	found := map[Influence][]diag.Pos{}
	for _, c := range all {
		if *left == 0 {
			return nil
		}
		*left--
		how := b.trials.Get(trialKey{chart, c.tree.Pos, at.Error()}, func() Influence {
			if s := subject(); s != nil {
				return s.Try(ctx, c.path...)
			}
			return No
		})
		found[how] = append(found[how], c.tree.Pos)
	}
	return found
}

// trialKey is a value of a chart and a field that may depend on it.
type trialKey struct {
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
		if t = t.At(key); t == nil {
			break
		}
		if t.Pos.IsValid() {
			pos = t.Pos
		}
	}
	return pos
}

// WrittenIn returns an object of a release as it is written in CUE, and its path among
// the objects of the release; nil when the release has no object of its kind and name.
func WrittenIn(r *fleet.Release, o fleet.Object) (*fleet.Tree, []string) {
	same := func(t *fleet.Tree) bool {
		if name := t.At("metadata", "name"); name == nil || name.Scalar != o.GetName() {
			return false
		}
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

// fleetValue is a value of the fleet that may set a field.
type fleetValue struct {
	path []string
	tree *fleet.Tree
}

// fleetValues returns the values with the text or the name of the field, and those whose
// texts are parts of its text.
func fleetValues(values *fleet.Tree, at *fleet.FieldError) (whole, parts []fleetValue) {
	const (
		most  = 8 // more candidates are ambiguous
		short = 3 // texts that are not parts only by chance have so many bytes
	)
	v, _ := fleet.Lookup(at.Object.Object, at.Field)
	text, name := fleet.ScalarText(v), at.Field[len(at.Field)-1]
	var walk func(t *fleet.Tree, path []string)
	walk = func(t *fleet.Tree, path []string) {
		for _, k := range t.Keys() {
			next, below := t.Fields[k], append(path[:len(path):len(path)], k)
			own := ""
			if next.Fields == nil && next.List == nil {
				own = fleet.ScalarText(next.Scalar)
			}
			switch {
			case !next.Pos.IsValid():
			case k == name, text != "" && own == text:
				whole = append(whole, fleetValue{below, next})
			case len(own) >= short && strings.Contains(text, own):
				parts = append(parts, fleetValue{below, next})
			}
			walk(next, below)
		}
	}
	walk(values, nil)
	return whole[:min(most, len(whole))], parts[:min(most, len(parts))]
}

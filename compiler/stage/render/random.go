package render

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// Keeper returns the value of a nondeterministic field in the previous bundle or in the
// cluster, and whether it exists.
type Keeper func(o fleet.Object, field []string) (value any, ok bool, err error)

// KeepFrom returns a keeper of the values in objects, where a patch or a change of the chart
// may have moved the elements of lists. It calls last when it needs them.
func KeepFrom(last func() ([]fleet.Object, error)) Keeper {
	read := sync.OnceValues(func() (map[string]fleet.Object, error) {
		objs, err := last()
		byID := make(map[string]fleet.Object, len(objs))
		for _, o := range objs {
			byID[o.ID()] = o
		}
		return byID, err
	})
	return func(o fleet.Object, field []string) (any, bool, error) {
		byID, err := read()
		before := byID[o.ID()]
		if err != nil || before.Unstructured == nil {
			return nil, false, err
		}
		v, ok := fleet.Lookup(before.Object, kube.FieldBefore(before.Object, o.Object, field))
		return v, ok, nil
	}
}

// DecideRandom applies the rules of a release to the nondeterministic fields of its
// objects. A field without a rule is a fault, and so is a rule for a deterministic field.
// Without a keeper or a previous value, a field with keep has the rendered value.
func DecideRandom(r *fleet.Release, rendered Result, keep Keeper) error {
	var faults diag.List
	used := make([]bool, len(r.Random))
	sources := randomSources{kept: map[string]any{}}
	var undecided []NondeterministicPart
	for _, v := range rendered.Nondeterministic {
		if v.Object < 0 || len(v.Path) == 0 {
			faults.Add(&diag.Diag{
				Code: diag.CodeNondeterministic,
				At:   []diag.Pos{r.Pos}, Path: r.Path(), Msg: "the chart renders a different " + v.ID + " every time",
				Hint: "set a value of the chart that fixes it",
			})
			continue
		}
		o := rendered.Objects[v.Object]
		if r.Delivery == fleet.ByHelm {
			// Helm renders the chart again, with another value.
			drop := fleet.RandomField{Object: o.GetKind() + "/" + o.GetName(), Field: v.Path, Action: fleet.DropRandom, Pos: r.Pos}
			faults.Add(applyRule(unshared(rendered.Objects, v.Object), drop, nil))
			continue
		}
		i := r.RandomRule(o, v.Path)
		if i < 0 {
			undecided = append(undecided, v)
			continue
		}
		rule := r.Random[i]
		if rule.Action == fleet.KeepRandom {
			rule.Field = v.Path // the others below the path of the rule are as rendered
			rule.Value, _ = fleet.Lookup(o.Object, v.Path)
			rendered.Objects[v.Object].Kept = append(o.Kept[:len(o.Kept):len(o.Kept)], rule)
		} else if used[i] {
			continue // the rule was applied to a field that contains this one
		}
		used[i] = true
		faults.Add(applyRule(unshared(rendered.Objects, v.Object), rule, sources.keeper(keep)))
	}
	faults.Add(sources.share())
	faults.Add(undecidedFaults(r, rendered.Objects, undecided))
	for i, d := range r.Random {
		if !used[i] {
			faults.Add(&diag.Diag{
				Code: diag.CodeUnusedRule,
				At:   []diag.Pos{d.Pos}, Path: r.Path("random"),
				Msg:  d.Object + " " + fleet.FieldText(d.Field) + " does not exist or is the same in every rendering",
				Hint: "remove this line",
			})
		}
	}
	return faults.Err()
}

// ShortestShared is the minimum length of equal random texts that are one value of the chart.
const ShortestShared = 8

// randomSources gives a field without a previous value that of a field with the same rendered
// value: both print one random value of the chart, and must stay equal.
type randomSources struct {
	kept    map[string]any // previous values by rendered ones
	missing []func() error // set the fields without a previous value
}

// keeper returns a keeper that records the values of another one; nil without one.
func (s *randomSources) keeper(keep Keeper) Keeper {
	if keep == nil {
		return nil
	}
	return func(o fleet.Object, field []string) (any, bool, error) {
		v, ok, err := keep(o, field)
		rendered, _ := fleet.Lookup(o.Object, field)
		switch text, _ := rendered.(string); {
		case err != nil || len(text) < ShortestShared:
		case ok:
			s.kept[text] = v
		default:
			s.missing = append(s.missing, func() error {
				if v, ok := s.kept[text]; ok {
					return setField(o.Object, fleet.RandomField{Field: field}, &v)
				}
				return nil
			})
		}
		return v, ok, err
	}
}

func (s *randomSources) share() error {
	var faults diag.List
	for _, set := range s.missing {
		faults.Add(set())
	}
	return faults.Err()
}

// undecidedFaults returns the faults of nondeterministic fields without a rule: one for all
// fields of the same struct, for which one rule is enough.
func undecidedFaults(r *fleet.Release, objs []fleet.Object, undecided []NondeterministicPart) error {
	var faults diag.List
	for len(undecided) > 0 {
		const most = 4
		first := undecided[0]
		path, last, which := first.Path, len(first.Path)-1, ""
		var keys []string
		var others []NondeterministicPart
		for i, v := range undecided {
			isSibling := last > 0 && v.Object == first.Object && len(v.Path) == last+1 && slices.Equal(v.Path[:last], path[:last])
			if i == 0 || isSibling {
				keys = append(keys, fleet.FieldText(v.Path[last:]))
			} else {
				others = append(others, v)
			}
		}
		if len(keys) > 1 {
			path, which = path[:last], diag.JoinFirst(keys, most)+" in "
		}
		undecided = others
		o := objs[first.Object]
		field := o.GetKind() + "/" + o.GetName() + " " + fleet.FieldText(path)
		faults.Add(&diag.Diag{
			Code: diag.CodeNondeterministic,
			At:   []diag.Pos{r.Pos}, Path: r.Path(),
			Msg:  "the chart renders a different " + which + field + " every time (" + o.Template + ")",
			Hint: "set a value of the chart that fixes it, or set random: " + strconv.Quote(field) + ": keep: true",
		})
	}
	return faults.Err()
}

// unshared returns an object whose content no other object shares, so that it may be
// modified.
func unshared(objs []fleet.Object, i int) fleet.Object {
	if o := &objs[i]; o.Shared {
		o.Unstructured, o.Shared = o.DeepCopy(), false
	}
	return objs[i]
}

// applyRule applies the rule of a nondeterministic field to an object.
func applyRule(o fleet.Object, d fleet.RandomField, keep Keeper) error {
	switch d.Action {
	case fleet.DropRandom:
		return setField(o.Object, d, nil)
	case fleet.SetRandom:
		return setField(o.Object, d, &d.Value)
	}
	if keep == nil {
		return nil
	}
	v, ok, err := keep(o, d.Field)
	if err != nil || !ok {
		return err
	}
	return setField(o.Object, d, &v)
}

// setField sets an existing field, or removes it if to is nil. It does not remove elements
// of lists, because that would move the following elements.
func setField(object map[string]any, d fleet.RandomField, to *any) error {
	parent, ok := fleet.Lookup(object, d.Field[:len(d.Field)-1])
	key := d.Field[len(d.Field)-1]
	switch at := parent.(type) {
	case map[string]any:
		if to == nil {
			delete(at, key)
		} else {
			at[key] = runtime.DeepCopyJSONValue(*to)
		}
		return nil
	case []any:
		if i, err := strconv.Atoi(key); ok && err == nil && i < len(at) && to != nil {
			at[i] = runtime.DeepCopyJSONValue(*to)
			return nil
		}
	}
	return &diag.Diag{
		Code: diag.CodeRandomRule,
		At:   []diag.Pos{d.Pos}, Msg: fmt.Sprintf("%s %s cannot be removed: it is an element of a list", d.Object, fleet.FieldText(d.Field)),
		Hint: "give it a value",
	}
}

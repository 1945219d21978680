package compiler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// Keeper returns the value that a field of an object keeps, and whether there is
// one.
type Keeper func(o fleet.Object, field []string) (value any, ok bool, err error)

// KeepSame gives every field the same value in all clusters, for comparisons of two
// renderings. The value fits in most places: base64 of "kept".
func (f *Fleet) KeepSame() {
	same := func(fleet.Object, []string) (any, bool, error) { return "a2VwdA==", true, nil }
	f.Keep = func(context.Context, string) Keeper { return same }
}

// KeepLast gives fields the values in the last bundles of their clusters. last returns
// the objects of a cluster's last bundle, none when there is none.
func (f *Fleet) KeepLast(last func(cluster string) ([]fleet.Object, error)) {
	f.Keep = func(_ context.Context, cluster string) Keeper {
		return KeepFrom(func() ([]fleet.Object, error) { return last(cluster) })
	}
}

// KeepFrom returns a keeper of the values in objects, which it reads when it needs
// them.
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
		v, ok := fleet.Lookup(before.Object, field)
		return v, ok, nil
	}
}

// Keeps returns the first release with a field that keeps its value, nil when
// there is none: without the last bundle, two runs would make two bundles of it.
func (f *Fleet) Keeps() *fleet.Release {
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			if slices.ContainsFunc(r.Random, func(d fleet.RandomField) bool { return d.Action == fleet.KeepRandom }) {
				return r
			}
		}
	}
	return nil
}

// settle decides the fields that a chart renders differently every time, as the
// release says. One that it says nothing of is a fault, and so is what it says
// of a field that is always the same. Where there is no value to keep, or no
// keeper, a field stays as it is rendered.
func settle(r *fleet.Release, rendered render.Result, keep Keeper) error {
	var faults diag.List
	used := make([]bool, len(r.Random))
	for _, v := range rendered.Nondeterministic {
		if v.Object < 0 || len(v.Path) == 0 {
			faults.Add(&diag.Diag{
				At: []diag.Pos{r.Pos}, Path: r.Path(), Msg: "the chart renders " + v.ID + " differently every time",
				Hint: "set a value of the chart that fixes it",
			})
			continue
		}
		o := rendered.Objects[v.Object]
		if r.Delivery == fleet.ByHelm {
			// Helm renders again, and makes up another.
			drop := fleet.RandomField{Object: o.GetKind() + "/" + o.GetName(), Field: v.Path, Action: fleet.DropRandom, Pos: r.Pos}
			faults.Add(decide(own(rendered.Objects, v.Object), drop, nil))
			continue
		}
		i := DecisionOf(r, o, v.Path)
		if i < 0 {
			field := o.GetKind() + "/" + o.GetName() + " " + fleet.FieldText(v.Path)
			faults.Add(&diag.Diag{
				At: []diag.Pos{r.Pos}, Path: r.Path(),
				Msg:  "the chart renders " + field + " differently every time (" + o.Template + ")",
				Hint: "set a value of the chart that fixes it, or say what becomes of it: random: " + strconv.Quote(field) + ": keep: true",
			})
			continue
		}
		if used[i] {
			continue // decided, with all that is below it
		}
		used[i] = true
		faults.Add(decide(own(rendered.Objects, v.Object), r.Random[i], keep))
	}
	for i, d := range r.Random {
		if !used[i] {
			faults.Add(&diag.Diag{
				At: []diag.Pos{d.Pos}, Path: r.Path("random"),
				Msg:  d.Object + " " + fleet.FieldText(d.Field) + " is the same at every render, or not there",
				Hint: "remove this line",
			})
		}
	}
	return faults.Err()
}

// own returns an object with a content of its own, which may be modified.
func own(objs []fleet.Object, i int) fleet.Object {
	if o := &objs[i]; o.Shared {
		o.Unstructured, o.Shared = o.DeepCopy(), false
	}
	return objs[i]
}

// DecisionOf returns the index of the rule of a release for a nondeterministic field of an
// object, -1 when it has none.
func DecisionOf(r *fleet.Release, o fleet.Object, field []string) int {
	name := o.GetKind() + "/" + o.GetName()
	return slices.IndexFunc(r.Random, func(d fleet.RandomField) bool {
		return d.Object == name && len(d.Field) <= len(field) && slices.Equal(d.Field, field[:len(d.Field)])
	})
}

// decide changes one field of an object.
func decide(o fleet.Object, d fleet.RandomField, keep Keeper) error {
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

// setField sets a field that is there, or removes it when to is nil. An element
// of a list is not removed: those behind it would be others.
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
		At: []diag.Pos{d.Pos}, Msg: fmt.Sprintf("%s %s cannot be removed: it is an element of a list", d.Object, fleet.FieldText(d.Field)),
		Hint: "give it a value",
	}
}

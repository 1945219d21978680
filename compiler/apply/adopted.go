package apply

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// adopt decides about an object that is taken over. was is the object as it is, is
// the object after a dry run, which keeps the fields that only former managers have:
// the record of managers cannot change in a dry run. So what goes away is computed
// from the record, and the cluster tries that out as a change.
func (p *planner) adopt(ctx context.Context, it *Item, was, is *unstructured.Unstructured) error {
	goes := it.goes(was, is)
	before, _ := any(content(was)).(map[string]any)
	tried, err := p.Live.Merge(ctx, it.ref, mergePatch(before, it.adopted(was, is)))
	if err != nil {
		return p.refused(ctx, it, was, err)
	}
	it.Action, it.After = Change, tried
	it.Takeovers = takeovers(was, tried, it.former(was), goes)
	return nil
}

// adopted returns the content of an object after it is adopted: that of is, which
// applying it to was results in, without the fields of former managers.
func (it *Item) adopted(was, is *unstructured.Unstructured) map[string]any {
	goes := it.goes(was, is)
	after := any(content(is))
	if goes != nil {
		after, _ = without(after, goes)
	}
	left, _ := after.(map[string]any)
	return left
}

// goes returns the fields that former managers alone have, and that go away.
func (it *Item) goes(was, is *unstructured.Unstructured) fieldSet {
	isFormer := takesField(it.former(was))
	others := fieldsWhere(is, func(m metav1.ManagedFieldsEntry) bool { return !isFormer(m) })
	had := fieldsWhere(was, isFormer)
	if it.object != nil {
		others = union(others, had.within(it.object.Object)) // a simulated apply does not record managers
	}
	goes := whole(difference(had, others), others)
	for _, path := range it.spared() {
		_, goes = goes.split(path)
	}
	return goes
}

// within returns the fields that a value has.
func (s fieldSet) within(v any) fieldSet {
	if v == nil || s == nil || s.whole() {
		if v == nil {
			return nil
		}
		return s
	}
	var out fieldSet
	for key, in := range s {
		has := fieldSet{}
		if key != "." {
			has = in.within(at(v, key))
		}
		if has == nil {
			continue
		}
		if out == nil {
			out = fieldSet{}
		}
		out[key] = has
	}
	return out
}

// whole returns the fields that go, with all that is below a map or element that
// goes itself: API defaults in it, which no manager has, go as well.
func whole(goes, others fieldSet) fieldSet {
	if goes == nil || goes.whole() {
		return goes
	}
	out := make(fieldSet, len(goes))
	for key, in := range goes {
		_, itself := in["."]
		if has, ok := others[key]; ok {
			in = whole(in, has)
		} else if itself {
			in = fieldSet{}
		} else {
			in = whole(in, nil)
		}
		out[key] = in
	}
	return out
}

// difference returns the fields of a that b does not have, nil when there are
// none. What b has in part stays.
func difference(a, b fieldSet) fieldSet {
	switch {
	case a == nil || b == nil:
		return a
	case a.whole() || b.whole():
		return nil
	}
	var out fieldSet
	for k, in := range a {
		left := in
		if has, ok := b[k]; ok {
			left = difference(in, has)
		}
		if left == nil {
			continue
		}
		if out == nil {
			out = fieldSet{}
		}
		out[k] = left
	}
	return out
}

// mergePatch returns the JSON merge patch (RFC 7386) that makes one map another.
func mergePatch(was, is map[string]any) map[string]any {
	patch := map[string]any{}
	for k := range was {
		if _, ok := is[k]; !ok {
			patch[k] = nil
		}
	}
	for k, v := range is {
		before, ok := was[k]
		from, isMap := before.(map[string]any)
		to, staysMap := v.(map[string]any)
		switch {
		case ok && isMap && staysMap:
			if inner := mergePatch(from, to); len(inner) > 0 {
				patch[k] = inner
			}
		case !ok || !reflect.DeepEqual(before, v):
			patch[k] = v
		}
	}
	return patch
}

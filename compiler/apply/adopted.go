package apply

import (
	"context"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// adopt decides about an object that is taken over, which is as was now. A dry run
// of applying it, which gave is, keeps what its former managers have set and the
// bundle has not, since the record of who has it cannot be changed without
// storing that. So what goes away is computed from the record, and the cluster
// tries that out as a change.
func (p *planner) adopt(ctx context.Context, it *Item, was, is *unstructured.Unstructured) error {
	before, _ := any(content(was)).(map[string]any)
	tried, err := p.Live.Merge(ctx, it.ref, mergePatch(before, adopted(was, is)))
	if err != nil {
		return p.refused(ctx, it, was, err)
	}
	it.Action, it.After = Change, tried
	return nil
}

// adopted returns the content of an object after it is adopted: that of is, which
// applying it to was results in, without the fields of former managers.
func adopted(was, is *unstructured.Unstructured) map[string]any {
	former := formerManagers(was)
	isFormer := func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "" && slices.Contains(former, m.Manager)
	}
	goes := difference(fieldsWhere(was, isFormer), fieldsWhere(is, func(m metav1.ManagedFieldsEntry) bool { return !isFormer(m) }))
	after := any(content(is))
	if goes != nil {
		after, _ = without(after, goes)
	}
	left, _ := after.(map[string]any)
	return left
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

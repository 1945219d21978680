package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// missingRights returns the rights that the plan needs and the user does not have,
// sorted. It does not check rights again that an earlier plan needed.
func (t Target) missingRights(ctx context.Context, plan, earlier *Plan) ([]cluster.Right, error) {
	if plan.IsApplied() && !plan.removesHelmRecords() && (!t.AdoptForget || len(plan.unlistableRecords) == 0) {
		return nil, nil
	}
	needed, err := t.neededRights(ctx, plan)
	if err != nil {
		return nil, err
	}
	plan.neededRights = needed
	if earlier != nil && len(earlier.MissingRights) == 0 {
		needed = slices.DeleteFunc(slices.Clone(needed), func(r cluster.Right) bool { return slices.Contains(earlier.neededRights, r) })
	}
	if len(needed) == 0 {
		return nil, nil
	}
	if all, err := t.Live.May(ctx, cluster.Right{}); err != nil || all {
		return nil, err
	}
	var answers par.ResultMemo[cluster.Right, bool]
	may := func(ctx context.Context, r cluster.Right) (bool, error) {
		return answers.Get(r, func() (bool, error) { return t.Live.May(ctx, r) })
	}
	return collect(ctx, len(needed), func(ctx context.Context, i int) ([]cluster.Right, error) {
		everywhere := needed[i]
		everywhere.Namespace = "" // rights that hold in all namespaces need one request
		if ok, err := may(ctx, everywhere); ok || err != nil {
			return nil, err
		}
		if ok, err := may(ctx, needed[i]); ok || err != nil {
			return nil, err
		}
		return needed[i : i+1], nil
	})
}

func compareRights(a, b cluster.Right) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Verb, b.Verb))
}

// neededRights returns the rights that the plan needs.
func (t Target) neededRights(ctx context.Context, plan *Plan) ([]cluster.Right, error) {
	set := map[cluster.Right]bool{}
	add := func(group, resource, namespace string, verbs ...string) {
		for _, v := range verbs {
			set[cluster.Right{Verb: v, Group: group, Resource: resource, Namespace: namespace}] = true
		}
	}
	add("", "secrets", Namespace, "get", "list", "create", "update", "delete")
	add("coordination.k8s.io", "leases", Namespace, "get", "create", "update")
	if plan.FirstApply {
		add("", "namespaces", "", "get", "create", "patch")
	}
	var items []Item
	for _, it := range plan.Items {
		if it.IsHelm() {
			add("", "secrets", it.ref.Namespace, "get", "list", "create", "update", "delete")
			items = append(items, it.Parts...)
		} else if !it.unserved {
			items = append(items, it)
		}
	}
	for _, it := range items {
		r, served, err := t.Live.Resource(ctx, it.ref.GroupVersionKind)
		if err != nil {
			return nil, err
		}
		if !served { // its CRD is applied first and names the resource
			r.GroupVersionResource = t.futureResource(it.ref.GroupVersionKind)
		}
		add(r.Group, r.Resource, it.ref.Namespace, "get")
		switch it.Action {
		case Create:
			add(r.Group, r.Resource, it.ref.Namespace, "create", "patch")
		case Change, Conflict:
			add(r.Group, r.Resource, it.ref.Namespace, "patch")
			if it.unstored != nil {
				add(r.Group, r.Resource+"/status", it.ref.Namespace, "patch")
			}
		case Hook, Replace:
			add(r.Group, r.Resource, it.ref.Namespace, "create", "patch", "delete")
		case Prune:
			add(r.Group, r.Resource, it.ref.Namespace, "delete")
		}
	}
	if err := t.recordRights(ctx, plan, add); err != nil {
		return nil, err
	}
	for _, a := range plan.Actions {
		for undo, task := range map[bool]fleet.Task{false: a.Task, true: a.Undo} {
			if task.Job != nil {
				add("batch", "jobs", jobOf(&a.Action, undo).GetNamespace(), "get", "create", "patch", "delete")
			}
		}
	}
	return slices.SortedFunc(maps.Keys(set), compareRights), nil
}

// recordRights adds the rights to remove records of Helm.
func (t Target) recordRights(ctx context.Context, plan *Plan, add func(group, resource, namespace string, verbs ...string)) error {
	for _, right := range plan.unlistableRecords {
		if !t.AdoptForget {
			continue
		}
		add(right.Group, right.Resource, right.Namespace, right.Verb)
		if right.Resource == cluster.HelmSecrets.Resource() {
			add(right.Group, right.Resource, right.Namespace, "delete")
		}
	}
	for _, record := range plan.HelmRecords {
		if record.Action != RemoveRecord {
			continue
		}
		add("", record.Storage.Resource(), record.Namespace, "list", "delete")
		for _, ref := range record.applied {
			r, served, err := t.Live.Resource(ctx, ref.GroupVersionKind)
			if err != nil {
				return err
			}
			if served {
				add(r.Group, r.Resource, ref.Namespace, "get", "patch")
			}
		}
	}
	return nil
}

// futureResource returns the resource that the cluster will serve for a kind whose
// CRD is in the bundle.
func (t Target) futureResource(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	for _, o := range t.Bundle.Objects {
		if !slices.Contains(fleet.ServedKinds(o.Unstructured), gvk) {
			continue
		}
		if plural, ok, _ := unstructured.NestedString(o.Object, "spec", "names", "plural"); ok {
			return gvk.GroupVersion().WithResource(plural)
		}
	}
	return gvk.GroupVersion().WithResource(gvk.Kind)
}

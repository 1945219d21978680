package apply

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// missing returns the rights that the user needs to do what the plan says, and
// does not have, sorted. What an earlier plan needed is not asked again.
func (t Target) missing(ctx context.Context, plan, earlier *Plan) ([]live.Right, error) {
	if plan.IsApplied() && !plan.forgets() && (!t.AdoptForget || len(plan.unlisted) == 0) {
		return nil, nil
	}
	needed, err := t.needed(ctx, plan)
	if err != nil {
		return nil, err
	}
	plan.needed = needed
	if earlier != nil && len(earlier.Missing) == 0 {
		needed = slices.DeleteFunc(slices.Clone(needed), func(r live.Right) bool { return slices.Contains(earlier.needed, r) })
	}
	if len(needed) == 0 {
		return nil, nil
	}
	if all, err := t.Live.May(ctx, live.Right{}); err != nil || all {
		return nil, err
	}
	// A right that is had in all namespaces is asked for once.
	wide := map[live.Right]bool{}
	for _, r := range needed {
		r.Namespace = ""
		wide[r] = false
	}
	kinds := sorted(wide)
	allowed := make([]bool, len(kinds))
	if err := each(ctx, len(kinds), func(ctx context.Context, i int) (err error) {
		allowed[i], err = t.Live.May(ctx, kinds[i])
		return err
	}); err != nil {
		return nil, err
	}
	for i, r := range kinds {
		wide[r] = allowed[i]
	}
	left := slices.DeleteFunc(needed, func(r live.Right) bool {
		r.Namespace = ""
		return wide[r]
	})
	has := make([]bool, len(left))
	if err := each(ctx, len(left), func(ctx context.Context, i int) (err error) {
		if left[i].Namespace != "" {
			has[i], err = t.Live.May(ctx, left[i])
		}
		return err
	}); err != nil {
		return nil, err
	}
	var missing []live.Right
	for i, r := range left {
		if !has[i] {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

func sorted(set map[live.Right]bool) []live.Right {
	var out []live.Right
	for r := range set {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b live.Right) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Verb, b.Verb))
	})
	return out
}

// needed returns the rights that it takes to do what the plan says.
func (t Target) needed(ctx context.Context, plan *Plan) ([]live.Right, error) {
	set := map[live.Right]bool{}
	add := func(group, resource, namespace string, verbs ...string) {
		for _, v := range verbs {
			set[live.Right{Verb: v, Group: group, Resource: resource, Namespace: namespace}] = true
		}
	}
	add("", "secrets", Namespace, "get", "list", "create", "update", "delete")
	add("coordination.k8s.io", "leases", Namespace, "get", "create", "update")
	if plan.First {
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
		if !served { // its CRD comes first; the resource's name is in it
			r.GroupVersionResource = t.resourceToCome(it.ref.GroupVersionKind)
		}
		add(r.Group, r.Resource, it.ref.Namespace, "get")
		switch it.Action {
		case Create:
			add(r.Group, r.Resource, it.ref.Namespace, "create", "patch")
		case Change, Conflict:
			add(r.Group, r.Resource, it.ref.Namespace, "patch")
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
	return sorted(set), nil
}

// recordRights adds the rights that it takes to remove the records of Helm.
func (t Target) recordRights(ctx context.Context, plan *Plan, add func(group, resource, namespace string, verbs ...string)) error {
	for _, right := range plan.unlisted {
		if !t.AdoptForget {
			continue
		}
		add(right.Group, right.Resource, right.Namespace, right.Verb)
		if right.Resource == helm.Secrets.Resource() {
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

// resourceToCome returns how the cluster will serve a kind that the bundle has
// the CRD of.
func (t Target) resourceToCome(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	for _, o := range t.Bundle.Objects {
		if o.GetKind() != "CustomResourceDefinition" || !slices.Contains(defines(o.Unstructured), gvk) {
			continue
		}
		if spec, ok := o.Object["spec"].(map[string]any); ok {
			if names, ok := spec["names"].(map[string]any); ok {
				plural, _ := names["plural"].(string)
				return gvk.GroupVersion().WithResource(plural)
			}
		}
	}
	return gvk.GroupVersion().WithResource(gvk.Kind)
}

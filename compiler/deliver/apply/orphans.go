package apply

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A LabelledObject is an object with the labels of a fleet that its inventory does not have,
// for example after the inventory was lost. If it has an owner, Flux or Argo CD applied it
// from an export of the cluster: it is left over if the bundle does not have it any more.
type LabelledObject struct {
	ID, Release string
	Owner       string // such as Flux Kustomization flux-system/apps; empty for an orphan

	uid types.UID
}

// FindOrphans lists the objects of the cluster with an ID that have the labels of the fleet
// and are not in the inventory, which may be nil, sorted. unread are kinds that could not be
// listed, sorted.
func FindOrphans(ctx context.Context, c *cluster.Cluster, module, id string, v *Inventory) (found []LabelledObject, unread []string, err error) {
	kinds, unread, err := c.Kinds(ctx)
	if err != nil {
		return nil, nil, err
	}
	f := orphanFinder{module: module, cluster: id, uids: map[string]bool{}, ids: map[string]bool{}}
	if v != nil {
		for _, e := range v.Objects {
			f.uids[e.UID], f.ids[e.id()] = e.UID != "", true
		}
	}
	found, refused, err := listKinds(ctx, c, kinds, "", fleet.ReleaseLabel, func(id string, o metav1.PartialObjectMetadata) ([]LabelledObject, error) {
		owner, ok := f.find(id, o)
		if !ok {
			return nil, nil
		}
		return []LabelledObject{{diag.Visible(id, diag.MaxText), diag.Visible(o.Labels[fleet.ReleaseLabel], diag.MaxText), owner, o.UID}}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	seen := map[types.UID]bool{} // some objects are served in two groups
	found = slices.DeleteFunc(found, func(o LabelledObject) bool {
		again := seen[o.uid]
		seen[o.uid] = true
		return again
	})
	slices.SortFunc(found, func(a, b LabelledObject) int { return cmp.Compare(a.ID, b.ID) })
	return found, slices.Concat(refused, unread), nil
}

// An orphanFinder decides which objects are orphans.
type orphanFinder struct {
	module, cluster string
	uids, ids       map[string]bool // of the inventory
}

// find reports whether an object with the release label is an orphan or, with the owner, an
// exported object. These are neither: objects of controllers, which copy labels, hooks,
// objects that are being deleted, and others that another tool manages.
func (f orphanFinder) find(id string, o metav1.PartialObjectMetadata) (owner string, ok bool) {
	if f.uids[string(o.UID)] || f.ids[id] || o.DeletionTimestamp != nil || len(o.OwnerReferences) > 0 || o.Annotations[fleet.FleetAnnotation] != f.module {
		return "", false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&o)
	if err != nil {
		return "", true
	}
	u := &unstructured.Unstructured{Object: content}
	if fleet.IsHook(u) {
		return "", false
	}
	owner = delivery{fleet: f.module}.newOwner(u)
	return owner, owner == "" || f.isExported(id, u)
}

// isExported reports whether a GitOps tool has set the marks of the fleet and the cluster on
// an object, and would not keep it. A tool that took over an object of fleetc has not.
func (f orphanFinder) isExported(id string, o *unstructured.Unstructured) bool {
	kind, _, _ := strings.Cut(id, " ")
	action, _ := Options{}.pruneOrKeep(schema.ParseGroupKind(kind), o)
	return action == Prune && o.GetAnnotations()[fleet.ClusterAnnotation] == f.cluster && slices.ContainsFunc(tools, func(t tool) bool {
		set := fieldsWhere(o, isOneOf(t.managers))
		_, ok := set["f:metadata"]["f:annotations"]["f:"+fleet.FleetAnnotation]
		return ok
	})
}

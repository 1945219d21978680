package apply

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// Orphans are objects that fleetc has applied and that are not in the inventory,
// for example after the inventory was lost.
type Orphans struct {
	IDs      []string          // sorted
	Releases map[string]string // by ID, as their labels name them
	Unread   []string          // kinds that could not be listed, sorted

	// Exported are objects that Flux or Argo CD have applied from an export of the cluster,
	// and would not keep: those that the bundle does not have are left over.
	Exported []ExportedObject
}

// An ExportedObject is an object that a GitOps tool has applied from an export.
type ExportedObject struct {
	ID, Release string
	Owner       string // such as Flux Kustomization flux-system/apps
}

// FindOrphans lists the objects of the cluster with an ID that have the labels of the fleet
// and are not in the inventory, which may be nil.
func FindOrphans(ctx context.Context, c *cluster.Cluster, module, id string, v *Inventory) (*Orphans, error) {
	kinds, unread, err := c.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	f := orphanFinder{module: module, cluster: id, uids: map[string]bool{}, ids: map[string]bool{}}
	if v != nil {
		for _, e := range v.Objects {
			f.uids[e.UID], f.ids[e.id()] = e.UID != "", true
		}
	}
	found := make([][]labelledObject, len(kinds))
	refused, err := listKinds(ctx, c, kinds, "", fleet.ReleaseLabel, func(i int, id string, o metav1.PartialObjectMetadata) error {
		if owner, ok := f.find(id, o); ok {
			release := diag.Visible(o.Labels[fleet.ReleaseLabel], diag.MaxText)
			found[i] = append(found[i], labelledObject{ExportedObject{diag.Visible(id, diag.MaxText), release, owner}, string(o.UID)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Orphans{Releases: map[string]string{}, Unread: slices.Concat(refused, unread)}
	seen := map[string]bool{} // some objects are served in two groups
	for _, o := range slices.Concat(found...) {
		switch {
		case seen[o.uid]:
		case o.Owner != "":
			out.Exported = append(out.Exported, o.ExportedObject)
		default:
			out.IDs, out.Releases[o.ID] = append(out.IDs, o.ID), o.Release
		}
		seen[o.uid] = true
	}
	slices.Sort(out.IDs)
	return out, nil
}

// A labelledObject is an object with the label of a release. Its owner is empty for orphans.
type labelledObject struct {
	ExportedObject
	uid string
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

package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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
}

// FindOrphans lists the objects of a cluster that have the labels of the fleet and
// are not in the inventory, which may be nil.
func FindOrphans(ctx context.Context, c *cluster.Cluster, module string, v *Inventory) (*Orphans, error) {
	kinds, unread, err := c.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	f := orphanFinder{module: module, uids: map[string]bool{}, ids: map[string]bool{}}
	if v != nil {
		for _, e := range v.Objects {
			f.uids[e.UID], f.ids[e.id()] = e.UID != "", true
		}
	}
	found := make([][]labelledObject, len(kinds))
	refused, err := listKinds(ctx, c, kinds, "", fleet.ReleaseLabel, func(i int, id string, o metav1.PartialObjectMetadata) error {
		if f.isOrphan(id, o) {
			found[i] = append(found[i], labelledObject{id, string(o.UID), o.Labels[fleet.ReleaseLabel]})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Orphans{Releases: map[string]string{}, Unread: slices.Concat(refused, unread)}
	seen := map[string]bool{} // some objects are served in two groups
	for _, o := range slices.Concat(found...) {
		if !seen[o.uid] {
			seen[o.uid] = true
			id := diag.Visible(o.id, diag.MaxText)
			out.IDs, out.Releases[id] = append(out.IDs, id), diag.Visible(o.release, diag.MaxText)
		}
	}
	slices.Sort(out.IDs)
	return out, nil
}

// A labelledObject is an object with the label of a release.
type labelledObject struct{ id, uid, release string }

// An orphanFinder decides which objects are orphans.
type orphanFinder struct {
	module    string
	uids, ids map[string]bool // of the inventory
}

// isOrphan reports whether an object with the release label is an orphan. These are
// not orphans: objects of controllers, which copy labels, hooks, objects that are
// being deleted, and objects that another tool manages.
func (f orphanFinder) isOrphan(id string, o metav1.PartialObjectMetadata) bool {
	if f.uids[string(o.UID)] || f.ids[id] || o.DeletionTimestamp != nil || len(o.OwnerReferences) > 0 || o.Annotations[fleet.FleetAnnotation] != f.module {
		return false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&o)
	if err != nil {
		return true
	}
	u := &unstructured.Unstructured{Object: content}
	return !fleet.IsHook(u) && delivery{fleet: f.module}.newOwner(u) == ""
}

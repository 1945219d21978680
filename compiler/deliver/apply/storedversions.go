package apply

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// The API server refuses a CRD without a version that its status.storedVersions has, also
// when there are no objects. This file removes such a version in steps that lose nothing:
// store objects in another version, see that there are none, and remove the version from
// status.storedVersions.

// planUnstored plans a CRD that the API server refuses for such versions, if no object of its
// kind exists. It reports whether it did.
func (p *planner) planUnstored(ctx context.Context, it *Item, before *unstructured.Unstructured) (bool, error) {
	if it.kind() != fleet.CRDKind || before == nil {
		return false, nil
	}
	stays := versionsOf(it.object)
	lost := slices.DeleteFunc(storedVersionsOf(before), func(v string) bool { return slices.Contains(stays, v) })
	kinds := fleet.ServedKinds(before)
	if len(lost) == 0 || len(kinds) == 0 || len(fleet.ServedKinds(it.object)) == 0 {
		return false, nil
	}
	exist, err := haveObjects(ctx, p.Live, before, kinds[0].Version)
	if err == nil && !exist {
		_, err = p.Live.Apply(ctx, it.withVersions(before, lost), cluster.Application{DryRun: true})
	}
	if exist || err != nil {
		if cluster.ReasonOf(err) != "" {
			err = nil // the refusal of the API server counts
		}
		return false, err
	}
	it.Action, it.After, it.unstored = Change, it.object, lost
	it.Reason = "status.storedVersions still has " + diag.Visible(strings.Join(lost, ", "), diag.MaxText) + ", in which no object is stored"
	return true, nil
}

// storedSettles is how long API servers may take to notice the storage version of a CRD.
const storedSettles = 2 * time.Second

// removeUnstored removes the versions of a CRD from its status.storedVersions. Objects that
// were created since the plan are a fault.
func (r *runner) removeUnstored(ctx context.Context, it *Item) error {
	current, err := r.Live.Apply(ctx, it.withVersions(it.Before, it.unstored), cluster.Application{})
	if err != nil {
		return err
	}
	if err := par.Pause(ctx, storedSettles); err != nil {
		return err
	}
	exist, err := haveObjects(ctx, r.Live, it.object, fleet.ServedKinds(it.object)[0].Version)
	if err != nil {
		return err
	}
	if exist {
		return &diag.Diag{
			Code: diag.CodeObjectRefused, At: it.positions, Path: it.ID,
			Msg:  "objects of its kind were created during the apply, and may be stored in a version that it loses",
			Hint: "store all objects in another version, and remove the version from status.storedVersions",
		}
	}
	stored := slices.DeleteFunc(storedVersionsOf(current), func(v string) bool { return slices.Contains(it.unstored, v) })
	return r.Live.SetStoredVersions(ctx, it.ref, stored)
}

// withVersions returns the item's CRD with more versions of the live one, which are not
// served.
func (it *Item) withVersions(live *unstructured.Unstructured, more []string) *unstructured.Unstructured {
	out := it.object.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(out.Object, "spec", "versions")
	old, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
	for _, v := range old {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); slices.Contains(more, name) {
			version["served"], version["storage"] = false, false
			versions = append(versions, version)
		}
	}
	_ = unstructured.SetNestedSlice(out.Object, versions, "spec", "versions")
	return out
}

// haveObjects reports whether a CRD has objects, which it serves in a version.
func haveObjects(ctx context.Context, c *cluster.Cluster, crd *unstructured.Unstructured, version string) (bool, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	found, err := c.Metadata(ctx, schema.GroupVersionResource{Group: group, Version: version, Resource: plural}, "", "")
	return len(found) > 0, err
}

func storedVersionsOf(crd *unstructured.Unstructured) []string {
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return stored
}

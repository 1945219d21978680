package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// SetManagedFields changes the managed fields of an object, and not its content.
// take returns the new managed fields, and whether they differ; it is called again
// when the object changed in between. A missing object is not an error; a different
// object than the one with the UID is an [Error] with Moved.
func (c *Cluster) SetManagedFields(ctx context.Context, ref Ref, uid string, take func([]metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool)) error {
	const tries = 10 // controllers may update the status in between
	for try := 1; ; try++ {
		o, err := c.Object(ctx, ref)
		if err != nil || o == nil {
			return err
		}
		if string(o.GetUID()) != uid {
			return &Error{Reason: Moved, Message: "it was recreated in the meantime"}
		}
		fields, changed := take(o.GetManagedFields())
		if !changed {
			return nil
		}
		if err = c.setManagedFields(ctx, ref, o, fields); ReasonOf(err) != Moved || try == tries {
			return err
		}
	}
}

// setManagedFields replaces the managed fields of o, which must be unchanged in the
// cluster.
func (c *Cluster) setManagedFields(ctx context.Context, ref Ref, o *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	return c.patch(ctx, ref, types.JSONPatchType, []map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.GetResourceVersion()},
	})
}

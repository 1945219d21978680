package live

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Adopt changes who has which fields of an object, as take says; the content of the
// object stays. take returns the new managed fields, and whether they differ; it
// is called again when the object changed meanwhile. It is no error when the object
// is not there; another object of that name than the one with the UID is an [Error]
// with Moved.
func (c *Cluster) Adopt(ctx context.Context, ref Ref, uid string, take func([]metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool)) error {
	const tries = 10 // controllers write a status meanwhile
	for try := 1; ; try++ {
		o, err := c.Object(ctx, ref)
		if err != nil || o == nil {
			return err
		}
		if string(o.GetUID()) != uid {
			return &Error{Reason: Moved, Message: "it was recreated meanwhile"}
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

// setManagedFields sets the managed fields of an object as it was read, which must
// still be that.
func (c *Cluster) setManagedFields(ctx context.Context, ref Ref, o *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.GetResourceVersion()},
	})
	if err != nil {
		return fmt.Errorf("encode the managed fields of %s: %w", ref.Name, err)
	}
	client, err := c.client(ctx, ref)
	if err != nil {
		return err
	}
	return c.write(ctx, func(ctx context.Context) error {
		_, err := client.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Manager})
		return err
	})
}

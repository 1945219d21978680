package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
)

// Adopt gives [Manager] the fields of an object that some others have, so that
// applying it removes what they have set and the application has not. The
// content of the object stays. It is no error when the object is not there, or
// nobody of them has any; another object of that name than the one with the UID is
// an [Error] with Moved.
func (c *Cluster) Adopt(ctx context.Context, ref Ref, uid string, others []string) error {
	const tries = 10 // controllers write a status meanwhile
	for try := 1; ; try++ {
		o, err := c.Object(ctx, ref)
		if err != nil || o == nil {
			return err
		}
		if string(o.GetUID()) != uid {
			return &Error{Reason: Moved, Message: "it was made anew meanwhile"}
		}
		if err = c.adopt(ctx, ref, o, others); ReasonOf(err) != Moved || try == tries {
			return err
		}
	}
}

// adopt is Adopt for an object as it was read, which must still be that.
func (c *Cluster) adopt(ctx context.Context, ref Ref, o *unstructured.Unstructured, others []string) error {
	fields, found := o.GetManagedFields(), false
	for i, m := range fields {
		if slices.Contains(others, m.Manager) && m.Subresource == "" {
			// Only those who do not apply by the server are known to csaupgrade.
			fields[i].Operation, found = metav1.ManagedFieldsOperationUpdate, true
		}
	}
	if !found {
		return nil
	}
	changed := o.DeepCopy()
	changed.SetManagedFields(fields)
	if err := csaupgrade.UpgradeManagedFields(changed, sets.New(others...), Manager); err != nil {
		return fmt.Errorf("take the fields of %s %s over: %w", ref.Kind, ref.Name, err)
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": changed.GetManagedFields()},
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

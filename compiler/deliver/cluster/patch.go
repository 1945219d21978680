package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Patch is a patch of one object, in a format of the API server.
type Patch struct {
	Type types.PatchType
	Data []byte
}

// IsEmpty reports whether the patch changes nothing.
func (p Patch) IsEmpty() bool { return len(p.Data) == 0 || string(p.Data) == "{}" }

// DryRunPatch returns the result of a patch by the manager without storing it.
func (c *Cluster) DryRunPatch(ctx context.Context, ref Ref, manager string, p Patch) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, ref)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: manager, DryRun: []string{metav1.DryRunAll}}
	return result(ctx, c.retryQuery, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return client.Patch(ctx, ref.Name, p.Type, p.Data, options)
	})
}

// patch patches an object, or a subresource of it, as [Manager].
func (c *Cluster) patch(ctx context.Context, ref Ref, kind types.PatchType, patch any, subresources ...string) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode the patch of %s %s: %w", ref.Kind, ref.Name, err)
	}
	client, err := c.client(ctx, ref)
	if err != nil {
		return err
	}
	return c.write(ctx, func(ctx context.Context) error {
		_, err := client.Patch(ctx, ref.Name, kind, data, metav1.PatchOptions{FieldManager: Manager}, subresources...)
		return err
	})
}

// SetStoredVersions sets status.storedVersions of a CRD.
func (c *Cluster) SetStoredVersions(ctx context.Context, crd Ref, versions []string) error {
	return c.patch(ctx, crd, types.MergePatchType, map[string]any{"status": map[string]any{"storedVersions": versions}}, "status")
}

// RemoveMarks removes the labels and annotations of an object that marks returns.
// marks is called again when the object changed in between. A missing object is not
// an error.
func (c *Cluster) RemoveMarks(ctx context.Context, ref Ref, marks func(*unstructured.Unstructured) (labels, annotations []string)) error {
	none := func(keys []string) map[string]any {
		out := map[string]any{}
		for _, key := range keys {
			out[key] = nil
		}
		return out
	}
	const tries = 10 // controllers may update the status in between
	for try := 1; ; try++ {
		o, err := c.Object(ctx, ref)
		if err != nil || o == nil {
			return err
		}
		labels, annotations := marks(o)
		if len(labels)+len(annotations) == 0 {
			return nil
		}
		err = c.patch(ctx, ref, types.MergePatchType, map[string]any{"metadata": map[string]any{
			"resourceVersion": o.GetResourceVersion(), "labels": none(labels), "annotations": none(annotations),
		}})
		if reason := ReasonOf(err); reason != Moved && reason != Conflict || try == tries {
			return err
		}
	}
}

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

// appliedContent returns a copy of an object as server-side apply accepts it:
// without nulls and without the status.
func appliedContent(o *unstructured.Unstructured) *unstructured.Unstructured {
	object, _ := withoutNulls(o.Object).(map[string]any)
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}
}

// WithStoredNulls returns a copy of an object with the empty values that the API server has
// stored for its nulls: it stores a null in the data of a ConfigMap as "".
func WithStoredNulls(o, stored *unstructured.Unstructured) *unstructured.Unstructured {
	object, _ := withStoredNulls(o.Object, stored.Object).(map[string]any)
	return &unstructured.Unstructured{Object: object}
}

func withStoredNulls(v, stored any) any {
	fields, ok := v.(map[string]any)
	if !ok {
		return v
	}
	now, _ := stored.(map[string]any)
	out := make(map[string]any, len(fields))
	for k, e := range fields {
		if out[k] = withStoredNulls(e, now[k]); e == nil && isEmpty(now[k]) {
			out[k] = now[k]
		}
	}
	return out
}

// withoutNulls returns a copy without null fields of maps.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = withoutNulls(e)
			}
		}
		return out
	case []any:
		return diag.Each(v, withoutNulls)
	}
	return v
}

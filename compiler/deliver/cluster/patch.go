package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
	var out *unstructured.Unstructured
	err = c.retryQuery(ctx, func(ctx context.Context) (err error) {
		out, err = client.Patch(ctx, ref.Name, p.Type, p.Data, options)
		return err
	})
	return out, err
}

// SetStoredVersions sets status.storedVersions of a CRD.
func (c *Cluster) SetStoredVersions(ctx context.Context, crd Ref, versions []string) error {
	client, err := c.client(ctx, crd)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": versions}})
	if err != nil {
		return fmt.Errorf("encode the patch of %s: %w", crd.Name, err)
	}
	return c.write(ctx, func(ctx context.Context) error {
		_, err := client.Patch(ctx, crd.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Manager}, "status")
		return err
	})
}

// RemoveMarks removes the labels and annotations of an object that marks returns.
// marks is called again when the object changed in between. A missing object is not
// an error.
func (c *Cluster) RemoveMarks(ctx context.Context, ref Ref, marks func(*unstructured.Unstructured) (labels, annotations []string)) error {
	client, err := c.client(ctx, ref)
	if err != nil {
		return err
	}
	const tries = 10 // controllers may update the status in between
	for try := 1; ; try++ {
		o, err := c.Object(ctx, ref)
		if err != nil || o == nil {
			return err
		}
		patch, err := removalPatch(o, marks)
		if err != nil || patch == nil {
			return err
		}
		err = c.write(ctx, func(ctx context.Context) error {
			_, err := client.Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Manager})
			return err
		})
		if reason := ReasonOf(err); reason != Moved && reason != Conflict || try == tries {
			return err
		}
	}
}

// removalPatch returns the JSON merge patch that removes labels and annotations of
// an object, nil when there are none to remove.
func removalPatch(o *unstructured.Unstructured, marks func(*unstructured.Unstructured) (labels, annotations []string)) ([]byte, error) {
	labels, annotations := marks(o)
	if len(labels)+len(annotations) == 0 {
		return nil, nil
	}
	none := func(keys []string) map[string]any {
		out := map[string]any{}
		for _, key := range keys {
			out[key] = nil
		}
		return out
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.GetResourceVersion(), "labels": none(labels), "annotations": none(annotations),
	}})
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return patch, nil
}

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

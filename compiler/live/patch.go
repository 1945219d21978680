package live

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A Patch is a change of one object, as an API server takes it.
type Patch struct {
	Type types.PatchType
	Data []byte
}

// IsEmpty reports whether the patch changes nothing.
func (p Patch) IsEmpty() bool { return len(p.Data) == 0 || string(p.Data) == "{}" }

// TryPatch returns the object that a patch by the manager would result in. It
// stores nothing.
func (c *Cluster) TryPatch(ctx context.Context, ref Ref, manager string, p Patch) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, ref)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: manager, DryRun: []string{metav1.DryRunAll}}
	var out *unstructured.Unstructured
	err = c.ask(ctx, func(ctx context.Context) error {
		var err error
		out, err = client.Patch(ctx, ref.Name, p.Type, p.Data, options)
		return err
	})
	return out, err
}

// RemoveMarks removes labels and annotations of an object, which marks chooses. It
// is no error when the object is not there. marks is called again when the object
// changed meanwhile.
func (c *Cluster) RemoveMarks(ctx context.Context, ref Ref, marks func(*unstructured.Unstructured) (labels, annotations []string)) error {
	client, err := c.client(ctx, ref)
	if err != nil {
		return err
	}
	const tries = 10 // controllers write a status meanwhile
	for try := 1; ; try++ {
		o, err := c.Object(ctx, ref)
		if err != nil || o == nil {
			return err
		}
		patch, err := removal(o, marks)
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

// removal returns the JSON merge patch that removes labels and annotations of an
// object as it was read; nil when there are none to remove.
func removal(o *unstructured.Unstructured, marks func(*unstructured.Unstructured) (labels, annotations []string)) ([]byte, error) {
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

package live

import (
	"context"

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

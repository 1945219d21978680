package live

import (
	"context"
	"encoding/json"
	"fmt"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A Ref names an object.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// RefOf returns what names an object.
func RefOf(o *unstructured.Unstructured) Ref {
	return Ref{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// client returns the client for an object; an [Error] when the cluster does
// not serve its kind.
func (c *Cluster) client(ctx context.Context, ref Ref) (dynamic.ResourceInterface, error) {
	r, ok, err := c.Resource(ctx, ref.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &Error{Reason: NotFound, Message: fmt.Sprintf("the cluster does not serve %s %s", ref.GroupVersion(), ref.Kind)}
	}
	if r.Namespaced {
		return c.dynamic.Resource(r.GroupVersionResource).Namespace(ref.Namespace), nil
	}
	return c.dynamic.Resource(r.GroupVersionResource), nil
}

// Object reads an object; nil when it is not there or its kind is not.
func (c *Cluster) Object(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, ref)
	var o *unstructured.Unstructured
	if err == nil {
		err = c.do(ctx, func(ctx context.Context) error {
			var err error
			o, err = client.Get(ctx, ref.Name, metav1.GetOptions{})
			return err
		})
	}
	if ReasonOf(err) == NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// List reads all objects of a kind in a namespace, or in all when it is empty,
// that have a label; all when it is empty.
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace, label string) ([]unstructured.Unstructured, error) {
	client, err := c.client(ctx, Ref{GroupVersionKind: gvk, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	for more := ""; ; {
		var page *unstructured.UnstructuredList
		err := c.do(ctx, func(ctx context.Context) error {
			var err error
			page, err = client.List(ctx, metav1.ListOptions{LabelSelector: label, Limit: 500, Continue: more})
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if more = page.GetContinue(); more == "" {
			return all, nil
		}
	}
}

// An Application says how an object is applied.
type Application struct {
	DryRun bool // do as if
	Force  bool // take fields from other managers
}

// Apply applies an object as [Manager], and returns what it is then. Other
// managers' fields that it has other values for are an [Error] with Conflict,
// unless they are to be taken.
func (c *Cluster) Apply(ctx context.Context, o *unstructured.Unstructured, a Application) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, RefOf(o))
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: Manager, Force: a.Force}
	send := c.write
	if a.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
		send = c.ask
	}
	// Managed fields of the object that is sent are an error; it has none.
	var out *unstructured.Unstructured
	err = send(ctx, func(ctx context.Context) error {
		var err error
		out, err = client.Apply(ctx, o.GetName(), o, options)
		return err
	})
	return out, err
}

// Merge returns what an object would be after a JSON merge patch (RFC 7386). It
// stores nothing.
func (c *Cluster) Merge(ctx context.Context, ref Ref, patch map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s %s: %w", ref.Kind, ref.Name, err)
	}
	return c.TryPatch(ctx, ref, Manager, Patch{types.MergePatchType, data})
}

// Delete deletes an object, and what it owns in the background, if it still
// has the UID. It is no error when the object is not there.
func (c *Cluster) Delete(ctx context.Context, ref Ref, uid string) error {
	return c.delete(ctx, ref, uid, metav1.DeletePropagationBackground)
}

// DeleteWhole is [Cluster.Delete] of an object that is there until what it owns
// is gone.
func (c *Cluster) DeleteWhole(ctx context.Context, ref Ref, uid string) error {
	return c.delete(ctx, ref, uid, metav1.DeletePropagationForeground)
}

func (c *Cluster) delete(ctx context.Context, ref Ref, uid string, propagation metav1.DeletionPropagation) error {
	client, err := c.client(ctx, ref)
	if err == nil {
		id := types.UID(uid)
		err = c.write(ctx, func(ctx context.Context) error {
			return client.Delete(ctx, ref.Name, metav1.DeleteOptions{
				PropagationPolicy: &propagation, Preconditions: &metav1.Preconditions{UID: &id},
			})
		})
	}
	if ReasonOf(err) == NotFound {
		return nil
	}
	return err
}

// Put creates an object, or replaces one that has the resource version that o
// says, and returns what is stored. It sends the request once: an [Error] with
// Moved says that somebody else was faster.
func (c *Cluster) Put(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, RefOf(o))
	if err != nil {
		return nil, err
	}
	if err := c.guarded(ctx); err != nil {
		return nil, err
	}
	var out *unstructured.Unstructured
	err = within(ctx, requestTimeout, func(ctx context.Context) error {
		var err error
		if o.GetResourceVersion() == "" {
			out, err = client.Create(ctx, o, metav1.CreateOptions{FieldManager: Manager})
		} else {
			out, err = client.Update(ctx, o, metav1.UpdateOptions{FieldManager: Manager})
		}
		return err
	})
	if alreadyExists(err) {
		return nil, &Error{Reason: Moved, Message: "it was created meanwhile"}
	}
	return out, c.answer(err)
}

// Logs returns the last lines that a container wrote, no more than 64 KiB;
// previous is the one that ran before it, and ended.
func (c *Cluster) Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int) ([]byte, error) {
	tail, limit := int64(lines), int64(64<<10)
	var out []byte
	err := within(ctx, connectTimeout, func(ctx context.Context) error {
		var err error
		out, err = c.pods.Pods(namespace).GetLogs(pod, &core.PodLogOptions{
			Container: container, Previous: previous, TailLines: &tail, LimitBytes: &limit,
		}).DoRaw(ctx)
		return err
	})
	return out, c.answer(err)
}

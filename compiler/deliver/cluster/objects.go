package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A Ref identifies an object.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// RefOf returns the reference of an object.
func RefOf(o *unstructured.Unstructured) Ref {
	return Ref{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// client returns the client for an object, an [Error] when the cluster does not
// serve its kind.
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

// Object reads an object; nil when the object or its kind does not exist.
func (c *Cluster) Object(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, ref)
	var o *unstructured.Unstructured
	if err == nil {
		o, err = result(ctx, c.retry, func(ctx context.Context) (*unstructured.Unstructured, error) {
			return client.Get(ctx, ref.Name, metav1.GetOptions{})
		})
	}
	switch {
	case ReasonOf(err) == NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return o, nil
}

// List reads all objects of a kind with a label; an empty namespace or label
// selects all.
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace, label string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	_, err := c.pages(ctx, gvk, namespace, metav1.ListOptions{LabelSelector: label}, math.MaxInt, func(o *unstructured.Unstructured) { all = append(all, *o) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// An Application has the options of [Cluster.Apply].
type Application struct {
	DryRun bool // store nothing
	Force  bool // take fields from other managers
}

// Apply applies an object as [Manager] and returns the result. Conflicts with other
// managers are an [Error] with Conflict, unless Force is set.
func (c *Cluster) Apply(ctx context.Context, o *unstructured.Unstructured, a Application) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, RefOf(o))
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: Manager, Force: a.Force}
	send := sender(c.write)
	if a.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
		send = c.retryQuery
	}
	// The API server rejects managed fields; o has none.
	return result(ctx, send, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return client.Apply(ctx, o.GetName(), o, options)
	})
}

// DryRunMerge returns the result of a JSON merge patch (RFC 7386) without storing
// it.
func (c *Cluster) DryRunMerge(ctx context.Context, ref Ref, patch map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s %s: %w", ref.Kind, ref.Name, err)
	}
	return c.DryRunPatch(ctx, ref, Manager, Patch{types.MergePatchType, data})
}

// Delete deletes an object with the UID, and the objects that it owns in the
// background. A missing object is not an error.
func (c *Cluster) Delete(ctx context.Context, ref Ref, uid string) error {
	return c.delete(ctx, ref, uid, metav1.DeletePropagationBackground)
}

// DeleteForeground is [Cluster.Delete] for an object that must exist until the
// objects that it owns are deleted.
func (c *Cluster) DeleteForeground(ctx context.Context, ref Ref, uid string) error {
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

// Put creates an object, or replaces the one with o's resource version, and returns
// the stored object. An [Error] with Moved means that another process wrote it first, or that
// an earlier try succeeded and its response was lost.
func (c *Cluster) Put(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, err := c.client(ctx, RefOf(o))
	if err != nil {
		return nil, err
	}
	out, err := result(ctx, c.write, func(ctx context.Context) (*unstructured.Unstructured, error) {
		if o.GetResourceVersion() == "" {
			return client.Create(ctx, o, metav1.CreateOptions{FieldManager: Manager})
		}
		return client.Update(ctx, o, metav1.UpdateOptions{FieldManager: Manager})
	})
	if ReasonOf(err) != "" && ReasonOf(err) != Moved {
		err = fmt.Errorf("write %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return out, err
}

// Logs returns the last lines of a container's log, at most 64 KiB. previous
// selects the last terminated container.
func (c *Cluster) Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int) ([]byte, error) {
	tail, limit := int64(lines), int64(64<<10)
	var out []byte
	err := withTimeout(ctx, connectTimeout, func(ctx context.Context) (err error) {
		out, err = c.pods.Pods(namespace).GetLogs(pod, &core.PodLogOptions{
			Container: container, Previous: previous, TailLines: &tail, LimitBytes: &limit,
		}).DoRaw(ctx)
		return err
	})
	return completeLines(out, int(limit)), c.apiError(err)
}

// completeLines returns a log without its last line if the log has reached the limit. The
// line could contain the beginning of a secret, which would not be masked.
func completeLines(log []byte, limit int) []byte {
	if len(log) < limit {
		return log
	}
	return log[:bytes.LastIndexByte(log, '\n')+1]
}

package helm

import (
	"context"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/live"
)

// A client is Helm's own, but for the waits, which are the caller's, and for
// what it deletes.
type client struct {
	*kube.Client
	run *Run
	ctx context.Context // Helm's interface has none
}

// Wait implements Helm's interface.
func (c *client) Wait(resources kube.ResourceList, _ time.Duration) error {
	objects := make([]*unstructured.Unstructured, 0, len(resources))
	for _, info := range resources {
		if o, ok := info.Object.(*unstructured.Unstructured); ok {
			objects = append(objects, o)
		}
	}
	if err := c.run.Wait(c.ctx, objects); err != nil {
		return c.run.note(err)
	}
	return nil
}

// WaitWithJobs implements Helm's interface: the caller waits for Jobs as well.
func (c *client) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return c.Wait(resources, timeout)
}

// WatchUntilReady implements Helm's interface.
func (c *client) WatchUntilReady(resources kube.ResourceList, _ time.Duration) error {
	for _, info := range resources {
		o, ok := info.Object.(*unstructured.Unstructured)
		if !ok || o.GetKind() != "Job" && o.GetKind() != "Pod" {
			continue
		}
		if err := c.run.Hook(c.ctx, o); err != nil {
			return c.run.note(err)
		}
	}
	return nil
}

// Update implements Helm's interface.
func (c *client) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, force, c.Client.Update)
}

// UpdateThreeWayMerge implements Helm's interface.
func (c *client) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, force, c.Client.UpdateThreeWayMerge)
}

// update updates the objects from where Helm starts, and before from what later
// attempts may have made of them, which Helm would leave as it is.
func (c *client) update(original, target kube.ResourceList, force bool, by func(original, target kube.ResourceList, force bool) (*kube.Result, error)) (*kube.Result, error) {
	for _, manifest := range c.run.attempts {
		// Of an attempt that failed since there was no such kind, the rest counts.
		made, _ := c.Build(strings.NewReader(manifest), false)
		made, err := c.without(made, target)
		if err != nil {
			return nil, err
		}
		if result, err := by(made, copied(target), force); err != nil {
			return result, err
		}
	}
	original, err := c.without(original, target)
	if err != nil {
		return nil, err
	}
	return by(original, target, force)
}

// copied returns a copy: what is updated becomes what the cluster then has.
func copied(resources kube.ResourceList) kube.ResourceList {
	out := make(kube.ResourceList, len(resources))
	for i, info := range resources {
		c := *info
		c.Object = info.Object.DeepCopyObject()
		out[i] = &c
	}
	return out
}

// DeleteWithPropagationPolicy implements Helm's interface.
func (c *client) DeleteWithPropagationPolicy(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	resources, err := c.without(resources, nil)
	switch {
	case err != nil:
		return nil, []error{err}
	case len(resources) == 0:
		return &kube.Result{}, nil
	}
	return c.Client.DeleteWithPropagationPolicy(resources, policy)
}

// WaitForDelete implements Helm's interface.
func (c *client) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	resources, err := c.without(resources, nil)
	if err != nil {
		return err
	}
	return c.Client.WaitForDelete(resources, timeout)
}

// without returns the resources but those that would go, since target has them
// not, and are not there or not to be deleted. Helm goes by their names, and does
// not ask whose they are now.
func (c *client) without(resources, target kube.ResourceList) (kube.ResourceList, error) {
	var out kube.ResourceList
	for _, info := range resources {
		if !target.Contains(info) {
			is, err := c.run.Live.Object(c.ctx, live.Ref{GroupVersionKind: info.Mapping.GroupVersionKind, Namespace: info.Namespace, Name: info.Name})
			if err != nil {
				return nil, c.run.note(err)
			}
			if is == nil || !c.run.Prunes(is) {
				continue
			}
		}
		out = append(out, info)
	}
	return out, nil
}

package cluster

import (
	"context"
	"errors"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// A client is Helm's client, except that fleetc waits for objects and decides which
// objects are deleted.
type client struct {
	*kube.Client
	run *HelmRun
	ctx context.Context // Helm's interface has no context
}

// Wait implements Helm's interface. Helm waits before it marks a revision as
// deployed: until then, the objects of failed attempts are deleted, which an
// installation of new objects only would leave.
func (c *client) Wait(resources kube.ResourceList, _ time.Duration) error {
	c.run.Written = true
	if err := c.prune(c.run.attempts, resources); err != nil {
		return err
	}
	c.run.attempts = nil
	objects := make([]*unstructured.Unstructured, 0, len(resources))
	for _, info := range resources {
		if o, ok := info.Object.(*unstructured.Unstructured); ok {
			objects = append(objects, o)
		}
	}
	if err := c.run.Wait(c.ctx, objects); err != nil {
		return c.run.recordCause(err)
	}
	return nil
}

// WaitWithJobs implements Helm's interface: [HelmRun.Wait] includes Jobs.
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
			return c.run.recordCause(err)
		}
	}
	return nil
}

// An updateFunc updates objects as Helm's client does.
type updateFunc func(original, target kube.ResourceList) (*kube.Result, error)

// update updates the objects. It first patches from the manifests of failed
// attempts, whose changes Helm would leave in place: only objects that an attempt has
// applied, since Helm patches an object without an original in a way that API servers
// refuse for many kinds, such as custom resources. The result is never nil: Helm reads it
// after an error.
func (c *client) update(original, target kube.ResourceList, by updateFunc) (*kube.Result, error) {
	c.run.Written = true
	for _, info := range target {
		if o, ok := info.Object.(*unstructured.Unstructured); ok {
			if err := c.run.GiveToHelm(c.ctx, o); err != nil {
				return &kube.Result{}, c.run.recordCause(err)
			}
		}
	}
	for _, manifest := range c.run.attempts {
		// An attempt may have failed because kinds did not exist; its other objects
		// count.
		made, _ := c.Build(strings.NewReader(manifest), false)
		made, err := c.filterDeletions(made, target)
		if err != nil {
			return &kube.Result{}, err
		}
		applied, err := c.existing(target.Intersect(made))
		if err != nil {
			return &kube.Result{}, err
		}
		if result, err := by(made, copyList(applied)); err != nil {
			return result, err
		}
	}
	c.run.attempts = nil
	original, err := c.filterDeletions(original, target)
	if err != nil {
		return &kube.Result{}, err
	}
	return by(original, target)
}

// existing returns the resources that exist.
func (c *client) existing(resources kube.ResourceList) (kube.ResourceList, error) {
	var out kube.ResourceList
	for _, info := range resources {
		current, err := c.current(info)
		if err != nil {
			return nil, err
		}
		if current != nil {
			out = append(out, info)
		}
	}
	return out, nil
}

// current returns the live object; nil when it does not exist.
func (c *client) current(info *resource.Info) (*unstructured.Unstructured, error) {
	o, err := c.run.Live.Object(c.ctx, Ref{GroupVersionKind: info.Mapping.GroupVersionKind, Namespace: info.Namespace, Name: info.Name})
	if err != nil {
		return nil, c.run.recordCause(err)
	}
	return o, nil
}

// copyList returns a deep copy: updates overwrite the objects with those of the
// cluster.
func copyList(resources kube.ResourceList) kube.ResourceList {
	out := make(kube.ResourceList, len(resources))
	for i, info := range resources {
		c := *info
		c.Object = info.Object.DeepCopyObject()
		out[i] = &c
	}
	return out
}

// prune deletes the objects of manifests that are not in target.
func (c *client) prune(manifests []string, target kube.ResourceList) error {
	var removed kube.ResourceList
	for _, manifest := range manifests {
		made, _ := c.Build(strings.NewReader(manifest), false) // as in update
		for _, info := range made {
			if !target.Contains(info) && !removed.Contains(info) {
				removed = append(removed, info)
			}
		}
	}
	_, errs := c.deleteAll(removed, metav1.DeletePropagationBackground)
	return errors.Join(errs...)
}

// deleteAll deletes the objects that exist and may be deleted.
func (c *client) deleteAll(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	resources, err := c.filterDeletions(resources, nil)
	switch {
	case err != nil:
		return nil, []error{err}
	case len(resources) == 0:
		return &kube.Result{}, nil
	}
	return c.deleteExisting(resources, policy)
}

// deleteRevision deletes the objects of the last revision, as Helm does even if that
// one failed, and those that only earlier revisions have.
func (c *client) deleteRevision(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	result, errs := c.deleteAll(resources, policy)
	if err := c.prune(c.run.replaced, resources); err != nil {
		errs = append(errs, err)
	}
	return result, errs
}

// WaitForDelete implements Helm's interface. Helm deletes nothing
// for a revision without objects.
func (c *client) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	if len(resources) == 0 {
		return c.prune(c.run.replaced, nil)
	}
	resources, err := c.filterDeletions(resources, nil)
	if err != nil {
		return err
	}
	return c.waitForDelete(resources, timeout)
}

// filterDeletions returns the resources without those that are missing from target
// and must not be deleted or do not exist. Helm would delete by name, even if
// another tool owns the object now.
func (c *client) filterDeletions(resources, target kube.ResourceList) (kube.ResourceList, error) {
	var out kube.ResourceList
	for _, info := range resources {
		if !target.Contains(info) {
			current, err := c.current(info)
			if err != nil {
				return nil, err
			}
			if current == nil || !c.run.MayPrune(current) {
				continue
			}
		}
		out = append(out, info)
	}
	return out, nil
}

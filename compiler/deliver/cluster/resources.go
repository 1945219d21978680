package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

// A Resource is the API resource of a kind.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
}

// Resource returns the resource of a kind, and whether the cluster serves it.
// Discovery is cached, see [Cluster.ResetDiscovery].
func (c *Cluster) Resource(ctx context.Context, gvk schema.GroupVersionKind) (Resource, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resources == nil {
		if err := c.discover(ctx); err != nil {
			return Resource{}, false, err
		}
	}
	if r, ok := c.resources[gvk]; ok {
		return r, true, nil
	}
	if err := c.unreadGroups[gvk.GroupVersion()]; err != nil {
		return Resource{}, false, discoveryError(gvk.GroupVersion(), err)
	}
	return Resource{}, false, nil
}

// Versions returns the versions in which the cluster serves a kind, the most stable
// and newest first; none when it does not serve it.
func (c *Cluster) Versions(ctx context.Context, gk schema.GroupKind) ([]string, error) {
	// This runs discovery, and finds API services that are down.
	if _, _, err := c.Resource(ctx, gk.WithVersion("")); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for gv, err := range c.unreadGroups {
		if gv.Group == gk.Group {
			return nil, discoveryError(gv, err)
		}
	}
	var out []string
	for gvk := range c.resources {
		if gvk.GroupKind() == gk {
			out = append(out, gvk.Version)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	return out, nil
}

func discoveryError(gv schema.GroupVersion, err error) error {
	return &Error{Reason: Refused, Message: fmt.Sprintf("the API resources of %s cannot be listed: %s", gv, visible(err.Error()))}
}

// ResetDiscovery clears the discovery cache, because CRDs have changed.
func (c *Cluster) ResetDiscovery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources, c.documents = nil, nil
}

// discover reads the served kinds. An API service that is down is an error only
// when its kinds are requested.
func (c *Cluster) discover(ctx context.Context) error {
	var lists []*metav1.APIResourceList
	unread := map[schema.GroupVersion]error{}
	err := c.retry(ctx, func(ctx context.Context) (err error) {
		_, lists, err = c.discovery.ServerGroupsAndResourcesWithContext(ctx)
		if partial, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
			for _, err := range partial.Groups {
				if isTruncated(err) {
					return err
				}
			}
			unread = partial.Groups
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	c.resources, c.unreadGroups, c.stored = map[schema.GroupVersionKind]Resource{}, unread, map[schema.GroupVersionKind]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				c.resources[gv.WithKind(r.Kind)] = Resource{gv.WithResource(r.Name), r.Namespaced}
				// Some aggregated APIs, such as metrics.k8s.io, only serve lists.
				c.stored[gv.WithKind(r.Kind)] = slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete")
			}
		}
	}
	return nil
}

// A Kind is a stored kind of a cluster, in the version to read it in.
type Kind struct {
	schema.GroupVersionKind
	Resource
}

// Kinds returns the kinds whose objects can be listed and deleted, each once,
// sorted by group and kind; and the API versions whose discovery failed.
func (c *Cluster) Kinds(ctx context.Context) (kinds []Kind, unread []string, err error) {
	if _, _, err := c.Resource(ctx, schema.GroupVersionKind{}); err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	best := map[schema.GroupKind]Kind{}
	for gvk, r := range c.resources {
		other, ok := best[gvk.GroupKind()]
		newer := !ok || version.CompareKubeAwareVersionStrings(gvk.Version, other.Version) > 0
		if newer && c.stored[gvk] {
			best[gvk.GroupKind()] = Kind{gvk, r}
		}
	}
	kinds = slices.SortedFunc(maps.Values(best), func(a, b Kind) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	for gv := range c.unreadGroups {
		unread = append(unread, gv.String())
	}
	slices.Sort(unread)
	return kinds, unread, nil
}

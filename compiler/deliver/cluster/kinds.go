package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

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

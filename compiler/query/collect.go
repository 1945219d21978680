package query

import (
	"context"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// A Comparer is [Compare] for clusters that the caller renders, so that one rendering serves
// several queries. It ignores version labels and checksums.
type Comparer struct{ c *comparer }

// NewComparer returns a comparer of some clusters of the fleet. Call [compiler.Fleet.KeepSame]
// before the clusters are rendered.
func NewComparer(f *compiler.Fleet, clusters []*fleet.Cluster) *Comparer {
	return &Comparer{newComparer(f, clusters, nil)}
}

// Add adds the objects of the cluster with the given index. It does not keep them.
func (c *Comparer) Add(cluster int, objs []fleet.Object) {
	moved := make([]fleet.Object, len(objs))
	for i, o := range objs {
		moved[i] = c.c.inCommonNamespace(o)
	}
	c.c.collect(cluster, moved)
}

// Comparison returns the differences between the clusters, without the texts in secrets.
func (c *Comparer) Comparison(secrets diff.SecretTexts) *Comparison {
	c.c.secrets = secrets
	out := c.c.compareLayers()
	out.Images = c.c.images.Differences(c.c.missingCell)
	out.Objects = c.c.objects.Differences(c.c.missingCell)
	return out
}

// An ImageCollector is [ImageNames] for clusters that the caller renders.
type ImageCollector struct{ l *imageLister }

// NewImageCollector returns a collector of the images of a fleet.
func NewImageCollector(f *compiler.Fleet) *ImageCollector {
	return &ImageCollector{&imageLister{f: f, index: map[string]int{}}}
}

// Add adds the images in the objects of the cluster with the given index.
func (c *ImageCollector) Add(cluster int, objs []fleet.Object) {
	for _, field := range imageFieldsOf(c.l.f.Clusters[cluster], objs) {
		c.l.add(cluster, field)
	}
}

// Images returns the images, sorted by name.
func (c *ImageCollector) Images(ctx context.Context) ([]Image, error) {
	if err := c.l.confirm(ctx); err != nil {
		return nil, err
	}
	return c.l.sorted(), nil
}

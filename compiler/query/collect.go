package query

import (
	"context"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// Add adds the objects of the cluster with the given index. It does not keep them.
func (c *Comparer) Add(cluster int, objs []fleet.Object) {
	moved := make([]fleet.Object, len(objs))
	for i, o := range objs {
		moved[i] = c.inCommonNamespace(o)
	}
	c.collect(cluster, moved)
}

// Comparison returns the differences between the clusters, without the texts in secrets.
func (c *Comparer) Comparison(secrets diff.SecretTexts) *Comparison {
	c.secrets = secrets
	return c.comparison()
}

func (c *Comparer) comparison() *Comparison {
	out := c.compareLayers()
	out.Images = c.images.Differences(c.missingCell)
	out.Objects = c.objects.Differences(c.missingCell)
	return out
}

// newImageCollector returns a collector of the images of a fleet.
func newImageCollector(f *compiler.Fleet) *ImageCollector {
	return &ImageCollector{f: f, index: map[string]int{}}
}

// Add adds the images in the objects of the cluster with the given index.
func (l *ImageCollector) Add(cluster int, objs []fleet.Object) {
	for _, field := range imageFieldsOf(l.f.Clusters[cluster], objs) {
		l.add(cluster, field)
	}
}

// Images returns the images, sorted by name.
func (l *ImageCollector) Images(ctx context.Context) ([]Image, error) {
	if err := l.confirm(ctx); err != nil {
		return nil, err
	}
	return l.sorted(), nil
}

package fleet

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What objects say in a cluster of where they come from. It is in their own
// metadata alone, never in templates or selectors.
const (
	ReleaseLabel      = "fleetc.dev/release"
	FleetAnnotation   = "fleetc.dev/fleet"
	ClusterAnnotation = "fleetc.dev/cluster"
)

// Mark returns an object that says of which release, cluster and fleet it is.
// The given one is not modified, and shares what is not its metadata.
func Mark(module string, c *Cluster, o Object) Object {
	object := maps.Clone(o.Object)
	if object == nil {
		object = map[string]any{}
	}
	meta := with(object, "metadata", 1)
	if o.Release != nil {
		with(meta, "labels", 1)[ReleaseLabel] = o.Release.Name
	}
	annotations := with(meta, "annotations", 2)
	annotations[FleetAnnotation], annotations[ClusterAnnotation] = module, c.ID
	o.Unstructured, o.Shared = &unstructured.Unstructured{Object: object}, false
	return o
}

// with gives a map a map of its own below a key, with room for some more, and
// returns that.
func with(m map[string]any, key string, more int) map[string]any {
	before, _ := m[key].(map[string]any)
	after := make(map[string]any, len(before)+more)
	maps.Copy(after, before)
	m[key] = after
	return after
}

// marked are the fields of metadata that Mark writes to, and what it writes there.
var marked = map[string][]string{"labels": {ReleaseLabel}, "annotations": {FleetAnnotation, ClusterAnnotation}}

// Unmark returns an object without what Mark has added, and without maps of labels
// and annotations that are empty, since Mark leaves none. The given one is not
// modified: it is returned when there is nothing of that in it, and shares what
// is not its metadata otherwise.
func Unmark(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	meta, _ := u.Object["metadata"].(map[string]any)
	out := u
	for field, names := range marked {
		texts, ok := meta[field].(map[string]any)
		if !ok || len(texts) > 0 && !slices.ContainsFunc(names, func(name string) bool { _, ok := texts[name]; return ok }) {
			continue
		}
		if out == u {
			meta = maps.Clone(meta)
			out = &unstructured.Unstructured{Object: maps.Clone(u.Object)}
			out.Object["metadata"] = meta
		}
		texts = maps.Clone(texts)
		for _, name := range names {
			delete(texts, name)
		}
		if meta[field] = texts; len(texts) == 0 {
			delete(meta, field)
		}
	}
	return out
}

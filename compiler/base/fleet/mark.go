package fleet

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Labels and annotations for the origin of an object. They are only set in the
// object's own metadata, never in templates or selectors.
const (
	ReleaseLabel      = "fleetc.dev/release"
	FleetAnnotation   = "fleetc.dev/fleet"
	ClusterAnnotation = "fleetc.dev/cluster"
)

// Mark returns a copy of an object with its release, cluster and fleet in its
// metadata. The copy shares everything except the metadata.
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

// with replaces the map at a key by a copy with room for more entries, and
// returns the copy.
func with(m map[string]any, key string, more int) map[string]any {
	before, _ := m[key].(map[string]any)
	after := make(map[string]any, len(before)+more)
	maps.Copy(after, before)
	m[key] = after
	return after
}

// WithAnnotation returns a copy of an object with an annotation.
func WithAnnotation(u *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	out := u.DeepCopy()
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	out.SetAnnotations(annotations)
	return out
}

// markFields are the fields of metadata that Mark sets, and the keys in them.
var markFields = map[string][]string{"labels": {ReleaseLabel}, "annotations": {FleetAnnotation, ClusterAnnotation}}

// IsMark reports whether a field of an object is a label or annotation that Mark sets.
func IsMark(field []string) bool {
	const depth = 3 // metadata.labels.NAME
	return len(field) == depth && field[0] == "metadata" && slices.Contains(markFields[field[1]], field[2])
}

// Unmark returns an object without the metadata that Mark adds, and without
// labels and annotations that are empty or null, which Mark never leaves. It does not modify u:
// it returns u if there is nothing to remove, and otherwise a copy that shares
// everything except the metadata.
func Unmark(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	meta, _ := u.Object["metadata"].(map[string]any)
	out := u
	for field, names := range markFields {
		value, present := meta[field]
		texts, isMap := value.(map[string]any)
		if !present || value != nil && !isMap || len(texts) > 0 && !slices.ContainsFunc(names, func(name string) bool { _, ok := texts[name]; return ok }) {
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

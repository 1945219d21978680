package fleet

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	u := &unstructured.Unstructured{Object: make(map[string]any, len(o.Object))}
	for k, v := range o.Object {
		u.Object[k] = v
	}
	meta := map[string]any{}
	if m, ok := u.Object["metadata"].(map[string]any); ok {
		for k, v := range m {
			meta[k] = v
		}
	}
	u.Object["metadata"] = meta
	set := func(set func(map[string]string), texts map[string]string, name, value string) {
		if texts == nil {
			texts = map[string]string{}
		}
		texts[name] = value
		set(texts)
	}
	if o.Release != nil {
		set(u.SetLabels, u.GetLabels(), ReleaseLabel, o.Release.Name)
	}
	set(u.SetAnnotations, u.GetAnnotations(), FleetAnnotation, module)
	set(u.SetAnnotations, u.GetAnnotations(), ClusterAnnotation, c.ID)
	o.Unstructured = u
	return o
}

// Unmark removes from an object what Mark has added, and maps of labels and
// annotations that are empty, since Mark leaves none.
func Unmark(u *unstructured.Unstructured) {
	if u == nil {
		return
	}
	meta, _ := u.Object["metadata"].(map[string]any)
	for field, names := range map[string][]string{"labels": {ReleaseLabel}, "annotations": {FleetAnnotation, ClusterAnnotation}} {
		texts, ok := meta[field].(map[string]any)
		for _, name := range names {
			delete(texts, name)
		}
		if ok && len(texts) == 0 {
			delete(meta, field)
		}
	}
}

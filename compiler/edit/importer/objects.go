package importer

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SetObjects sets the objects of a release, with a distinct key for each. sources are
// the nodes with their content. A release without a namespace gets the most frequent one
// of its objects, or default.
func (r *Release) SetObjects(objs []*unstructured.Unstructured, sources []*Node) {
	keys := map[string]bool{}
	namespaces := map[string]int{}
	r.Objects = make([]Object, len(objs))
	for i, o := range objs {
		name := path.Join(o.GetNamespace(), o.GetName())
		key := o.GetKind() + "/" + o.GetName()
		if keys[key] {
			key = o.GetKind() + "/" + name
		}
		for n := 2; keys[key]; n++ {
			key = fmt.Sprintf("%s/%s-%d", o.GetKind(), name, n)
		}
		keys[key] = true
		namespaces[o.GetNamespace()]++
		r.Objects[i] = Object{Key: key, Node: sources[i]}
	}
	if r.Namespace != "" {
		return
	}
	r.Namespace = "default"
	most := 0
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if name != "" && namespaces[name] > most {
			r.Namespace, most = name, namespaces[name]
		}
	}
}

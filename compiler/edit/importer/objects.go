package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SetRendered is [Release.SetObjects] for objects that another program renders, and whose
// content has no place in a file.
func (r *Release) SetRendered(objs []fleet.Object) {
	r.SetObjects(renderedNodes(objs))
}

// renderedNodes returns the nodes of objects that another program renders.
func renderedNodes(objs []fleet.Object) []*Node {
	return diag.Each(objs, func(o fleet.Object) *Node { return nodeOf(o.Object, nil) })
}

// listItems returns objects with lists, such as those of kind List, replaced by their items.
func listItems(nodes []*Node) []*Node {
	var out []*Node
	for _, o := range nodes {
		items := o.Get("items")
		isObject := func(n *Node) bool { return n.IsMap }
		switch {
		case !strings.HasSuffix(o.Text("kind"), "List") || items == nil || !items.IsList && items.Scalar != nil || items.IsMap:
			out = append(out, o)
		case len(diag.Filter(items.List, isObject)) < len(items.List):
			out = append(out, o) // the proof reports the items
		default:
			out = append(out, listItems(items.List)...)
		}
	}
	return out
}

// yamlReason says why a YAML document is not valid.
func yamlReason(err error) string {
	if strings.Contains(err.Error(), "invalid map key") {
		return "a key is a map: quote templates such as {{ .name }}"
	}
	return diag.Line(fleet.YAMLMessage(err), diag.MaxText)
}

// jsonOf returns the JSON that Kubernetes reads in YAML: no is false, and a date is a text.
func jsonOf(n *yaml.Node) ([]byte, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err // its lines are those of the file
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return nil, err
	}
	return fleet.YAMLToJSON(text)
}

// contentOf returns the content of a YAML document that is a map, as Kubernetes reads it.
func contentOf(document *yaml.Node) (content map[string]any, err error) {
	data, err := jsonOf(document)
	if err == nil {
		err = json.Unmarshal(data, &content)
	}
	return content, err
}

// objectOf returns the object of a YAML document; nil for an empty one.
func objectOf(document *yaml.Node) (*unstructured.Unstructured, error) {
	if len(document.Content) == 0 {
		return nil, nil
	}
	data, err := jsonOf(document)
	if err != nil || string(data) == "null" {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	err = o.UnmarshalJSON(data)
	if runtime.IsMissingKind(err) {
		err = errors.New("a document without a kind is not a Kubernetes object")
	}
	return o, err
}

// SetObjects sets the objects of a release, with a distinct key for each. A release without a
// namespace gets default when one of its objects has none, as kubectl applies it, and otherwise
// the most frequent one of its objects.
func (r *Release) SetObjects(nodes []*Node) {
	keys := map[string]bool{}
	namespaces := map[string]int{}
	isDefault := false
	r.Objects = make([]Field, len(nodes))
	for i, o := range nodes {
		kind, name, namespace := o.Text("kind"), o.Text("metadata", "name"), o.Text("metadata", "namespace")
		key, full := kind+"/"+name, kind+"/"+path.Join(namespace, name)
		if keys[key] {
			key = full
		}
		for n := 2; keys[key]; n++ {
			key = fmt.Sprintf("%s-%d", full, n)
		}
		keys[key] = true
		namespaces[namespace]++
		isDefault = isDefault || namespace == "" && isNamespaced(schema.FromAPIVersionAndKind(o.Text("apiVersion"), kind))
		r.Objects[i] = Field{key, o}
	}
	if r.Namespace != "" {
		return
	}
	r.Namespace = "default"
	most := 0
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if name != "" && namespaces[name] > most && !isDefault {
			r.Namespace, most = name, namespaces[name]
		}
	}
}

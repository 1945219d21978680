// Package render turns a release into Kubernetes objects. Rendering is a
// function of its arguments: it reads no files, no network, no cluster and no
// clock. What a chart asks of a cluster (lookup) is empty, and it resolves no
// host names.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// Release renders a release of the cluster. ch is the release's chart, nil
// when its source is another. apis are the API versions that the cluster
// serves beside those of its own declaration and of Kubernetes, as
// group/version or group/version/Kind: those of the CRDs in the bundle.
//
// Objects are returned in the order in which the source has them. The error
// holds everything that is wrong with the release, and names its line.
func Release(c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string) (objs []fleet.Object, err error) {
	if ch == nil {
		return written(r)
	}
	defer func() {
		// A chart is input: what it makes a library do is its fault.
		if p := recover(); p != nil {
			objs, err = nil, &diag.Diag{At: []diag.Pos{r.Pos}, Path: r.Path(), Msg: fmt.Sprintf("chart %s does not render: %v", ch.Ref, p)}
		}
	}()
	docs, err := helm(c, r, ch, apis)
	if err != nil {
		return nil, err
	}
	var faults diag.List
	var out []fleet.Object
	for _, d := range docs {
		if !d.wanted(r) {
			continue
		}
		for _, text := range d.split() {
			objs, err := parse(lineEnd(text))
			if err != nil {
				faults.Add(&diag.Diag{
					At: []diag.Pos{r.Pos}, Path: r.Path(),
					Msg: "chart template " + d.source + " renders " + err.Error(), Cause: err,
				})
				continue
			}
			for _, o := range objs {
				out = append(out, fleet.Object{Unstructured: &unstructured.Unstructured{Object: o}, Release: r, Template: d.source, Pos: r.Pos})
			}
		}
	}
	return out, faults.Err()
}

// lineEnd returns a document as helm template prints it: Helm cuts the last
// line break off, which a block scalar at the end is in need of, and prints
// one behind the document.
func lineEnd(text string) string { return text + "\n" }

// APIs returns the API versions that the CRDs among the objects add to a
// cluster, as charts ask for them: group/version and group/version/Kind,
// sorted.
func APIs(objs []fleet.Object) []string {
	var out []string
	for _, o := range objs {
		if gvk := o.GroupVersionKind(); gvk.Group != "apiextensions.k8s.io" || gvk.Kind != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			version, ok := v.(map[string]any)
			if served, _ := version["served"].(bool); !ok || !served {
				continue
			}
			if name, ok := version["name"].(string); ok {
				out = append(out, group+"/"+name, group+"/"+name+"/"+kind)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// written returns the objects of a release that are written in CUE.
func written(r *fleet.Release) ([]fleet.Object, error) {
	var faults diag.List
	var out []fleet.Object
	for _, t := range r.Objects {
		o, ok := native(t).(map[string]any)
		if !ok {
			faults.Add(&diag.Diag{At: []diag.Pos{t.Pos}, Path: r.Path("objects"), Msg: "an object is a struct with apiVersion, kind and metadata"})
			continue
		}
		items, err := flatten(o)
		if err != nil {
			faults.Add(&diag.Diag{At: []diag.Pos{t.Pos}, Path: r.Path("objects"), Msg: err.Error()})
			continue
		}
		for _, i := range items {
			out = append(out, fleet.Object{Unstructured: &unstructured.Unstructured{Object: i}, Release: r, Pos: t.Pos})
		}
	}
	return out, faults.Err()
}

// native returns the tree as Kubernetes' own libraries decode JSON: integers
// are int64, other numbers float64.
func native(t *fleet.Tree) any {
	switch {
	case t.IsMap():
		m := make(map[string]any, len(t.Fields))
		for k, f := range t.Fields {
			m[k] = native(f)
		}
		return m
	case t.List != nil:
		l := make([]any, len(t.List))
		for i, e := range t.List {
			l[i] = native(e)
		}
		return l
	}
	if n, ok := t.Scalar.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return t.Value()
}

// parse returns the objects of one YAML document: none when it is empty, the
// items when it is a list of objects. A key that stands twice in a map is an
// error, since readers disagree on which of them holds.
func parse(text string) ([]map[string]any, error) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("YAML that does not parse: %s", yamlMessage(err))
	}
	if bytes.Equal(data, []byte("null")) {
		return nil, nil
	}
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a document that is no object: %s", excerpt(text))
	}
	return flatten(o)
}

// flatten returns the items of a list of objects (kind: List, ConfigMapList),
// or the object itself.
func flatten(o map[string]any) ([]map[string]any, error) {
	u := unstructured.Unstructured{Object: o}
	kind, _ := o["kind"].(string)
	if !strings.HasSuffix(kind, "List") || !u.IsList() {
		return []map[string]any{o}, nil
	}
	var out []map[string]any
	items, _ := o["items"].([]any)
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a %s whose item %d is no object", kind, i)
		}
		inner, err := flatten(m)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// yamlMessage is what the YAML library says, in one line and without its
// prefixes.
func yamlMessage(err error) string {
	msg := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:"} {
		msg = strings.TrimPrefix(msg, prefix)
	}
	return strings.Join(strings.Fields(msg), " ")
}

// excerpt returns the beginning of a text, in one line.
func excerpt(text string) string {
	const limit = 60
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}

package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A fieldSchema is the schema of a value of a built-in kind or, as JSON, of a
// CRD. The zero value allows any field.
type fieldSchema struct {
	kube *kube.Schema
	crd  map[string]any
}

// schemaOf returns the schema of an object. Custom resources use the first CRD
// for their kind.
func (a *application) schemaOf(o fleet.Object, crds []fleet.Object) fieldSchema {
	gvk := o.GroupVersionKind()
	if s := a.kube.Schema(gvk); s != nil {
		return fieldSchema{kube: s}
	}
	for _, c := range crds {
		if fleet.DefinedKind(c.Unstructured) != gvk.GroupKind() {
			continue
		}
		if open, _, _ := unstructured.NestedBool(c.Object, "spec", "preserveUnknownFields"); open {
			break
		}
		list, _, _ := unstructured.NestedFieldNoCopy(c.Object, "spec", "versions")
		versions, _ := list.([]any)
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if version["name"] != gvk.Version {
				continue
			}
			in, _, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema")
			crd, _ := in.(map[string]any)
			return fieldSchema{crd: crd}
		}
		break
	}
	return fieldSchema{}
}

// isCRD reports whether an object is a CRD.
func isCRD(o fleet.Object) bool {
	return o.Unstructured != nil && o.GroupVersionKind().GroupKind() == fleet.CRDKind
}

// impossible returns the first step of a path that an object cannot have, and
// the possible fields there; ok is false if the path is possible as far as the
// schema is known.
func (a *application) impossible(o fleet.Object, crds []fleet.Object, path []fleet.Step) (step int, names []string, ok bool) {
	s := a.schemaOf(o, crds)
	custom := s.crd != nil
	for i, p := range path {
		switch {
		case i == 0 && custom && p.Key == "metadata":
			s = fieldSchema{kube: a.metadata()}
			continue
		case p.Key == "":
			next, fits := s.element()
			if !fits {
				return i, nil, true
			}
			for _, key := range slices.Sorted(maps.Keys(p.Fields)) {
				if _, fits := next.field(key); !fits {
					return i, next.names(), true
				}
			}
			s = next
			continue
		}
		next, fits := s.field(p.Key)
		if !fits {
			return i, s.names(), true
		}
		s = next
	}
	return 0, nil, false
}

// metadata returns the schema of the metadata of every object.
func (a *application) metadata() *kube.Schema {
	if s := a.kube.Schema(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}); s != nil {
		return s.Fields["metadata"]
	}
	return nil
}

// field returns the schema of a field; ok is false when the value cannot have it.
func (s fieldSchema) field(key string) (next fieldSchema, ok bool) {
	if k := s.kube; k != nil {
		if k.Type != kube.Object {
			return fieldSchema{}, k.Type == kube.Any
		}
		sub, known := child(k, key)
		return fieldSchema{kube: sub}, known
	}
	if s.crd == nil {
		return fieldSchema{}, true
	}
	properties, _ := s.crd["properties"].(map[string]any)
	if sub, ok := properties[key].(map[string]any); ok {
		return fieldSchema{crd: sub}, true
	}
	if s.crd["x-kubernetes-preserve-unknown-fields"] == true || s.crd["x-kubernetes-embedded-resource"] == true {
		return fieldSchema{}, true
	}
	switch more := s.crd["additionalProperties"].(type) {
	case map[string]any:
		return fieldSchema{crd: more}, true
	case bool:
		return fieldSchema{}, more
	}
	return fieldSchema{}, false
}

// element returns the schema of the elements of a list; ok is false when the
// value is not a list.
func (s fieldSchema) element() (next fieldSchema, ok bool) {
	if k := s.kube; k != nil {
		return fieldSchema{kube: elem(k)}, k.Type == kube.List || k.Type == kube.Any
	}
	if s.crd == nil {
		return fieldSchema{}, true
	}
	items, isList := s.crd["items"].(map[string]any)
	return fieldSchema{crd: items}, isList || s.crd["type"] == "array" || s.crd["x-kubernetes-preserve-unknown-fields"] == true
}

// names returns the names of the fields of a value, sorted.
func (s fieldSchema) names() []string {
	if s.kube != nil {
		return slices.Sorted(maps.Keys(s.kube.Fields))
	}
	properties, _ := s.crd["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

const correctPath = "correct the path, or remove this line"

// cannotHave returns the fault of a field that none of the objects can have, or
// nil. It describes the object that can have the most steps of the path; nearest
// is the index of the first step that this object cannot have.
func (a *application) cannotHave(at rule, f fleet.FieldPath, matched []*item, crds []fleet.Object) (d *diag.Diag, nearest int) {
	for _, it := range matched {
		step, names, wrong := a.impossible(it.Object, crds, f.Path)
		if !wrong {
			return nil, 0
		}
		key := f.Path[step].Key
		hint := diag.DidYouMean(key, names)
		if strings.Contains(key, "/") { // a JSON pointer
			hint = "write dots between the keys: " + visible(strings.ReplaceAll(strings.Trim(key, "/"), "/", "."))
		}
		if d != nil && (step < nearest || step == nearest && (hint == "" || d.Hint != correctPath)) {
			continue
		}
		nearest = step
		d = &diag.Diag{Code: diag.CodeOwnership, At: at.at, Path: at.path}
		where := visible(it.Object.GetKind() + " " + it.Object.GetName())
		d.Msg = fmt.Sprintf("%s cannot have a field %s", where, visible(fleet.StepsText(f.Path[:step+1])))
		d.Hint = cmp.Or(hint, correctPath)
	}
	return d, nearest
}

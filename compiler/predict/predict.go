// Package predict says what server-side apply would make of an object that a
// cluster has, for who may not ask the cluster to try it.
//
// It merges by the schemas that the cluster itself publishes and by the managed
// fields of the object, with Kubernetes' own code for that. What an API server
// does on top of it is done here as far as a schema tells: other spellings of
// the same value count as equal, empty values that are not stored as absent, and
// fields get the defaults that are known.
//
// What admission would change is not known, nor what conversion between versions
// of a kind would: fields that others have in another version are not seen to be
// in conflict. The package asks no cluster.
package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/live"
)

// Schemas are those of the kinds of one API version. They are safe for
// concurrent use.
type Schemas struct {
	types managedfields.TypeConverter
	named map[string]*spec.Schema
	kinds map[schema.GroupVersionKind]string // names
}

// Read reads the OpenAPI document that a cluster has of an API version. Without
// one, or with one that makes no sense, there are no schemas: lists are then
// taken as wholes.
func Read(document []byte) *Schemas {
	var doc spec3.OpenAPI
	if json.Unmarshal(document, &doc) == nil && doc.Components != nil {
		named := doc.Components.Schemas
		maps.DeleteFunc(named, func(_ string, s *spec.Schema) bool { return s == nil }) // as in {"x": null}
		if types, err := managedfields.NewTypeConverter(named, false); err == nil {
			return &Schemas{types, named, kindsOf(named)}
		}
	}
	return &Schemas{types: managedfields.NewDeducedTypeConverter()}
}

// kindsOf returns the names of the schemas of kinds.
func kindsOf(named map[string]*spec.Schema) map[schema.GroupVersionKind]string {
	out := map[schema.GroupVersionKind]string{}
	for name, s := range named {
		var kinds []struct{ Group, Version, Kind string }
		if err := s.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil {
			continue
		}
		for _, k := range kinds {
			out[schema.GroupVersionKind(k)] = name
		}
	}
	return out
}

// Has reports whether there is a schema of the kind.
func (s *Schemas) Has(gvk schema.GroupVersionKind) bool { return s.kinds[gvk] != "" }

// Apply returns what an object, as the cluster has it now, would be after it is
// applied as the bundle has it, and the fields of which
// others have other values, which are those of the bundle then. Neither of the
// objects is modified. An error says that the two do not fit the schema or each
// other; it has no values in it.
func (s *Schemas) Apply(is, object *unstructured.Unstructured) (*unstructured.Unstructured, []live.Field, error) {
	gvk := is.GroupVersionKind()
	manager, err := managedfields.NewDefaultCRDFieldManager(s.types, versions{}, versions{}, versions{}, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare to apply a %s: %w", gvk.Kind, err)
	}
	var conflicts []live.Field
	out, err := manager.Apply(is.DeepCopy(), applied(object), live.Manager, false)
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		conflicts = live.ConflictsOf(status.Status(), func(s string) string { return diag.Visible(s, diag.MaxText) })
		out, err = manager.Apply(is.DeepCopy(), applied(object), live.Manager, true)
	}
	if err != nil {
		// It may have values in it.
		return nil, nil, errors.New("the object does not fit the schema that the cluster has of it")
	}
	would, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, fmt.Errorf("apply a %s: the result is a %T", gvk.Kind, out)
	}
	return &unstructured.Unstructured{Object: s.settled(would, is)}, conflicts, nil
}

// versions stands for the versions of a kind and its defaults, of which an object
// has one and none here.
type versions struct{}

// Convert implements [runtime.ObjectConvertor].
func (versions) Convert(in, out, _ any) error {
	from, ok := in.(*unstructured.Unstructured)
	to, isToo := out.(*unstructured.Unstructured)
	if !ok || !isToo {
		return errors.New("no conversion of typed objects")
	}
	to.Object = from.Object
	return nil
}

// ConvertToVersion implements [runtime.ObjectConvertor]. Another version has no
// schema here, which says that nothing is known of it.
func (versions) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if gv, ok := to.(schema.GroupVersion); ok && gv == in.GetObjectKind().GroupVersionKind().GroupVersion() {
		return in, nil
	}
	return nil, runtime.NewNotRegisteredErrForTarget("objects", nil, to)
}

// ConvertFieldLabel implements [runtime.ObjectConvertor].
func (versions) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements [runtime.ObjectDefaulter].
func (versions) Default(runtime.Object) {}

// New implements [runtime.ObjectCreater].
func (versions) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o, nil
}

package cluster

// The files simulate*.go and appliedcontent.go compute the result of a server-side apply
// without the cluster, for users who may not send dry runs. They merge objects with
// Kubernetes' own code, by the schemas that the cluster publishes and by the managed
// fields of the object. Like an API server, they take different spellings of a value
// as equal, leave out empty values that it does not store, and set known defaults.
//
// They do not know the changes of admission and of conversion between versions of a
// kind, and do not detect conflicts with fields that a manager owns in another version.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Schemas are the schemas of the kinds of one API version. They are safe for
// concurrent use.
type Schemas struct {
	types managedfields.TypeConverter
	named map[string]*spec.Schema
	kinds map[schema.GroupVersionKind]string // schema names
}

// ReadSchemas reads the OpenAPI document of an API version from a cluster. Without a valid
// document there are no schemas, and lists count as atomic.
func ReadSchemas(document []byte) *Schemas {
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

// kindsOf maps kinds to the names of their schemas.
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

// Has reports whether the kind has a schema.
func (s *Schemas) Has(gvk schema.GroupVersionKind) bool { return s.kinds[gvk] != "" }

// Apply returns the object after the bundle's object is applied to the current one,
// and the conflicts: fields of other managers with different values. It does not
// modify its arguments. An error means that an object does not fit the schema; its
// text has no values.
func (s *Schemas) Apply(current, object *unstructured.Unstructured) (*unstructured.Unstructured, []Field, error) {
	gvk := current.GroupVersionKind()
	manager, err := managedfields.NewDefaultCRDFieldManager(s.types, untyped, untyped, unstructuredscheme.NewUnstructuredCreator(), gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare to apply a %s: %w", gvk.Kind, err)
	}
	var conflicts []Field
	object = WithStoredNulls(object, current)
	out, err := manager.Apply(current.DeepCopy(), appliedContent(object), Manager, false)
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		conflicts = conflictsOf(status.Status(), func(s string) string { return diag.Visible(s, diag.MaxText) })
		out, err = manager.Apply(current.DeepCopy(), appliedContent(object), Manager, true)
	}
	if err != nil {
		// The text may contain values.
		return nil, nil, errors.New("the object does not match the cluster's schema for it")
	}
	simulated, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, fmt.Errorf("apply a %s: the result is a %T", gvk.Kind, out)
	}
	return &unstructured.Unstructured{Object: s.stored(simulated, current)}, conflicts, nil
}

// Stored returns a patched object as an API server stores it in place of the current one.
func (s *Schemas) Stored(patched, current *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: s.stored(patched, current)}
}

// A singleVersion is a scheme without types, which converts objects to their own version only:
// the schemas of other versions are unknown.
type singleVersion struct{ *runtime.Scheme }

var untyped = singleVersion{runtime.NewScheme()}

// ConvertToVersion implements [runtime.ObjectConvertor].
func (singleVersion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if gv, ok := to.(schema.GroupVersion); ok && gv == in.GetObjectKind().GroupVersionKind().GroupVersion() {
		return in, nil
	}
	return nil, runtime.NewNotRegisteredErrForTarget("objects", nil, to)
}

// codeDefault returns the default that Kubernetes sets in code, where the schema
// does not state it: for fields in atomic lists and maps, and a few fields that
// users often remove from a release. It returns nil for all others.
func codeDefault(schema, field string, in map[string]any) any {
	const core, apps, admission = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1.", "io.k8s.api.admissionregistration.v1."
	switch schema + "." + field {
	case core + "ObjectFieldSelector.apiVersion", core + "PersistentVolumeClaim.apiVersion":
		return "v1"
	case core + "PersistentVolumeClaim.kind": // in a StatefulSet
		return "PersistentVolumeClaim"
	case core + "PersistentVolumeClaim.status":
		return map[string]any{"phase": "Pending"}
	case core + "PersistentVolumeClaimSpec.volumeMode":
		return "Filesystem"
	case core + "ResourceFieldSelector.divisor":
		return "0"
	case core + "ServiceAccountTokenProjection.expirationSeconds":
		return int64(3600)
	case apps + "DeploymentStrategy.rollingUpdate": // Helm's patch removes it
		if in["type"] == "RollingUpdate" {
			return map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}
		}
	case apps + "DeploymentSpec.replicas", apps + "StatefulSetSpec.replicas":
		return int64(1)
	case "io.k8s.api.networking.v1.NetworkPolicyPort.protocol":
		return "TCP"
	case "io.k8s.api.rbac.v1.RoleRef.apiGroup":
		return rbac
	case "io.k8s.api.rbac.v1.Subject.apiGroup":
		if kind := in["kind"]; kind == "User" || kind == "Group" {
			return rbac
		}
	case admission + "RuleWithOperations.scope", admission + "NamedRuleWithOperations.scope":
		return "*"
	case admission + "MatchResources.matchPolicy":
		return "Equivalent"
	case admission + "MatchResources.namespaceSelector", admission + "MatchResources.objectSelector":
		return map[string]any{}
	}
	return nil
}

const rbac = "rbac.authorization.k8s.io"

package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
)

// Labels and annotations that Helm adds to every object of a release.
const (
	managedByLabel      = "app.kubernetes.io/managed-by"
	nameAnnotation      = "meta.helm.sh/release-name"
	namespaceAnnotation = "meta.helm.sh/release-namespace"
)

// MarkForHelm returns a copy of an object with the labels and annotations that Helm
// adds to the objects of a release.
func MarkForHelm(o *unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
	return Marked(o, map[string]string{managedByLabel: "Helm"}, map[string]string{nameAnnotation: name, namespaceAnnotation: namespace})
}

// Marked returns a copy of an object with more labels and annotations.
func Marked(o *unstructured.Unstructured, labels, annotations map[string]string) *unstructured.Unstructured {
	with := func(texts, more map[string]string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, texts)
		maps.Copy(all, more)
		return all
	}
	o = o.DeepCopy()
	o.SetLabels(with(o.GetLabels(), labels))
	o.SetAnnotations(with(o.GetAnnotations(), annotations))
	return o
}

// Patches returns how many patches the next install or upgrade may send for an
// object that exists: one for each failed attempt since the deployed revision,
// and one for the deployed revision.
func (s *HelmState) Patches() int { return len(s.attemptObjects) + 1 }

// Patch returns the patch of the step, see [HelmState.Patches], from the live object
// now to target, a marked object of the chart; an empty one if the failed attempt did
// not have the object. As in Helm, it is a three-way
// strategic merge patch for kinds of Kubernetes and a JSON merge patch for custom
// resources.
func (s *HelmState) Patch(step int, target, now *unstructured.Unstructured) (Patch, error) {
	// An upgrade compares a custom resource only with the last manifest; an
	// installation also compares it with the cluster.
	threeWay := !s.upgrades()
	original := target // Helm adopts an object without a revision as if it had made it
	switch {
	case step < len(s.attemptObjects):
		if original = find(s.attemptObjects[step], target); original == nil {
			return Patch{}, nil
		}
	case s.Deployed:
		if o := find(s.Objects, target); o != nil {
			original = o
		}
	}
	return patch(original, target, now, threeWay)
}

// find returns the object with the name and kind of o, nil when there is none.
func find(objects []*unstructured.Unstructured, o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, other := range objects {
		if other.GetName() == o.GetName() && other.GetNamespace() == o.GetNamespace() && other.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind() {
			return other
		}
	}
	return nil
}

// newTyped returns an empty object of the Go type of a Kubernetes kind, nil for
// custom resources.
func newTyped(o *unstructured.Unstructured) runtime.Object {
	bare := &unstructured.Unstructured{Object: map[string]any{}}
	bare.SetGroupVersionKind(o.GroupVersionKind())
	versioned := kube.AsVersioned(&resource.Info{Object: bare, Mapping: &meta.RESTMapping{GroupVersionKind: o.GroupVersionKind()}})
	if _, ok := versioned.(runtime.Unstructured); ok {
		return nil
	}
	return versioned
}

// patch computes the patch as Helm's function createPatch in its package kube does.
func patch(original, target, now *unstructured.Unstructured, threeWay bool) (Patch, error) {
	var texts [3][]byte
	for i, o := range []*unstructured.Unstructured{original, target, now} {
		text, err := json.Marshal(o.Object)
		if err != nil {
			return Patch{}, fmt.Errorf("encode %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		texts[i] = text
	}
	versioned := newTyped(target)
	out := Patch{Type: types.MergePatchType}
	var err error
	switch {
	case versioned != nil:
		out.Type = types.StrategicMergePatchType
		var schema strategicpatch.PatchMetaFromStruct
		if schema, err = strategicpatch.NewPatchMetaFromStruct(versioned); err == nil {
			out.Data, err = strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], schema, true)
		}
	case threeWay:
		out.Data, err = jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[2])
	default:
		out.Data, err = jsonpatch.CreateMergePatch(texts[0], texts[1])
	}
	if err != nil {
		return Patch{}, fmt.Errorf("compute Helm's patch of %s %s: %w", target.GetKind(), target.GetName(), err)
	}
	return out, nil
}

// HelmPatched returns the object that results from a patch, without the API server:
// defaults and webhooks are missing.
func HelmPatched(now *unstructured.Unstructured, p Patch) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(now.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", now.GetKind(), now.GetName(), err)
	}
	if p.Type == types.StrategicMergePatchType {
		text, err = strategicpatch.StrategicMergePatch(text, p.Data, newTyped(now))
	} else {
		text, err = jsonpatch.MergePatch(text, p.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("patch %s %s: %w", now.GetKind(), now.GetName(), err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("decode the patched %s %s: %w", now.GetKind(), now.GetName(), err)
	}
	if typed := newTyped(now); typed != nil && json.Unmarshal(text, typed) == nil {
		if encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err == nil {
			omitZeros(out.Object, encoded)
		}
	}
	return out, nil
}

// omitZeros removes the zero values of v that its encoding by the Go type of its kind does
// not have: the API server does not store them.
func omitZeros(v, encoded any) {
	switch v := v.(type) {
	case map[string]any:
		encoded, _ := encoded.(map[string]any)
		for key, e := range v {
			stored, ok := encoded[key]
			if list, isList := e.([]any); !ok && (e == nil || isList && len(list) == 0 || !isList && reflect.ValueOf(e).IsZero()) {
				delete(v, key)
				continue
			}
			omitZeros(e, stored)
		}
	case []any:
		encoded, _ := encoded.([]any)
		for i := range min(len(v), len(encoded)) {
			omitZeros(v[i], encoded[i])
		}
	}
}

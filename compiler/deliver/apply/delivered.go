package apply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// This file recognizes objects that Flux or Argo CD apply from an export of the cluster.
// They are compared as if fleetc had applied the fields of these tools.

// Field managers of Argo CD. Objects that it creates or replaces without server-side apply
// have the name of its program.
const (
	argoManager  = "argocd-controller"
	argoReplacer = "argocd-application-controller"
)

// deliverer returns the tool that applies an object from an export of the cluster: the
// object has the marks of the fleet and the cluster, and those of the tool. It is nil for
// other objects, and for those that fleetc has applied.
func (c *comparer) deliverer(it *Item, o *unstructured.Unstructured) *tool {
	marks, known := o.GetAnnotations(), c.recorded[it.ID]
	if marks[fleet.FleetAnnotation] != c.Fleet || marks[fleet.ClusterAnnotation] != c.Bundle.Cluster.ID || known.UID == it.uid && !known.Kept {
		return nil
	}
	its, managers := marksOf(o, isOwn), otherManagers(o)
	for i, t := range tools {
		_, ok := t.owner(its)
		ok = ok || slices.Contains(t.managers, argoManager) && slices.Contains(managers, argoManager) // it does not mark CRDs
		if ok && len(t.managers) > 0 {
			return &tools[i]
		}
	}
	return nil
}

// deliveredBy has fleetc take over the fields of the tool that delivers an object, except
// the marks of the tool and empty maps that it adds.
func (it *Item) deliveredBy(by *tool, o *unstructured.Unstructured) takeover {
	t := it.takeover
	it.object = cluster.WithStoredNulls(it.object, o) // not removed from the fields of the tool
	t.named = slices.Concat(t.named, by.managers)
	t.omitsEmpty = by.omitsEmpty && isBuiltIn(it.ref.Group)
	t.kept = emptyMaps(nil, fieldsWhere(o, isOneOf(by.managers)), o.Object, it.object.Object)
	for field, texts := range map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()} {
		for key := range texts {
			if strings.HasPrefix(key, by.prefix) {
				t.kept = append(t.kept, []fleet.Step{{Key: "metadata"}, {Key: field}, {Key: key}})
			}
		}
	}
	return t
}

// asHelmRelease reports whether Flux or Argo CD delivers an object of a Helm release from an
// export of the cluster. It then makes the item's object the one that the tool sends.
func (c *comparer) asHelmRelease(it *Item, o *unstructured.Unstructured) bool {
	release, known := it.release, c.recorded[it.ID]
	if it.parent != nil {
		release = it.parent.release
	}
	if release == nil || release.Delivery != fleet.ByHelm || known.UID == it.uid && !known.Kept {
		return false
	}
	return c.byFluxRelease(it, release, o) || c.byArgoChart(it, release, o)
}

// byFluxRelease is asHelmRelease for a HelmRelease of Flux. The object has the marks of Flux,
// and a CRD does not have those of the fleet.
func (c *comparer) byFluxRelease(it *Item, release *fleet.Release, o *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	if labels[helmPrefix+"name"] != export.HelmReleaseName(release) || labels[helmPrefix+"namespace"] != c.Bundle.Cluster.GitOps.Flux.Namespace {
		return false
	}
	it.takeover = it.deliveredBy(&tool{managers: []string{"helm-controller"}, prefix: helmPrefix, omitsEmpty: true}, o)
	sent := it.object.DeepCopy()
	own, annotations := maps.Clone(sent.GetLabels()), maps.Clone(sent.GetAnnotations()) // Helm has marked it
	own[helmPrefix+"name"], own[helmPrefix+"namespace"] = labels[helmPrefix+"name"], labels[helmPrefix+"namespace"]
	if o.GetAnnotations()[fleet.HelmKeep] == "keep" && (fleet.IsProtected(it.kind()) || fleet.KeepAnnotation(sent) != "") {
		annotations[fleet.HelmKeep] = "keep"
	}
	if it.parent == nil {
		withoutFleetMarks(own, annotations)
	}
	setMarks(sent, own, annotations)
	it.object = sent
	return true
}

// byArgoChart is asHelmRelease for an Application of Argo CD, which applies what the chart
// renders: without the marks of Helm and of the fleet. It compares the object as one that is
// not of a Helm release, since Argo CD does not send Helm's patches.
func (c *comparer) byArgoChart(it *Item, release *fleet.Release, o *unstructured.Unstructured) bool {
	settings := c.Bundle.Cluster.GitOps.ArgoCD
	app, isMarked := argoApplication(marksOf(o, isOwn))
	app = strings.TrimPrefix(app, "application ")
	isOurs := strings.TrimPrefix(app, settings.Namespace+"_") == export.ChartApplicationName(c.Bundle.Cluster, release)
	isCRD := it.parent == nil && !isMarked && settings.RepoURL != "" // Argo CD does not mark CRDs
	if !isOurs && !isCRD || !slices.Contains(otherManagers(o), argoManager) {
		return false
	}
	sent := it.object.DeepCopy()
	labels, annotations := sent.GetLabels(), sent.GetAnnotations()
	if it.parent == nil {
		withoutFleetMarks(labels, annotations)
	} else {
		delete(annotations, helmRelease)
		delete(annotations, helmNamespace)
		if it.managedBy == "" {
			delete(labels, managedByLabel)
		} else {
			labels[managedByLabel] = it.managedBy
		}
	}
	setMarks(sent, labels, annotations)
	it.object, it.release, it.parent = sent, release, nil
	it.takeover = it.deliveredBy(&tool{managers: []string{argoManager, argoReplacer}, prefix: argoPrefix}, o)
	return true
}

// withoutFleetMarks removes the labels and annotations of the fleet.
func withoutFleetMarks(labels, annotations map[string]string) {
	delete(labels, fleet.ReleaseLabel)
	delete(annotations, fleet.FleetAnnotation)
	delete(annotations, fleet.ClusterAnnotation)
}

// setMarks sets the labels and annotations of an object. A field without any does not exist.
func setMarks(o *unstructured.Unstructured, labels, annotations map[string]string) {
	if len(labels) == 0 {
		labels = nil
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
}

// emptyMaps returns the paths of maps in a set that the live object has, and the bundle's
// object does not. Flux adds empty maps to objects of known kinds, such as the strategy of
// a Deployment, and the API server sets defaults in them.
func emptyMaps(path []fleet.Step, set fieldSet, live, bundle any) [][]fleet.Step {
	if _, isMap := live.(map[string]any); set.isLeaf() {
		if !isMap || bundle != nil {
			return nil
		}
		return [][]fleet.Step{path}
	}
	var out [][]fleet.Step
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if step, ok := stepOf(key); ok {
			out = append(out, emptyMaps(append(slices.Clip(path), step), set[key], at(live, key), at(bundle, key))...)
		}
	}
	return out
}

// isBuiltIn reports whether an API group is one of Kubernetes' own.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// withEmptyValues returns the set with the fields of an object that are empty, in all maps
// of which the set has fields. Flux leaves out such fields, which the API server does not
// store.
func (s fieldSet) withEmptyValues(v any) fieldSet {
	if s == nil || s.isLeaf() {
		return s
	}
	out := maps.Clone(s)
	for key, in := range s {
		out[key] = in.withEmptyValues(at(v, key))
	}
	object, _ := v.(map[string]any)
	for k, field := range object {
		if _, ok := s["f:"+k]; !ok && isZero(field) {
			out["f:"+k] = fieldSet{}
		}
	}
	return out
}

// isZero reports whether a scalar is the zero value of its type.
func isZero(v any) bool {
	switch v.(type) {
	case map[string]any, []any, nil:
		return false
	}
	return reflect.ValueOf(v).IsZero()
}

// stepOf returns the step of a path that a key of a fieldSet is, if it leads to a field or
// to an element of a list with keys.
func stepOf(key string) (fleet.Step, bool) {
	if name, isField := strings.CutPrefix(key, "f:"); isField {
		return fleet.Step{Key: name}, true
	}
	keys, fields := keysOf(key), map[string]string{}
	for name, v := range keys {
		fields[name] = fmt.Sprint(v)
	}
	return fleet.Step{Fields: fields}, keys != nil
}
